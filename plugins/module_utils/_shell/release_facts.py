# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Gathers what a release's plan rests on."""

from __future__ import annotations

from dataclasses import replace

from .._core.equation import Equation
from .._core.hook_event import HookEvent
from .._core.names import normalise_ticket
from .._core.proof import Proof
from .._core.record import Record
from .._core.release_plan import ReleaseFacts, plan_release
from .._core.report import equation_lines, organization_lines
from .creation_gate import gate_of
from .giving_back import GivingBack, as_holder, giving_back
from .observation import Observation, observe
from .planned import Planned
from .preflight import preflight
from .proof import Question
from .release_wait import support_owner
from .run import Invocation
from .sources import Reach
from .taking_back import cap_step, operator_steps, reduction_of
from .ticket_record import record_of

_OPEN = ("active", "releasing")


def plan_a_release(invocation: Invocation, reach: Reach) -> Planned:
    """The plan of a release."""
    ticket = normalise_ticket(invocation.params["ticket"])
    seen = observe(invocation, reach)
    record = record_of(seen, ticket)
    state = _state(seen, record)
    facts = _facts(invocation, seen, ticket, record, state)
    plan = plan_release(facts)
    proof = given_back_proof(seen, record) if record is not None and state is not None else None
    return Planned(
        action="release",
        ticket=ticket,
        seen=seen,
        plan=plan,
        proof=proof,
        headline=headline("release", ticket, record),
        go_on=go_on(invocation, run=plan.steps["run"]),
        event=_event(seen, ticket, record, state).result(),
        facts={
            "record": record.value() if record else {},
            "profile_id": record.spec.profile_id if record else "",
            "lock_holder": facts.lock_holder,
            "operator_steps": operator_steps(state, facts.reduction) if state else [],
        },
        report_lines=capacity_lines(proof),
    )


def _state(seen: Observation, record: Record | None) -> GivingBack | None:
    if record is None or record.state not in _OPEN:
        return None
    return giving_back(as_holder(seen, record.spec.profile_id, record.ticket), record)


def _facts(
    invocation: Invocation, seen: Observation, ticket: str, record: Record | None, state: GivingBack | None
) -> ReleaseFacts:
    lock = seen.lock.pools.get(record.spec.profile_id) if record else None
    return ReleaseFacts(
        ticket=ticket,
        record=record,
        asking=state.asking if state else None,
        lock_holder=lock.ticket if lock else "",
        may_wait=invocation.params["lock_wait"] > 0,
        gate_closed=gate_of("vm", seen).closed,
        gate_closed_for_us=ticket in seen.lock.gate.vm.closed_for,
        reduction=reduction_of(state.record, state.seen) if state else (),
        cap=cap_step(state.cap, state.record) if state else "",
        reopen=invocation.params["reopen"],
        preflight=preflight(invocation, seen, caps=bool(state and state.cap and state.cap.changed)),
    )


def given_back_proof(seen: Observation, record: Record) -> Proof:
    """The pool's proof with the equation as it will be without the record's devices."""
    proof = Question(record.spec.profile_id, "show").answer(seen)
    if not record.holds:
        return proof
    return replace(proof, projected=_without(proof.equation, record))


def _without(equation: Equation, record: Record) -> Equation:
    held = getattr(equation, record.state)
    return replace(equation, **{record.state: None if held is None else held - record.spec.devices})


def capacity_lines(proof: Proof | None) -> tuple[str, ...]:
    """The equation before and after; a verdict of the pool would say nothing of what is given back."""
    return (*equation_lines(proof), *organization_lines(proof)) if proof else ()


def headline(action: str, ticket: str, record: Record | None) -> str:
    """One line that says what the plan is about."""
    if record is None:
        return f"{action} {ticket}"
    spec = record.spec
    where = f"{spec.organization}, project {spec.project}" if spec.project else spec.organization
    return f"{action} {ticket}: {spec.devices} devices of {spec.profile_id} of {where} ({record.state})"


def go_on(invocation: Invocation, *, run: bool) -> str:
    """What follows where nothing refuses the plan."""
    if not run:
        return "nothing to do"
    return "run without check mode" if invocation.check_mode else "the phases that are not done follow"


def owners_of(seen: Observation, ticket: str, state: GivingBack | None) -> tuple[str, ...]:
    """Who is told: holders that have to be asked, then the order's support owner."""
    owner = support_owner(seen, ticket)
    if state is None:
        return (owner,) if owner else ()
    return state.asking.event(owner).owners


def _event(seen: Observation, ticket: str, record: Record | None, state: GivingBack | None) -> HookEvent:
    return HookEvent(
        kind="release-failed",
        severity="error",
        ticket=ticket,
        organization=record.spec.organization if record else "",
        profile=record.spec.profile_id if record else "",
        message="",
        owners=owners_of(seen, ticket, state),
        next_action="The record stays releasing, entitlement stays at or above use, the gate stays closed "
        "and the lock held. When what is named is settled, go on with "
        f"playbooks/release.yml -e ticket={ticket}.",
    )
