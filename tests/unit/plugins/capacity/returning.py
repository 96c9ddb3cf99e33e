# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of roles release and cancel, module by module, in this process, as their task files have them."""

from __future__ import annotations

from typing import Any

from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.assignment import (
    Modules,
    Refused,
    step,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.capacity_world import Ran

HELD = "LAB-0"
"""The fixture's active record: 8 devices of h100-vm, organization cumulus, no project."""


def planned(world: Modules, action: str, ticket: str, **options: Any) -> dict[str, Any]:
    """The plan; refused where it says no."""
    plan = step(world, "gpu_plan_info", action=action, ticket=ticket, **options)
    if not plan["allowed"]:
        raise Refused("gpu_plan_info", Ran(failed=True, result=plan))
    return plan


def release(
    world: Modules, ticket: str = HELD, *, reopen: bool = False, wait_timeout: float = 0
) -> dict[str, Any]:
    """Carry a release out, as the role does.

    Returns:
        The plan's result.
    """
    plan = planned(world, "release", ticket, reopen=reopen)
    if not plan["to_do"]["run"]:
        return plan
    pool: str = plan["profile_id"]
    run: dict[str, Any] = {"ticket": ticket, "run_id": plan["run_id"]}
    step(world, "gpu_lock", state="held", profile_id=pool, **run)
    if plan["to_do"]["release"]:
        step(world, "gpu_creation_gate", state="closed", gate="vm", profile_id=pool, **run)
        step(world, "gpu_ledger_record", state="releasing", **run)
        before = step(world, "gpu_invariant", profile_id=pool, ticket=ticket, purpose="show")
        _ask(world, run, wait_timeout)
        _reduce(world, plan, run)
        after = step(world, "gpu_invariant", profile_id=pool, ticket=ticket, purpose="show")
        sealed = step(
            world,
            "gpu_evidence",
            state="sealed",
            plan=plan,
            reports={"before": before, "after": after},
            **run,
        )
        revision = sealed["evidence_revision"]
        step(world, "gpu_ledger_record", state="released", evidence_revision=revision, **run)
    _let_go(world, pool, run, reopen=reopen)
    return plan


def _ask(world: Modules, run: dict[str, Any], wait_timeout: float) -> None:
    first = step(world, "gpu_release_info", ticket=run["ticket"])
    if not first["free"]:
        step(world, "gpu_ledger_record", state="releasing", reason=first["reason"], **run)
    wait: dict[str, Any] = {"wait": True, "wait_timeout": wait_timeout}
    waited = step(world, "gpu_release_info", ticket=run["ticket"], **wait)
    if not waited["free"]:
        step(world, "gpu_ledger_record", state="releasing", reason=waited["reason"], **run)
        raise Refused("gpu_release_info", Ran(failed=True, result=waited))


def _reduce(world: Modules, plan: dict[str, Any], run: dict[str, Any]) -> None:
    step(world, "gpu_addon", reduce=True, **run)
    if plan["to_do"]["project_cap"]:
        step(world, "gpu_project_cap", restore=True, **run)


def _let_go(world: Modules, pool: str, run: dict[str, Any], *, reopen: bool) -> None:
    gate: dict[str, Any] = {
        "state": "released",
        "gate": "vm",
        "profile_id": pool,
        "reopen": reopen,
        "recovered": True,
    }
    step(world, "gpu_creation_gate", **gate, **run)
    step(world, "gpu_lock", state="released", profile_id=pool, **run)


def cancel(world: Modules, ticket: str, *, wait_timeout: float = 0) -> dict[str, Any]:
    """Carry a cancellation out, as the role does; without a smoke VM.

    Returns:
        The plan's result.
    """
    plan = planned(world, "cancel", ticket)
    if not plan["to_do"]["run"]:
        return plan
    pool: str = plan["profile_id"]
    run: dict[str, Any] = {"ticket": ticket, "run_id": plan["run_id"]}
    if plan["to_do"]["lock"]:
        step(world, "gpu_lock", state="held", profile_id=pool, **run)
    if plan["to_do"]["take_back"]:
        step(world, "gpu_creation_gate", state="closed", gate="vm", profile_id=pool, **run)
        wait: dict[str, Any] = {"wait": True, "wait_timeout": wait_timeout}
        waited = step(world, "gpu_release_info", ticket=ticket, **wait)
        if not waited["free"]:
            raise Refused("gpu_release_info", Ran(failed=True, result=waited))
        _reduce(world, plan, run)
    if plan["to_do"]["cancel"]:
        after = step(world, "gpu_invariant", profile_id=pool, ticket=ticket, purpose="show")
        sealed = step(world, "gpu_evidence", state="sealed", plan=plan, reports={"after": after}, **run)
        revision = sealed["evidence_revision"]
        step(world, "gpu_ledger_record", state="canceled", evidence_revision=revision, **run)
    _let_go(world, pool, run, reopen=False)
    return plan
