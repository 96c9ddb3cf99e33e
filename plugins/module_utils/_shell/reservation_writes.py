# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Writes to Reservations and bindings: status, finalizer; read again after a conflict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._adapters.api_resource import RESERVATION_BINDINGS, RESERVATIONS
from .._adapters.kube import KubeClient
from .._core.errors import ConflictError
from .._core.reservation_objects import FINALIZER, Reservation, ReservationBinding

ATTEMPTS = 8


def write_status(client: KubeClient, reservation: Reservation, status: Mapping[str, Any]) -> Reservation:
    """Store a status; an object that is gone, or a status of a later generation, is left.

    Raises:
        ConflictError: ``object-changed`` after bounded tries.
    """
    path = RESERVATIONS.path(name=reservation.name)
    for attempt in range(ATTEMPTS):
        try:
            body = client.update_status(path, status, resource_version=reservation.metadata.resource_version)
            return Reservation.model_validate(body)
        except ConflictError:
            if attempt == ATTEMPTS - 1:
                raise
        again = client.get(path, Reservation)
        if again is None or again.metadata.uid != reservation.metadata.uid:
            return reservation
        if again.status.observed_generation > int(status["observedGeneration"]):
            return again
        reservation = again
    return reservation


def write_binding_status(client: KubeClient, binding: ReservationBinding, status: Mapping[str, Any]) -> bool:
    """Store a binding's status; False where the binding changed meanwhile, which the next pass sees."""
    path = RESERVATION_BINDINGS.path(binding.metadata.namespace, binding.metadata.name)
    try:
        client.update_status(path, status, resource_version=binding.metadata.resource_version)
    except ConflictError:
        return False
    return True


def set_finalizer(client: KubeClient, reservation: Reservation, *, present: bool) -> Reservation | None:
    """Put our finalizer on, or take it off; None where the Reservation is gone then.

    Raises:
        ConflictError: ``object-changed`` after bounded tries.
    """
    path = RESERVATIONS.path(name=reservation.name)
    current: Reservation | None = reservation
    for _ in range(ATTEMPTS):
        if current is None or current.metadata.uid != reservation.metadata.uid:
            return None
        held = current.metadata.finalizers
        if (FINALIZER in held) == present:
            return current
        wanted = [*held, FINALIZER] if present else [one for one in held if one != FINALIZER]
        try:
            body = client.patch(
                path,
                {"metadata": {"finalizers": wanted}},
                resource_version=current.metadata.resource_version,
            )
            return Reservation.model_validate(body)
        except ConflictError:
            current = client.get(path, Reservation)
    raise ConflictError(
        "object-changed",
        f"Reservation {reservation.name} was changed by somebody else {ATTEMPTS} times",
        next_action="run again",
    )
