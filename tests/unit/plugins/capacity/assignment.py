# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of role assign, module by module, in this process: for tests that interrupt them anywhere."""

from __future__ import annotations

from typing import Any, Protocol

from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.capacity_world import (
    CapacityWorld,
    Ran,
    smoke_result,
)

ORDER_TICKET = "LAB-9"


class Modules(Protocol):
    """Where modules run: a world of its own, or a lab."""

    def run(self, module: str, *, check: bool = False, **arguments: Any) -> Ran:
        """Run a module as Ansible does, in this process."""


class Refused(Exception):
    """A step failed; carries how."""

    def __init__(self, module: str, ran: Ran) -> None:
        super().__init__(f"{module}: {ran.msg}")
        self.module = module
        self.ran = ran


def step(world: Modules, module: str, **arguments: Any) -> dict[str, Any]:
    """Run one step; a failure ends the assignment."""
    ran = world.run(module, **arguments)
    if ran.failed:
        raise Refused(module, ran)
    return ran.result


def assign(world: CapacityWorld, ticket: str = ORDER_TICKET, *, reopen: bool = False, **survey: str) -> Any:
    """Carry an assignment out, as the role does; without the smoke VM, whose result is given.

    Returns:
        The plan's result.
    """
    plan = step(world, "gpu_plan_info", action="assign", ticket=ticket, order=survey, reopen=reopen)
    if not plan["allowed"]:
        raise Refused("gpu_plan_info", Ran(failed=True, result=plan))
    if not plan["to_do"]["run"]:
        return plan
    pool = plan["order"]["profileId"]
    run: dict[str, Any] = {"ticket": ticket, "run_id": plan["run_id"]}
    step(world, "gpu_lock", state="held", profile_id=pool, **run)
    if plan["to_do"]["hold"]:
        _freeze(world, plan, pool, run, survey)
        _hold(world, plan, pool, run, survey)
    step(world, "gpu_invariant", profile_id=pool, ticket=ticket, purpose="let_go")
    step(world, "gpu_creation_gate", state="released", gate="vm", profile_id=pool, reopen=reopen, **run)
    step(world, "gpu_lock", state="released", profile_id=pool, **run)
    return plan


def _freeze(world: CapacityWorld, plan: Any, pool: str, run: dict[str, Any], survey: dict[str, str]) -> None:
    try:
        step(world, "gpu_creation_gate", state="closed", gate="vm", profile_id=pool, **run)
        if plan["to_do"]["prove"]:
            question = {"profile_id": pool, "purpose": "assign", "order": survey}
            step(world, "gpu_invariant", ticket=run["ticket"], **question)
    except Refused:
        back = {"profile_id": pool, "unless_recorded": True, **run}
        step(world, "gpu_creation_gate", state="released", gate="vm", reopen=True, **back)
        step(world, "gpu_lock", state="released", **back)
        raise


def _hold(world: CapacityWorld, plan: Any, pool: str, run: dict[str, Any], survey: dict[str, str]) -> None:
    step(world, "gpu_ledger_record", state="pending", order=survey, **run)
    step(world, "gpu_addon", **run)
    live = step(world, "gpu_invariant", profile_id=pool, ticket=run["ticket"], purpose="entitled")
    evidence = step(
        world,
        "gpu_evidence",
        state="sealed",
        plan=plan,
        reports={"after": live},
        smoke=dict(smoke_result()),
        **run,
    )
    step(
        world,
        "gpu_ledger_record",
        state="active",
        evidence_revision=evidence["evidence_revision"],
        **run,
    )
