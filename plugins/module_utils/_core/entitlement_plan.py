# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan of a change of ordinary entitlement, from what the world shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .checks import Check
from .entitlement_change import ChangeJudgement, EntitlementChange
from .lock_check import lock_check
from .plan import Plan, in_order
from .proof import CAPACITY_EQUATION


@dataclass(frozen=True)
class EntitlementFacts:
    """What an observation shows of a change.

    Attributes:
        ticket: in its normal form.
        change: what was asked.
        judgements: by profile.
        holders: who holds each pool's lock, by profile; empty text for nobody.
        may_wait: whether the run would wait for a lock that another holds.
        converged: whether quota and status show the quantity that was asked for.
        clicks: whether an operator changes the add-on.
    """

    ticket: str
    change: EntitlementChange
    judgements: tuple[ChangeJudgement, ...]
    holders: Mapping[str, str]
    may_wait: bool
    converged: bool
    clicks: bool

    @property
    def settled(self) -> bool:
        """Whether the quantity is what was asked for, everywhere."""
        return self.converged and all(item.before == self.change.quantity for item in self.judgements)

    @property
    def left_over(self) -> bool:
        """Whether a pool is locked in the ticket's name."""
        return self.ticket in self.holders.values()


def plan_entitlement(facts: EntitlementFacts) -> Plan:
    """Which phases are done, which come next, and what refuses the change."""
    changed = facts.settled
    done = {
        "judge": True,
        "lock": changed or all(holder == facts.ticket for holder in facts.holders.values()),
        "change": changed,
        "let_go": changed and not facts.left_over,
    }
    run = not done["let_go"]
    return Plan(in_order(done, _reasons(facts)), _checks(facts), {"run": run, "change": run and not changed})


def _reasons(facts: EntitlementFacts) -> dict[str, tuple[str, ...]]:
    change, before = facts.change, facts.judgements[0].before
    who = "an operator sets" if facts.clicks else "set"
    step = f"{who} {change.add_on_id} of {change.organization} from {before} to {change.quantity}"
    if facts.settled:
        step = f"{change.organization} has {change.add_on_id} x {change.quantity}, and quota shows it"
    pools = ", ".join(facts.holders)
    deltas = (f"{item.delta if item.delta is not None else 'unknown'} devices of {item.profile_id}"
              for item in facts.judgements)  # fmt: skip
    return {
        "judge": (f"{change.add_on_id} of {change.organization}: {', '.join(deltas)}",),
        "lock": (f"lock of pool {pools}",),
        "change": (step, "wait for quota and status"),
        "let_go": (f"let go of pool {pools}",),
    }


def _checks(facts: EntitlementFacts) -> tuple[Check, ...]:
    locks = [
        lock_check(pool, holder, facts.ticket, may_wait=facts.may_wait)
        for pool, holder in facts.holders.items()
    ]
    if facts.settled and not facts.left_over:
        locks = []
    found = {finding.message: finding for item in facts.judgements for finding in item.findings}
    checks = [finding.check() for finding in found.values()]
    if not checks and not all(item.allowed for item in facts.judgements):
        checks.append(
            Check(
                id=CAPACITY_EQUATION,
                status="unknown",
                message=f"what the change of {facts.change.add_on_id} makes of claims cannot be told",
                next_action="settle what is unknown, then run again",
            )
        )
    return (*locks, *checks)
