# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan of a cancellation (runbook: Release and cancellation, cancellation before activation)."""

from __future__ import annotations

from dataclasses import dataclass

from .checks import Check
from .lock_check import lock_check
from .plan import Plan, in_order
from .record import Record
from .release_asking import Asking


@dataclass(frozen=True)
class CancelFacts:
    """What an observation shows of a ticket that is to be canceled.

    Attributes:
        ticket: in its normal form.
        profile_id: the pool's profile; empty where neither record nor lock names one.
        record: its record; None where there is none.
        asking: what stands in the way of taking entitlement back; None where none was granted.
        lock_holder: who holds the pool's lock; empty for nobody.
        may_wait: whether the run would wait for a lock that another holds.
        gate_closed_for_us: whether the lock document says so of this ticket.
        reduction: what add-on, quota and status show of the record's entitlement; empty where nothing.
        cap: what is to be done with the project's cap; empty where nothing.
        smoke_left: whether a smoke VM of this ticket is there.
        reopen: whether the gate is to be opened at the end.
        preflight: checks of what the run needs on this machine.
    """

    ticket: str
    profile_id: str
    record: Record | None
    asking: Asking | None
    lock_holder: str
    may_wait: bool
    gate_closed_for_us: bool
    reduction: tuple[str, ...]
    cap: str
    smoke_left: bool
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
        """Whether anything stands in the ticket's name that a closed or missing record does not need."""
        return self.lock_is_ours or self.gate_closed_for_us or self.smoke_left

    @property
    def granted(self) -> bool:
        """Whether anything of the record's entitlement is in force or on its way."""
        return bool(self.reduction or self.cap)


def plan_cancel(facts: CancelFacts) -> Plan:
    """Which phases are done, which come next, and what refuses the cancellation."""
    pending = facts.state == "pending"
    closed = facts.state in ("", "canceled")
    done = {
        "qualify": True,
        "take_back": closed or not facts.granted,
        "canceled": closed,
        "let_go": closed and not facts.left_over,
    }
    if not pending and not closed:
        done = {"qualify": False}
    run = pending or (closed and facts.left_over)
    steps = {
        "run": run,
        "lock": run and bool(facts.profile_id),
        "cancel": pending,
        "take_back": pending and facts.granted,
        "project_cap": pending and bool(facts.cap),
        "smoke_cleanup": run and facts.smoke_left,
    }
    return Plan(in_order(done, _reasons(facts)), _checks(facts), steps)


def _reasons(facts: CancelFacts) -> dict[str, tuple[str, ...]]:
    if facts.record is None:
        told = f"the ledger has no record gpu-res-{facts.ticket}"
        return {"qualify": (told,), "let_go": (f"let go of what stands in the name of {facts.ticket}",)}
    record, spec = facts.record, facts.record.spec
    waiting = facts.asking.missing if facts.asking else ""
    back = (*facts.reduction, *((facts.cap,) if facts.cap else ()))
    reopen = "open gate vm again if it was open before" if facts.reopen else "leave gate vm as it is"
    return {
        "qualify": (f"{record.id}: {spec.devices} devices of {spec.profile_id} for {spec.organization}",),
        "take_back": ((f"waits: {waiting}",) if waiting else ()) + (back or ("nothing is entitled",)),
        "canceled": (f"record {record.id} canceled; no invoice follows",),
        "let_go": (reopen, f"let go of pool {spec.profile_id}", "audit"),
    }


def _checks(facts: CancelFacts) -> tuple[Check, ...]:
    if facts.state not in ("", "pending", "canceled"):
        return (_unfit(facts),)
    if facts.record is None and not facts.left_over:
        return (_missing(facts),)
    lock = lock_check(facts.profile_id, facts.lock_holder, facts.ticket, may_wait=facts.may_wait)
    if facts.state != "pending":
        return (lock,) if facts.left_over else ()
    beside = facts.asking.checks if facts.asking else ()
    told = [check.model_copy(update={"status": "not_applicable"}) for check in beside]
    return (*facts.preflight, lock, *told)


def _missing(facts: CancelFacts) -> Check:
    return Check(
        id="record-missing",
        status="fail",
        message=f"the ledger has no record gpu-res-{facts.ticket}: there is nothing to cancel",
        next_action="name the ticket of a pending record; gpu_ledger_info lists them. A proposal that was "
        "not merged is closed in its review",
        object=f"record/gpu-res-{facts.ticket}",
    )


def _unfit(facts: CancelFacts) -> Check:
    identifier = f"gpu-res-{facts.ticket}"
    if facts.state == "released":
        action = "nothing is held for it; name the ticket of a pending record"
    else:
        action = f"release it: playbooks/release.yml -e ticket={facts.ticket}"
    return Check(
        id="record-state",
        status="fail",
        message=f"{identifier} is {facts.state}; only a pending record is canceled",
        next_action=action,
        object=f"record/{identifier}",
    )
