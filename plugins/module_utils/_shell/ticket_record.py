# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What every writing step of a ticket asks first: its record, its lock, and the closed gate."""

from __future__ import annotations

from .._core.errors import PolicyBlocked
from .._core.lock import require_run
from .._core.names import normalise_ticket, record_id
from .._core.record import Record
from .creation_gate import gate_of
from .fences import require_fenced
from .observation import Observation
from .run import Invocation


def record_of(seen: Observation, ticket: str) -> Record | None:
    """The ticket's record, in any state."""
    return seen.ledger.records.get(record_id(ticket))


def require_record(seen: Observation, ticket: str, states: tuple[str, ...]) -> Record:
    """The ticket's record, in one of these states.

    Raises:
        PolicyBlocked: ``record-missing``, or ``record-state``: it is in another one.
    """
    record = record_of(seen, ticket)
    if record is None:
        raise PolicyBlocked(
            "record-missing",
            f"the ledger has no record {record_id(ticket)}",
            next_action=f"run playbooks/assign.yml -e ticket={ticket}, which records the hold first",
        )
    if record.state not in states:
        raise PolicyBlocked(
            "record-state",
            f"{record.id} is {record.state}, and this step needs it {' or '.join(states)}",
            next_action="show the record with gpu_ledger_info, and run the playbook that fits its state",
            details={"state": record.state},
        )
    return record


def require_lock(invocation: Invocation, seen: Observation, profile_id: str) -> str:
    """The ticket, whose run has to hold the pool's lock.

    Raises:
        ConflictError: ``lock-lost``.
    """
    ticket = normalise_ticket(invocation.params["ticket"])
    require_run(seen.lock, (profile_id,), ticket, invocation.params["run_id"])
    return ticket


def require_closed_creation(seen: Observation, ticket: str, profile_id: str) -> None:
    """Creation has to be closed for the ticket, in every way that the policy's creationControl names.

    Raises:
        PolicyBlocked: ``creation-open``, naming each copy of the gate that is not closed; ``fence-down``.
    """
    control = seen.ledger.policy.spec.creation_control
    if control in ("fence", "both"):
        require_fenced(seen, profile_id)
    if control == "fence":
        return
    check = gate_of("vm", seen).check()
    for_us = ticket in seen.lock.gate.vm.closed_for
    if check.status == "pass" and for_us:
        return
    why = check.message if check.status != "pass" else f"gate vm is not closed for {ticket}"
    raise PolicyBlocked(
        "creation-open",
        f"VM creation is not closed for {ticket}: {why}",
        next_action="run the playbook from its beginning, which closes it in the ticket's name",
    )
