# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan of a release (runbook: Release and cancellation), from what the world shows."""

from __future__ import annotations

from dataclasses import dataclass

from .checks import Check
from .lock_check import lock_check
from .plan import Plan, in_order
from .record import Record
from .release_asking import Asking


@dataclass(frozen=True)
class ReleaseFacts:
    """What an observation shows of a ticket that is to be released.

    Attributes:
        ticket: in its normal form.
        record: its record; None where the ledger has none.
        asking: what stands in the way; None once the record is released.
        lock_holder: who holds the pool's lock; empty for nobody.
        may_wait: whether the run would wait for a lock that another holds.
        gate_closed: whether every copy of gate vm says false.
        gate_closed_for_us: whether the lock document says so of this ticket.
        reduction: what the add-on, quota and status still show of the record; empty where nothing.
        cap: what is to be done with the project's cap; empty where nothing.
        reopen: whether the gate is to be opened at the end.
        preflight: checks of what the run needs on this machine.
    """

    ticket: str
    record: Record | None
    asking: Asking | None
    lock_holder: str
    may_wait: bool
    gate_closed: bool
    gate_closed_for_us: bool
    reduction: tuple[str, ...]
    cap: str
    reopen: bool
    preflight: tuple[Check, ...] = ()

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
        """Whether anything stands in the ticket's name that a closed record does not need."""
        return self.lock_is_ours or self.gate_closed_for_us


def plan_release(facts: ReleaseFacts) -> Plan:
    """Which phases are done, which come next, and what refuses the release."""
    released = facts.state == "released"
    releasing = facts.state == "releasing"
    done = {
        "qualify": True,
        "close": released or (facts.lock_is_ours and facts.gate_closed_for_us and facts.gate_closed),
        "releasing": released or releasing,
        "holders": released or (releasing and not facts.reduction),
        "reduce": released or (releasing and not facts.reduction),
        "cap": released or (releasing and not facts.cap),
        "released": released,
        "let_go": released and not facts.left_over,
    }
    if facts.state not in ("active", "releasing", "released"):
        done = {"qualify": False}
    phases = in_order(done, _reasons(facts))
    run = facts.state in ("active", "releasing") or (released and facts.left_over)
    steps = {
        "run": run,
        "release": run and not released,
        "project_cap": run and not released and _project(facts) != "",
    }
    return Plan(phases, _checks(facts), steps)


def _project(facts: ReleaseFacts) -> str:
    return facts.record.spec.project if facts.record else ""


def _reasons(facts: ReleaseFacts) -> dict[str, tuple[str, ...]]:
    if facts.record is None:
        return {"qualify": (f"the ledger has no record gpu-res-{facts.ticket}",)}
    record, spec, pool = facts.record, facts.record.spec, facts.record.spec.profile_id
    reopen = "open gate vm again if it was open before" if facts.reopen else "leave gate vm closed"
    waiting = facts.asking.missing if facts.asking else ""
    holders = (f"waits: {waiting}",) if waiting else ("used is at most what stays; read twice",)
    return {
        "qualify": (f"{record.id}: {spec.devices} devices of {pool} held for {spec.organization}",),
        "close": (f"lock of pool {pool}", "VM creation closed"),
        "releasing": (f"record {record.id} releasing",),
        "holders": holders if facts.asking else ("used is at most what stays",),
        "reduce": facts.reduction or (f"{spec.addon_id} grants nothing of {record.id}, and quota shows it",),
        "cap": (facts.cap or "no project cap to put back",),
        "released": (
            "the equation recalculated and sealed in evidence",
            f"record {record.id} released; billing stops",
        ),
        "let_go": (reopen, f"let go of pool {pool}", "audit"),
    }


def _checks(facts: ReleaseFacts) -> tuple[Check, ...]:
    """What refuses the release. Holders and doubts refuse nothing: the run asks and waits."""
    if facts.state == "released":
        return () if not facts.left_over else (_lock(facts),)
    if facts.record is None or facts.state in ("pending", "canceled"):
        return (_unfit(facts),)
    beside = facts.asking.checks if facts.asking else ()
    told = [check.model_copy(update={"status": "not_applicable"}) for check in beside]
    return (*facts.preflight, _lock(facts), *told)


def _lock(facts: ReleaseFacts) -> Check:
    pool = facts.record.spec.profile_id if facts.record else ""
    return lock_check(pool, facts.lock_holder, facts.ticket, may_wait=facts.may_wait)


def _unfit(facts: ReleaseFacts) -> Check:
    where = f"record/gpu-res-{facts.ticket}"
    if facts.record is None:
        return Check(
            id="record-missing",
            status="fail",
            message=f"the ledger has no record gpu-res-{facts.ticket}: there is nothing to release",
            next_action="name the ticket of an active record; gpu_ledger_info lists them",
            object=where,
        )
    if facts.state == "pending":
        action = f"cancel it: playbooks/cancel.yml -e ticket={facts.ticket}"
    else:
        action = "nothing is held for it; name the ticket of an active record"
    return Check(
        id="record-state",
        status="fail",
        message=f"{facts.record.id} is {facts.state}; only an active record is released",
        next_action=action,
        object=where,
    )
