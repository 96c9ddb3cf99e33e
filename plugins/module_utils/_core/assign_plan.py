# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan of an assignment (runbook: Assignment procedure), from what the world shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .checks import Check
from .lock_check import lock_check
from .order import Order
from .plan import Phase, Plan, in_order
from .proof import Proof
from .record import Record

Proposal = Literal["", "none", "same", "different"]


@dataclass(frozen=True)
class AssignFacts:
    """What an observation shows of a ticket.

    Attributes:
        order: the qualified order.
        record: its record, None where there is none yet.
        proof: of the pool, with the order; where the record is active, of the pool as it is.
        lock_holder: who holds the pool's lock; empty for nobody.
        may_wait: whether the run would wait for a lock that another holds.
        gate_closed: whether every copy of gate vm says false.
        gate_closed_for_us: whether the lock document says so of this ticket.
        entitled: what is missing until quota and status show the entitlement; empty where it shows.
        cap_changes: whether the project's cap has to be changed; False without a project.
        smoke_namespace: where the smoke VM is to run; empty where no project was named.
        smoke_left: whether a smoke VM of this ticket is there.
        proposal: with reviewMode branch, how the proposal compares with the order; empty with direct.
        reopen: whether the gate is to be opened at the end.
        shared_nodes: nodes of the pool in a Shared mode, each with its mode: a sequential pool before its
            transition.
        preflight: checks of what the run needs on this machine.
    """

    order: Order
    record: Record | None
    proof: Proof
    lock_holder: str
    may_wait: bool
    gate_closed: bool
    gate_closed_for_us: bool
    entitled: tuple[str, ...]
    cap_changes: bool
    smoke_namespace: str
    smoke_left: bool
    proposal: Proposal
    reopen: bool
    shared_nodes: tuple[tuple[str, str], ...] = ()
    preflight: tuple[Check, ...] = ()

    @property
    def ticket(self) -> str:
        """The ticket."""
        return self.order.ticket

    @property
    def state(self) -> str:
        """The record's state; empty where there is none."""
        return self.record.state if self.record else ""

    @property
    def lock_is_ours(self) -> bool:
        """Whether a run of this ticket holds the lock."""
        return self.lock_holder == self.ticket

    @property
    def left_over(self) -> bool:
        """Whether anything stands in the ticket's name that an active record does not need."""
        return self.lock_is_ours or self.gate_closed_for_us or self.smoke_left


def plan_assign(facts: AssignFacts) -> Plan:
    """Which phases are done, which come next, and what refuses the assignment."""
    active, pending = facts.state == "active", facts.state == "pending"
    recorded = active or pending
    entitled = active or (pending and not facts.entitled)
    done = {
        "qualify": True,
        "freeze": active or (facts.lock_is_ours and facts.gate_closed_for_us and facts.gate_closed),
        "prove": recorded,
        "hold": recorded,
        "entitle": entitled and not facts.cap_changes,
        "smoke": active,
        "activate": active,
        "let_go": active and not facts.left_over,
    }
    phases = in_order(done, _reasons(facts, entitled=entitled))
    if facts.proposal and not recorded:
        phases = (Phase("review", "done" if facts.proposal == "same" else "next", (_review(facts),)), *phases)
    waiting_for_review = bool(facts.proposal) and not recorded
    run = not done["let_go"] and not waiting_for_review
    steps = {
        "run": run,
        "hold": run and not active,
        "prove": run and not recorded,
        "project_cap": run and not active and bool(facts.order.spec.project),
        "smoke": run and not active,
        "smoke_cleanup": run and active and facts.smoke_left,
        "propose": waiting_for_review and facts.proposal != "same",
        "await_review": waiting_for_review,
    }
    return Plan(phases, _checks(facts), steps)


def _reasons(facts: AssignFacts, *, entitled: bool) -> dict[str, tuple[str, ...]]:
    spec, pool = facts.order.spec, facts.order.spec.profile_id
    reopen = "open gate vm again if it was open before" if facts.reopen else "leave gate vm closed"
    entitle = tuple(facts.entitled) or (
        f"{spec.addon_id} grants {spec.devices} devices to {spec.organization}",
    )
    if spec.project:
        entitle += (f"cap project {spec.project} at its reserved count",)
    return {
        "qualify": (f"order {facts.ticket}: {spec.devices} devices of {pool} for {spec.organization}",),
        "freeze": (f"lock of pool {pool}", "VM creation closed"),
        "prove": ("the equation with the order, under the lock",),
        "hold": (f"record gpu-res-{facts.ticket} pending",),
        "entitle": entitle if not entitled else (f"{spec.addon_id} is granted, and quota shows it",),
        "smoke": (
            f"one VM in {facts.smoke_namespace or '(no project named)'}: attach, stop, start, release",
        ),
        "activate": ("seal the evidence", f"record gpu-res-{facts.ticket} active; billing starts"),
        "let_go": ("service recovery checks", reopen, f"let go of pool {pool}"),
    }


def _review(facts: AssignFacts) -> str:
    if facts.proposal == "same":
        return "the record is proposed and awaits review"
    return "push the pending record as a proposal for review, then end"


def _checks(facts: AssignFacts) -> tuple[Check, ...]:
    """The proof's answers, and what else refuses; a finished assignment is not proved to be allowed."""
    if facts.state == "active":
        return ()
    lock = lock_check(facts.order.spec.profile_id, facts.lock_holder, facts.ticket, may_wait=facts.may_wait)
    found = [*facts.preflight, lock, _smoke_place(facts)]
    if not facts.proof.decisive.holds:
        found += [_transition(node, mode) for node, mode in facts.shared_nodes]
    if facts.proof.only_converging and facts.state == "pending" and facts.lock_is_ours:
        # Our own entitlement on its way: the run waits for it and proves again.
        found += [check for check in facts.proof.checks if check.status == "pass"]
    else:
        found += [check for check in facts.proof.checks if check.status not in ("fail", "unknown")]
        found += facts.proof.refusals
    return tuple(found)


def _transition(node: str, mode: str) -> Check:
    """A sequential pool is sold only from nodes in vm-passthrough; the transition is a step of its own.

    Runbook heading: 3. Prove the invariant before mutation.
    """
    return Check(
        id="node-in-shared-mode",
        status="fail",
        message=f"node {node} is in {mode}, so its devices are not of this pool now",
        next_action=f"ansible-playbook playbooks/transition.yml -e node={node} -e from_mode={mode} "
        "-e to_mode=vm-passthrough -e close_gates=true, then assign again",
        object=f"node/{node}",
    )


def _smoke_place(facts: AssignFacts) -> Check:
    organization = facts.order.spec.organization
    if facts.smoke_namespace:
        message = f"the smoke VM runs in {facts.smoke_namespace}"
        return Check(
            id="smoke-project", status="pass", message=message, object=f"organization/{organization}"
        )
    return Check(
        id="smoke-project",
        status="fail",
        message=f"no ready project of {organization} for the smoke VM",
        next_action=f"name one with -e smoke_project=<project of {organization}>",
        object=f"organization/{organization}",
    )
