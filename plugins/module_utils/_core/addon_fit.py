# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether an add-on may carry a reservation ("1. Qualify the order", last paragraph)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from . import finding_ids
from .catalogue import PLANS_OBJECT, AddOn, Catalogue

SELF_SERVICE: Final = "add-on-self-service"
GRANTS_OTHER: Final = "add-on-grants-cpu-memory-storage"
SHARED_GRANT: Final = "add-on-grants-shares"
SEVERAL_PROFILES: Final = "add-on-several-profiles"
OTHER_PROFILE: Final = "add-on-other-profile"
NO_DEVICES: Final = "add-on-no-devices"
DISABLED: Final = "add-on-disabled"
INDIVISIBLE: Final = "add-on-indivisible"
UNREADABLE: Final = "add-on-unreadable"


@dataclass(frozen=True)
class AddOnProblem:
    """One reason why an add-on does not qualify.

    Attributes:
        code: stable identifier.
        message: the fact, naming add-on and field.
        next_action: what to do.
    """

    code: str
    message: str
    next_action: str


def _shape(add_on: AddOn, profile_id: str) -> list[AddOnProblem]:
    """What is wrong with what it grants."""
    problems = []
    name = f"add-on {add_on.id}"
    correct = f"correct addons.{add_on.id} in {PLANS_OBJECT}, or order another add-on"
    profiles = sorted(add_on.grant.profiles)
    if add_on.other:
        problems.append(
            AddOnProblem(
                GRANTS_OTHER, f"{name} also grants {', '.join(add_on.other)}; only devices may be", correct
            )
        )
    if add_on.grant.shared:
        problems.append(
            AddOnProblem(
                SHARED_GRANT,
                f"{name} grants shares, memory or compute of {', '.join(sorted(add_on.grant.shared))}; "
                "a Shared add-on cannot be turned into a reservation",
                correct,
            )
        )
    if len(profiles) > 1:
        problems.append(
            AddOnProblem(SEVERAL_PROFILES, f"{name} grants several profiles: {', '.join(profiles)}", correct)
        )
    if not profiles:
        problems.append(AddOnProblem(NO_DEVICES, f"{name} grants no devices", correct))
    elif profile_id not in profiles:
        problems.append(
            AddOnProblem(OTHER_PROFILE, f"{name} grants {', '.join(profiles)}, not {profile_id}", correct)
        )
    return problems


def add_on_problems(
    add_on_id: str, profile_id: str, catalogue: Catalogue, devices: int | None = None
) -> tuple[AddOnProblem, ...]:
    """Everything that keeps an add-on from carrying a reservation of a profile; empty when it qualifies.

    Args:
        add_on_id: the add-on.
        profile_id: the pool's profile.
        catalogue: the platform's documents, billing plans readable.
        devices: the order's devices; None where only the add-on itself is in question.
    """
    add_on = catalogue.add_ons.get(add_on_id)
    if add_on is None:
        message = f"add-on {add_on_id} is not in {PLANS_OBJECT}"
        return (AddOnProblem(finding_ids.UNKNOWN_ADD_ON, message, "order an add-on of the catalogue"),)
    if add_on.grant.problem:
        message = f"add-on {add_on_id} cannot be read: {add_on.grant.problem}"
        return (AddOnProblem(UNREADABLE, message, f"correct addons.{add_on_id} in {PLANS_OBJECT}"),)
    problems = _shape(add_on, profile_id)
    if add_on.disabled:
        problems.append(
            AddOnProblem(
                DISABLED,
                f"add-on {add_on_id} is disabled, so that it grants nothing",
                f"enable addons.{add_on_id} in {PLANS_OBJECT}; never disable one that is in use",
            )
        )
    if add_on.self_service is not False:
        problems.append(
            AddOnProblem(
                SELF_SERVICE,
                f"add-on {add_on_id} is not operator-only: selfService is "
                f"{'absent' if add_on.self_service is None else 'true'}, not false",
                f"set selfService: false on addons.{add_on_id} in {PLANS_OBJECT}",
            )
        )
    unit = add_on.grant.devices.get(profile_id, 0)
    if devices is not None and unit and devices % unit:
        problems.append(
            AddOnProblem(
                INDIVISIBLE,
                f"{devices} devices cannot be granted by add-on {add_on_id}, which grants {unit} at a time",
                f"order a multiple of {unit} devices, or another add-on",
            )
        )
    return tuple(problems)
