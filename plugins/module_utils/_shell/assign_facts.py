# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Gathers what an assignment's plan rests on."""

from __future__ import annotations

import time

from .._core.assign_plan import AssignFacts, Proposal, plan_assign
from .._core.healthy import SHARED_MODE
from .._core.hook_event import HookEvent
from .._core.modes import ACTIVE_LABEL
from .._core.names import normalise_ticket
from .._core.order import Order
from .._core.plan import Plan
from .._core.proof import Proof
from .._core.record import record_path
from .._core.record_change import pending_from_order
from .creation_gate import gate_of
from .entitlement import entitling
from .observation import Observation, observe
from .planned import Planned
from .preflight import preflight
from .progress import report
from .proof import Question, proved
from .review import read_proposal
from .run import Invocation
from .sources import Reach
from .survey import survey_of
from .ticket_record import record_of


def plan_assignment(invocation: Invocation, reach: Reach) -> Planned:
    """The plan of an assignment; waits for another ticket's transaction where lock_wait says so."""
    params = invocation.params
    deadline = time.monotonic() + params["lock_wait"]
    while True:
        planned = _planned(invocation, reach)
        proof = planned.proof
        held = planned.facts["lock_holder"] not in ("", planned.ticket)
        moving = proof is not None and (proof.only_converging or proof.worth_reading_again)
        if planned.plan.allowed or not (held and moving) or time.monotonic() >= deadline:
            return planned
        report(f"waiting for {planned.facts['lock_holder']} to end: {planned.msg}")
        time.sleep(min(params["health_interval"], max(0.1, deadline - time.monotonic())))


def _planned(invocation: Invocation, reach: Reach) -> Planned:
    ticket = normalise_ticket(invocation.params["ticket"])
    survey = survey_of(invocation.params)
    seen = observe(invocation, reach)
    order = seen.ledger.order(ticket, survey)
    record = record_of(seen, ticket)
    active = record is not None and record.state == "active"
    question = Question(
        order.spec.profile_id, "audit" if active else "assign", None if active else order, ticket
    )
    seen, proof = (seen, question.answer(seen)) if active else proved(invocation, reach, seen, question)
    facts = _facts(invocation, reach, seen, order, proof)
    plan = plan_assign(facts)
    return Planned(
        action="assign",
        ticket=ticket,
        seen=seen,
        plan=plan,
        proof=proof,
        headline=_headline(order),
        go_on=_go_on(invocation, plan),
        event=_event(order, _while_pending(ticket)),
        facts={
            "order": {**order.value()["spec"]},
            "smoke": {"namespace": facts.smoke_namespace, "resource": proof.resource},
            "lock_holder": facts.lock_holder,
            "let_go_failure_event": _event(order, _while_active(ticket)),
        },
    )


def _facts(
    invocation: Invocation, reach: Reach, seen: Observation, order: Order, proof: Proof
) -> AssignFacts:
    ticket, spec = order.ticket, order.spec
    record = record_of(seen, ticket)
    lock = seen.lock.pools.get(spec.profile_id)
    pending = record is not None and record.state == "pending"
    missing = entitling(record, seen, without=False, proof=proof).missing if pending and record else {}
    return AssignFacts(
        order=order,
        record=record,
        proof=proof,
        lock_holder=lock.ticket if lock else "",
        may_wait=invocation.params["lock_wait"] > 0,
        gate_closed=gate_of("vm", seen).closed,
        gate_closed_for_us=ticket in seen.lock.gate.vm.closed_for,
        entitled=tuple(missing.values()),
        cap_changes=False,
        smoke_namespace=_smoke_namespace(invocation, seen, order),
        smoke_left=_smoke_left(seen, ticket),
        proposal=_proposal(invocation, reach, seen, order),
        reopen=invocation.params["reopen"],
        shared_nodes=_shared_nodes(seen, proof),
        preflight=preflight(invocation, seen, caps=bool(spec.project)),
    )


def _shared_nodes(seen: Observation, proof: Proof) -> tuple[tuple[str, str], ...]:
    shared = {count.node for count in proof.nodes if count.reason == SHARED_MODE}
    return tuple(
        (node.metadata.name, node.metadata.labels.get(ACTIVE_LABEL, ""))
        for node in seen.snapshot.observed.nodes
        if node.metadata.name in shared
    )


def _smoke_namespace(invocation: Invocation, seen: Observation, order: Order) -> str:
    """The project of the order, the one that was named, or the organization's only one."""
    name = order.spec.project or invocation.params["smoke_project"] or ""
    observed = seen.snapshot.observed
    own = [
        project
        for project in observed.projects
        if project.metadata.namespace == order.spec.organization and project.status.ready
    ]
    fitting = [project for project in own if project.metadata.name == name] if name else own
    return fitting[0].status.namespace if len(fitting) == 1 else ""


def _smoke_left(seen: Observation, ticket: str) -> bool:
    name = f"gpu-smoke-{ticket}"
    observed = seen.snapshot.observed
    machines = {machine.metadata.name for machine in observed.vms}
    return name in machines | {instance.metadata.name for instance in observed.vmis}


def _proposal(invocation: Invocation, reach: Reach, seen: Observation, order: Order) -> Proposal:
    if seen.ledger.policy.spec.review_mode != "branch":
        return ""
    if invocation.params["snapshot"]:
        return "none"
    tree = read_proposal(reach, order.ticket)
    record = pending_from_order(order)
    file = tree.file(record_path(seen.ledger.cluster, record.id))
    if file is None:
        return "none"
    return "same" if file.content == record.to_yaml().encode() else "different"


def _headline(order: Order) -> str:
    spec = order.spec
    where = f"{spec.organization}, project {spec.project}" if spec.project else spec.organization
    return f"assign {order.ticket}: {spec.devices} devices of {spec.profile_id} for {where}"


def _go_on(invocation: Invocation, plan: Plan) -> str:
    if plan.steps["await_review"]:
        return "awaiting review: merge the proposal, then run again"
    if not plan.to_do:
        return "nothing to do"
    return "run without check mode" if invocation.check_mode else "the phases that are not done follow"


def _event(order: Order, next_action: str) -> dict[str, object]:
    spec = order.spec
    event = HookEvent(
        kind="assign-failed",
        severity="error",
        ticket=order.ticket,
        organization=spec.organization,
        profile=spec.profile_id,
        message="",
        owners=(spec.support_owner,),
        next_action=next_action,
    )
    return event.result()


def _while_pending(ticket: str) -> str:
    return (
        "The record stays pending, entitlement stays in place, the gate stays closed and the lock held. "
        f"Go on with playbooks/assign.yml -e ticket={ticket}, or take it back with "
        f"playbooks/cancel.yml -e ticket={ticket}."
    )


def _while_active(ticket: str) -> str:
    return (
        f"The record gpu-res-{ticket} is active and stays so, and is billed. Gate and lock stay as they are "
        "(playbooks/lock.yml shows them): put right what is named, then let go of them with "
        f"playbooks/assign.yml -e ticket={ticket}."
    )
