# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a pass writes to Reservations and bindings, before and after it writes to nodes."""

from __future__ import annotations

from .._core.binding_status import binding_status
from .._core.errors import ConflictError
from .._core.reservation_objects import FINALIZER, Reservation, ReservedNode
from .._core.reservation_status import needs_write, reservation_status
from .._core.reservation_world import recorded_acceptance
from .reservation_state import PassState
from .reservation_writes import set_finalizer, write_binding_status, write_status


def record_before(state: PassState) -> dict[str, Reservation]:
    """Finalizers, what Pods have to tolerate, and acceptance: on record before the first node is taken.

    Returns:
        The Reservations as they are stored then.
    """
    current = {name: claim.reservation for name, claim in state.chosen.items()}
    for name, claim in state.chosen.items():
        if not claim.hold or claim.reservation.deleting:
            continue
        state.blocked.add(name)
        with state.attempt(f"Reservation {name}"):
            found = set_finalizer(state.client, current[name], present=True)
            if found is None:
                raise ConflictError(
                    "object-changed", f"Reservation {name} was deleted meanwhile", next_action="run again"
                )
            current[name] = found
            if claim.accepted and not recorded_acceptance(claim.reservation):
                before = claim.reservation.status.nodes
                status = reservation_status(claim, before, state.options.now)
                current[name] = write_status(state.client, found, status)
            state.blocked.discard(name)
    _write_bindings(state)
    return current


def _write_bindings(state: PassState) -> None:
    for binding in state.world.bindings:
        if state.options.only not in ("", binding.spec.reservation_name):
            continue
        status = binding_status(state.world, state.claims, binding, state.options.now)
        if status is not None:
            with state.attempt(f"ReservationBinding {binding.shown}"):
                write_binding_status(state.client, binding, status)


def record_after(state: PassState, current: dict[str, Reservation]) -> None:
    """Status of every Reservation, and the finalizer of those that have let go of everything."""
    for name, claim in state.chosen.items():
        nodes = (*state.nodes.get(name, ()), *_missing(state, name))
        with state.attempt(f"Reservation {name}"):
            if claim.reservation.deleting and not nodes and not _failed(state, name):
                _let_go(state, current[name])
                continue
            status = reservation_status(claim, nodes, state.options.now)
            stored = current[name].status
            if needs_write(stored, status):
                write_status(state.client, current[name], status)


def nodes_after(state: PassState, name: str) -> tuple[ReservedNode, ...]:
    """A Reservation's nodes as they are after the pass, missing ones among them, by name."""
    found = (*state.nodes.get(name, ()), *_missing(state, name))
    return tuple(sorted(found, key=lambda node: node.name))


def _missing(state: PassState, name: str) -> tuple[ReservedNode, ...]:
    return tuple(ReservedNode(name=node, phase="Missing") for node in sorted(state.chosen[name].missing))


def _failed(state: PassState, name: str) -> bool:
    """Whether something of a Reservation could not be written: its finalizer then stays."""
    nodes = {f"node {step.node.name}" for step in state.steps if step.title.reservation == name}
    return any(what in nodes for what, _ in state.failures)


def _let_go(state: PassState, reservation: Reservation) -> None:
    if FINALIZER in reservation.metadata.finalizers:
        set_finalizer(state.client, reservation, present=False)
        state.done.append(f"let go of Reservation {reservation.name}, which is deleted")
    state.gone.add(reservation.name)
