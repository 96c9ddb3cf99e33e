# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Creates, changes and deletes one Reservation from a module's options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .._adapters.api_resource import RESERVATIONS
from .._adapters.kube import KubeClient
from .._core.errors import InputError
from .._core.reservation_objects import Reservation
from .._core.reservation_spec import new_reservation, spec_changes, wanted_spec
from .._core.strict_model import ObservedModel


class _Stored(ObservedModel):
    spec: dict[str, Any]


@dataclass(frozen=True)
class Edit:
    """What was, or in check mode would be, changed of the object itself.

    Attributes:
        text: one sentence; empty where nothing changes.
        projected: check mode: the object as the server's dry run gives it; None where nothing changes.
        deleted: check mode: the name of what would be deleted.
    """

    text: str = ""
    projected: Reservation | None = None
    deleted: str = ""


def edit_reservation(client: KubeClient, params: Mapping[str, Any], *, check_mode: bool) -> Edit:
    """Make the object as the options want it; the server's dry run in check mode.

    Raises:
        InputError: an option is missing or cannot be changed; ``reservation-not-found``.
    """
    name, state = params["name"], params["state"]
    if not name:
        return Edit()
    path = RESERVATIONS.path(name=name)
    there = client.get(path, Reservation)
    if state == "present":
        return _present(client, params, there, check_mode=check_mode)
    if state == "absent":
        if there is None or there.deleting:
            return Edit()
        client.delete(path, uid=there.metadata.uid, dry_run=check_mode)
        return Edit(f"delete Reservation {name}", deleted=name if check_mode else "")
    if there is None:
        raise InputError(
            "reservation-not-found",
            f"there is no Reservation {name}",
            next_action="correct name, or leave it out to reconcile every Reservation",
        )
    return Edit()


def _present(
    client: KubeClient, params: Mapping[str, Any], there: Reservation | None, *, check_mode: bool
) -> Edit:
    name, spec = params["name"], wanted_spec(params)
    if there is None:
        document = new_reservation(name, spec)
        body = client.create(RESERVATIONS.path(), document, dry_run=check_mode)
        return Edit(f"create Reservation {name}", Reservation.model_validate(body) if check_mode else None)
    path = RESERVATIONS.path(name=name)
    stored = client.get(path, _Stored)
    changes = spec_changes(name, stored.spec if stored else {}, spec)
    if not changes:
        return Edit()
    body = client.patch(
        path, {"spec": changes}, resource_version=there.metadata.resource_version, dry_run=check_mode
    )
    text = f"change {', '.join(sorted(changes))} of Reservation {name}"
    return Edit(text, Reservation.model_validate(body) if check_mode else None)
