# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Gathers what the plan of a change of ordinary entitlement rests on."""

from __future__ import annotations

from dataclasses import replace

from .._core.entitlement_plan import EntitlementFacts, plan_entitlement
from .._core.hook_event import HookEvent
from .._core.names import normalise_ticket
from .entitlement_change import still_missing
from .entitlement_request import Judged, judged
from .observation import observe
from .planned import Planned
from .release_facts import capacity_lines, go_on
from .run import Invocation
from .sources import Reach


def plan_a_change(invocation: Invocation, reach: Reach) -> Planned:
    """The plan of a change of ordinary entitlement."""
    ticket = normalise_ticket(invocation.params["ticket"])
    found = judged(invocation, reach, observe(invocation, reach))
    change, seen = found.change, found.seen
    locks = {pool: seen.lock.pools.get(pool) for pool in found.pools}
    facts = EntitlementFacts(
        ticket=ticket,
        change=change,
        judgements=found.judgements,
        holders={pool: lock.ticket if lock else "" for pool, lock in locks.items()},
        may_wait=invocation.params["lock_wait"] > 0,
        converged=not still_missing(found, seen),
        clicks=seen.ledger.policy.spec.entitlement_transport == "observe",
    )
    plan = plan_entitlement(facts)
    proof, judgement = next(iter(found.pools.values()))
    proof = replace(proof, projected=judgement.projected)
    return Planned(
        action="entitlement",
        ticket=ticket,
        seen=seen,
        plan=plan,
        proof=proof,
        headline=f"entitlement {ticket}: {change.add_on_id} of {change.organization} to {change.quantity}",
        go_on=go_on(invocation, run=plan.steps["run"]),
        event=_event(ticket, found).result(),
        facts={
            "profiles": list(found.pools),
            "judgements": [item.result() for item in found.judgements],
            "operator_steps": _clicks(facts),
        },
        report_lines=capacity_lines(proof),
    )


def _clicks(facts: EntitlementFacts) -> list[str]:
    if not facts.clicks or facts.settled:
        return []
    change = facts.change
    where = f"Admin > Organization > {change.organization} > Billing > Manage add-ons"
    return [f"{where}: set {change.add_on_id} to {change.quantity}"]


def _event(ticket: str, found: Judged) -> HookEvent:
    return HookEvent(
        kind="entitlement-failed",
        severity="error",
        ticket=ticket,
        organization=found.change.organization,
        profile=", ".join(found.pools),
        message="",
        owners=(),
        next_action="Run playbooks/entitlement.yml again with the same ticket when what is named is settled.",
    )
