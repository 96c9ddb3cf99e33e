# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Gathers what a cancellation's plan rests on."""

from __future__ import annotations

from .._core.cancel_plan import CancelFacts, plan_cancel
from .._core.hook_event import HookEvent
from .._core.names import normalise_ticket
from .._core.record import Record
from .giving_back import GivingBack, as_holder, giving_back
from .observation import Observation, observe
from .planned import Planned
from .preflight import preflight
from .release_facts import capacity_lines, given_back_proof, go_on, headline, owners_of
from .run import Invocation
from .sources import Reach
from .taking_back import cap_step, operator_steps, reduction_of
from .ticket_record import record_of

SMOKE_LABEL = "gpuops.reservations/smoke"


def plan_a_cancellation(invocation: Invocation, reach: Reach) -> Planned:
    """The plan of a cancellation."""
    ticket = normalise_ticket(invocation.params["ticket"])
    seen = observe(invocation, reach)
    record = record_of(seen, ticket)
    pending = record is not None and record.state == "pending"
    state = None
    if record is not None and pending:
        state = giving_back(as_holder(seen, record.spec.profile_id, ticket), record)
    facts = _facts(invocation, seen, ticket, record, state)
    plan = plan_cancel(facts)
    proof = given_back_proof(seen, record) if record is not None and pending else None
    return Planned(
        action="cancel",
        ticket=ticket,
        seen=seen,
        plan=plan,
        proof=proof,
        headline=headline("cancel", ticket, record),
        go_on=go_on(invocation, run=plan.steps.get("run", False)),
        event=_event(facts, owners_of(seen, ticket, state)).result(),
        facts={
            "record": record.value() if record else {},
            "profile_id": facts.profile_id,
            "lock_holder": facts.lock_holder,
            "operator_steps": operator_steps(state, facts.reduction) if state else [],
            "smoke": {"namespace": smoke_namespace(seen, ticket)},
        },
        report_lines=capacity_lines(proof),
    )


def _facts(
    invocation: Invocation, seen: Observation, ticket: str, record: Record | None, state: GivingBack | None
) -> CancelFacts:
    pool = record.spec.profile_id if record else next(iter(seen.lock.held_by(ticket)), "")
    lock = seen.lock.pools.get(pool)
    cap = cap_step(state.cap, state.record) if state else ""
    reduction = reduction_of(state.record, state.seen) if state else ()
    return CancelFacts(
        ticket=ticket,
        profile_id=pool,
        record=record,
        asking=state.asking if state and (reduction or cap) else None,
        lock_holder=lock.ticket if lock else "",
        may_wait=invocation.params["lock_wait"] > 0,
        gate_closed_for_us=ticket in seen.lock.gate.vm.closed_for,
        reduction=reduction,
        cap=cap,
        smoke_left=bool(smoke_namespace(seen, ticket)),
        reopen=invocation.params["reopen"],
        preflight=preflight(invocation, seen, caps=bool(cap)) if state else (),
    )


def smoke_namespace(seen: Observation, ticket: str) -> str:
    """Where a smoke VM that carries the ticket's own label was left; empty where none was."""
    for machine in seen.snapshot.observed.vms:
        meta = machine.metadata
        if meta.name == f"gpu-smoke-{ticket}" and meta.labels.get(SMOKE_LABEL) == ticket:
            return meta.namespace
    return ""


def _event(facts: CancelFacts, owners: tuple[str, ...]) -> HookEvent:
    ticket = facts.ticket
    return HookEvent(
        kind="cancel-failed",
        severity="error",
        ticket=ticket,
        organization=facts.record.spec.organization if facts.record else "",
        profile=facts.profile_id,
        message="",
        owners=owners,
        next_action="The record stays pending, entitlement stays at or above use, and the lock is held. "
        f"Go on with playbooks/cancel.yml -e ticket={ticket} when what is named is settled.",
    )
