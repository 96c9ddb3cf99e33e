# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An assignment on the lab module by module, in this process; its smoke cycle is given, not run.

What it leaves is what role assign leaves, in a few seconds: the beginning of tests of what comes after.
"""

from __future__ import annotations

from typing import Any

from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.assignment import (
    Modules,
    Refused,
    step,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.capacity_world import (
    Ran,
    smoke_result,
)


def planned_here(modules: Modules, ticket: str, order: dict[str, Any]) -> dict[str, Any]:
    """The plan of an assignment; refused where it says no."""
    plan = step(modules, "gpu_plan_info", action="assign", ticket=ticket, order=order)
    if not plan["allowed"]:
        raise Refused("gpu_plan_info", Ran(failed=True, result=plan))
    return plan


def entitled_here(modules: Modules, ticket: str, **order: Any) -> dict[str, Any]:
    """As far as the live proof: recorded, entitled, capped; lock held and gate closed.

    Returns:
        What names the run to the modules.
    """
    plan, run = recorded_here(modules, ticket, **order)
    step(modules, "gpu_addon", **run)
    if plan["to_do"]["project_cap"]:
        step(modules, "gpu_project_cap", **run)
    return run


def recorded_here(modules: Modules, ticket: str, **order: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """As far as the pending record: nothing is entitled; the plan, and what names the run."""
    plan = planned_here(modules, ticket, order)
    pool = plan["order"]["profileId"]
    run: dict[str, Any] = {"ticket": ticket, "run_id": plan["run_id"]}
    namespace = plan["smoke"]["namespace"]
    step(modules, "gpu_lock", state="held", profile_id=pool, smoke_namespace=namespace, **run)
    step(modules, "gpu_creation_gate", state="closed", gate="vm", profile_id=pool, **run)
    step(modules, "gpu_invariant", profile_id=pool, purpose="assign", order=order, ticket=ticket)
    step(modules, "gpu_ledger_record", state="pending", order=order, **run)
    return plan, run


def assigned_here(modules: Modules, ticket: str, *, reopen: bool = False, **order: Any) -> None:
    """The whole of it: active, gate and lock let go of."""
    run = entitled_here(modules, ticket, **order)
    plan = planned_here(modules, ticket, order)
    pool = plan["order"]["profileId"]
    live = step(modules, "gpu_invariant", profile_id=pool, ticket=ticket, purpose="entitled")
    reports = {"after": live}
    smoke = dict(smoke_result())
    sealed = step(modules, "gpu_evidence", state="sealed", plan=plan, reports=reports, smoke=smoke, **run)
    revision = sealed["evidence_revision"]
    step(modules, "gpu_ledger_record", state="active", evidence_revision=revision, **run)
    gate: dict[str, Any] = {"state": "released", "gate": "vm", "profile_id": pool, "reopen": reopen}
    step(modules, "gpu_creation_gate", **gate, **run)
    step(modules, "gpu_lock", state="released", profile_id=pool, **run)
