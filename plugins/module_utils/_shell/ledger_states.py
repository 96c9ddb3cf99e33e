# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The gate of each state of a record: what has to be true before it is written."""

from __future__ import annotations

from .._core.checks import Check
from .._core.errors import PolicyBlocked
from .._core.names import normalise_ticket
from .._core.record import Record
from .._core.record_change import advance, pending_from_order
from .entitlement import require_entitled
from .evidence import require_release_evidence, require_smoke_evidence, require_verified
from .given_back import require_given_back, require_untouched
from .observation import Observation
from .proof import Question, proved, require_proof
from .review import require_reviewed
from .run import Invocation
from .sources import Reach
from .survey import survey_of
from .ticket_record import record_of, require_closed_creation, require_lock, require_record

Decision = tuple[Observation, Record, tuple[Check, ...]]


def may_be_pending(invocation: Invocation, reach: Reach, seen: Observation) -> Decision:
    """The pool is locked for this run, creation is closed, and the equation holds with the order."""
    ticket = normalise_ticket(invocation.params["ticket"])
    order = seen.ledger.order(ticket, survey_of(invocation.params))
    pool = order.spec.profile_id
    require_lock(invocation, seen, pool)
    wanted = pending_from_order(order)
    existing = record_of(seen, ticket)
    if existing is not None:
        return seen, require_same(existing, wanted), ()
    require_reviewed(seen)
    require_closed_creation(seen, ticket, pool)
    seen, proof = proved(invocation, reach, seen, Question(pool, "assign", order, ticket))
    require_proof(proof)
    require_lock(invocation, seen, pool)
    return seen, wanted, proof.checks


def require_same(existing: Record, wanted: Record) -> Record:
    """The record that is there, when it is what the order asks for and still pending.

    Raises:
        PolicyBlocked: ``record-state``, or ``record-differs``.
    """
    if existing.state != "pending":
        raise PolicyBlocked(
            "record-state",
            f"{existing.id} is {existing.state}; it does not go back to pending",
            next_action="run playbooks/assign.yml, which goes on from there; a new order needs a new ticket",
        )
    if existing.value()["spec"] != wanted.value()["spec"]:
        raise PolicyBlocked(
            "record-differs",
            f"{existing.id} in the ledger is not what the order asks for",
            next_action="compare both; cancel the record, or correct the order by a reviewed change",
        )
    return existing


def may_be_active(invocation: Invocation, reach: Reach, seen: Observation) -> Decision:
    """Entitlement has converged, the equation holds with live quota, and smoke evidence is sealed."""
    ticket = normalise_ticket(invocation.params["ticket"])
    record = require_record(seen, ticket, ("pending", "active"))
    pool = record.spec.profile_id
    require_lock(invocation, seen, pool)
    if record.state == "active":
        return seen, record, ()
    require_closed_creation(seen, ticket, pool)
    seen, proof = proved(invocation, reach, seen, Question(pool, "entitled", None, ticket))
    require_proof(proof)
    require_entitled(record, seen, proof)
    sealed = require_smoke_evidence(invocation, record)
    require_lock(invocation, seen, pool)
    active = advance(record, "active", at=seen.now, evidence=sealed)
    return seen, active, proof.checks


def may_be_releasing(invocation: Invocation, _reach: Reach, seen: Observation) -> Decision:
    """The pool is locked for this run and creation is closed; health never holds a release up."""
    ticket = normalise_ticket(invocation.params["ticket"])
    record = require_record(seen, ticket, ("active", "releasing"))
    require_lock(invocation, seen, record.spec.profile_id)
    require_closed_creation(seen, ticket, record.spec.profile_id)
    return seen, advance(record, "releasing", reason=invocation.params["reason"]), ()


def may_be_released(invocation: Invocation, _reach: Reach, seen: Observation) -> Decision:
    """Nothing is used or entitled beyond what stays, the cap is put back, and the equation is in evidence."""
    ticket = normalise_ticket(invocation.params["ticket"])
    record = require_record(seen, ticket, ("releasing", "released"))
    require_lock(invocation, seen, record.spec.profile_id)
    if record.state == "released":
        return seen, record, ()
    require_closed_creation(seen, ticket, record.spec.profile_id)
    checks = require_given_back(record, seen)
    sealed = require_release_evidence(invocation, record)
    return seen, advance(record, "released", at=seen.now, evidence=sealed), checks


def may_be_canceled(invocation: Invocation, _reach: Reach, seen: Observation) -> Decision:
    """The record is pending, and nothing of it is entitled or used (any more)."""
    ticket = normalise_ticket(invocation.params["ticket"])
    record = require_record(seen, ticket, ("pending", "canceled"))
    require_lock(invocation, seen, record.spec.profile_id)
    if record.state == "canceled":
        return seen, record, ()
    checks = require_untouched(record, seen)
    sealed = require_verified(invocation, record) if invocation.params["evidence_revision"] else ""
    return seen, advance(record, "canceled", evidence=sealed), checks


GATES = {
    "pending": may_be_pending,
    "active": may_be_active,
    "releasing": may_be_releasing,
    "released": may_be_released,
    "canceled": may_be_canceled,
}
