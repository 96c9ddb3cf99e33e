# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The smallest ways to make a failing equation hold ("3. Prove the invariant before mutation")."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from .claims import OrganizationTerms
from .equation import Equation

ADD_DEVICES: Final = "add-devices"
REDUCE_ENTITLEMENT: Final = "reduce-entitlement"
LIMIT_ENTITLEMENT: Final = "limit-entitlement"
_MOST_ALTERNATIVES: Final = 3
_MOST_NAMES: Final = 5


@dataclass(frozen=True)
class Reduction:
    """What one organization would give back; counts in devices.

    Attributes:
        organization: whose non-reserved entitlement.
        devices: how many of it.
        of: how many it has.
        unused: of those to give back, how many nobody uses now.
    """

    organization: str
    devices: int
    of: int
    unused: int

    def result(self) -> dict[str, Any]:
        """The reduction as a module returns it."""
        return {"organization": self.organization, "devices": self.devices, "unused": self.unused}


@dataclass(frozen=True)
class Remedy:
    """One way that suffices by itself; counts in devices.

    Attributes:
        kind: add-devices, reduce-entitlement or limit-entitlement.
        devices: how many it wins in all; 0 where a limit has to be set first.
        message: the same in words.
        reductions: what each organization gives back, or gets a limit for; all of them together.
        add_devices: how many have to be added beside that.
    """

    kind: str
    devices: int
    message: str
    reductions: tuple[Reduction, ...] = ()
    add_devices: int = 0

    def result(self) -> dict[str, Any]:
        """The remedy as a module returns it."""
        return {
            "kind": self.kind,
            "devices": self.devices,
            "add_devices": self.add_devices,
            "reductions": [reduction.result() for reduction in self.reductions],
            "message": self.message,
        }


def remedies_of(
    equation: Equation, organizations: Iterable[OrganizationTerms], profile_id: str
) -> tuple[Remedy, ...]:
    """What would make the equation hold; empty where it holds or where terms are unknown.

    Each remedy suffices by itself. Devices to add come first. Then organizations of which each could give
    all of it back: the three that use least of it, with the number of the others; where none could alone,
    as few as can together, with devices to add for what they lack.

    Args:
        equation: with the order, where there is one.
        organizations: everybody's terms.
        profile_id: the pool's profile.
    """
    everybody = tuple(organizations)
    unlimited = [terms for terms in everybody if terms.quota.unlimited_because]
    if unlimited:
        return (_limit(unlimited, profile_id),)
    headroom = equation.headroom
    if headroom is None or headroom >= 0:
        return ()
    missing = -headroom
    add = Remedy(ADD_DEVICES, missing, _adding(missing, profile_id), add_devices=missing)
    parts = [part for part in (_reduction(terms, missing) for terms in everybody) if part is not None]
    parts.sort(key=lambda part: (-part.unused, -part.devices, part.organization))
    alone = [part for part in parts if part.devices == missing]
    if alone:
        return (add, *_alternatives(alone))
    return (add, _together(parts, missing, profile_id)) if parts else (add,)


def _limit(unlimited: Sequence[OrganizationTerms], profile_id: str) -> Remedy:
    """Every one of them needs a limit before there is a headroom to tell."""
    told = [
        f"{terms.organization} a hard quota of {profile_id}: {terms.quota.unlimited_because}"
        for terms in unlimited
    ]
    wanted = tuple(Reduction(terms.organization, 0, 0, 0) for terms in unlimited)
    return Remedy(LIMIT_ENTITLEMENT, 0, f"give {_named(told)}", wanted)


def _reduction(terms: OrganizationTerms, missing: int) -> Reduction | None:
    """What an organization's non-reserved entitlement could contribute."""
    rest = terms.non_reserved
    if not isinstance(rest, int) or rest == 0:
        return None
    # What is in use and not covered by a record is in use of the rest; unknown use leaves nothing unused.
    used = rest if terms.recounted is None else max(terms.recounted - (terms.covered or 0), 0)
    part = min(rest, missing)
    return Reduction(terms.organization, part, rest, min(max(rest - used, 0), part))


def _alternatives(alone: Sequence[Reduction]) -> tuple[Remedy, ...]:
    """The first few of those that suffice alone; the last says how many more there are."""
    more = len(alone) - _MOST_ALTERNATIVES
    shown = alone[:_MOST_ALTERNATIVES]
    found = []
    for part in shown:
        others = f" ({more} more organizations could)" if more > 0 and part is shown[-1] else ""
        message = f"reduce non-reserved entitlement {_giving(part)}, holder-safely{others}"
        found.append(Remedy(REDUCE_ENTITLEMENT, part.devices, message, (part,)))
    return tuple(found)


def _together(parts: Sequence[Reduction], missing: int, profile_id: str) -> Remedy:
    """The least number of organizations that suffice together; the last gives only what still lacks."""
    chosen: list[Reduction] = []
    lacking = missing
    for part in sorted(parts, key=lambda item: (-item.devices, -item.unused, item.organization)):
        if lacking == 0:
            break
        devices = min(part.devices, lacking)
        chosen.append(Reduction(part.organization, devices, part.of, min(part.unused, devices)))
        lacking -= devices
    words = f"reduce non-reserved entitlement {_named([_giving(part) for part in chosen])}, holder-safely"
    if lacking:
        words += f", and {_adding(lacking, profile_id)}"
    return Remedy(REDUCE_ENTITLEMENT, missing, words, tuple(chosen), lacking)


def _giving(part: Reduction) -> str:
    return f"of {part.organization} by {part.devices} of {part.of} ({part.unused} unused)"


def _adding(devices: int, profile_id: str) -> str:
    return f"add {devices} healthy schedulable devices of {profile_id}"


def _named(items: Sequence[str]) -> str:
    """A list in words, which a screen holds."""
    more = len(items) - _MOST_NAMES
    if more > 0:
        return f"{', '.join(items[:_MOST_NAMES])} and {more} more organizations"
    return " and ".join(filter(None, (", ".join(items[:-1]), items[-1])))
