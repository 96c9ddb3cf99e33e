# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every line of the runbook's stop list, on a real control plane: the test's id is the line.

The table is STOPS in stops.py; below it are those that a plan alone cannot show: a suspended organization
that uses nothing, a key that project quotas have, a claimant before the smoke VM, and a default kubeconfig.
The list and more, in every spelling, runs without a cluster in tests/unit/plugins/capacity/test_stops.py.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.tests.integration.capacity.assigned import survey
from ansible_collections.gpuops.reservations.tests.integration.capacity.auditing import LiveModules
from ansible_collections.gpuops.reservations.tests.integration.capacity.capacity_lab import (
    CapacityLab,
    eventually,
)
from ansible_collections.gpuops.reservations.tests.integration.capacity.stops import (
    STILL,
    STOPS,
    Stop,
    claimant,
    no_hrq,
    subscription,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.capacity_world import Ran

pytestmark = [pytest.mark.lab, pytest.mark.slow]

LAB_1: dict[str, Any] = {"action": "assign", "ticket": "LAB-1"}


@pytest.fixture(scope="module")
def lab(told_lab: CapacityLab) -> CapacityLab:
    return told_lab


@pytest.fixture(scope="module")
def modules(lab: CapacityLab) -> LiveModules:
    return LiveModules(lab)


@pytest.fixture
def undisturbed(modules: LiveModules) -> None:
    """What the test before made is gone: LAB-1 may be assigned."""
    eventually("a plan of LAB-1 that is allowed", lambda: allowed(modules.run("gpu_plan_info", **LAB_1)), 90)


def allowed(plan: Ran) -> bool:
    return not plan.failed and plan.result["allowed"] is True


def stopped(ran: Ran) -> dict[str, str]:
    """Identifiers under which a module said no, each with what it said of them."""
    found: dict[str, str] = {ran.code: ran.msg} if ran.failed else {}
    for check in ran.result.get("checks", []):
        if check["status"] in ("fail", "unknown"):
            said = f"{check['object']} {check['message']}"
            found[check["id"]] = f"{found.get(check['id'], '')} {said}"
    return found


@pytest.mark.usefixtures("undisturbed")
@pytest.mark.parametrize("stop", STOPS.values(), ids=STOPS)
def test_it_stops_the_assignment_before_anything_is_written(
    lab: CapacityLab, modules: LiveModules, stop: Stop
) -> None:
    with stop.make(lab):
        plans: list[Ran] = []

        def named() -> bool:
            plans.append(modules.run("gpu_plan_info", **LAB_1))
            return stop.names.lower() in stopped(plans[-1]).get(stop.id, "").lower()

        refs = lab.refs()
        with lab.mutations() as written:
            eventually(f"{stop.id} that names {stop.names}", named, 30)
            proof = modules.run("gpu_invariant", profile_id="h100-vm", purpose="assign", ticket="LAB-1")
        assert not allowed(plans[-1])
        assert proof.failed
        assert stop.id in stopped(proof)
        assert "Next: " in proof.msg
        assert written == []
        assert lab.refs() == refs


@pytest.mark.usefixtures("undisturbed")
def test_a_suspended_organization_counts_with_what_it_gets_back(
    lab: CapacityLab, modules: LiveModules
) -> None:
    question: dict[str, Any] = {"purpose": "assign", "ticket": "NEW-1", "order": survey("aurora", 18)}
    with subscription("borealis", "suspended")(lab):
        eventually("the platform grants borealis less", lambda: lab.hard("borealis") == "0", 30)
        eventually("a proof", lambda: not modules.run("gpu_invariant", profile_id="h100-vm").failed, 30)
        proof = modules.run("gpu_invariant", profile_id="h100-vm", **question)
    assert proof.result["equation"]["non_reserved"] == 6
    assert "subscription-suspended" in {check["id"] for check in proof.result["checks"]}
    assert "order-exceeds-capacity" in stopped(proof)
    assert "lacks 1 devices" in proof.msg


@pytest.mark.usefixtures("undisturbed")
def test_without_hrq_the_quotas_of_all_projects_are_the_limit(lab: CapacityLab, modules: LiveModules) -> None:
    with STILL(lab), no_hrq(lab):
        proof = modules.run("gpu_invariant", profile_id="h100-vm")
    assert "hard-quota-above-equation" not in stopped(proof)
    assert proof.result["equation"]["non_reserved"] == 6


@pytest.mark.usefixtures("undisturbed")
def test_a_pending_claimant_stops_the_smoke_vm(lab: CapacityLab, modules: LiveModules) -> None:
    smoke: dict[str, Any] = {"name": "gpu-smoke-lab-1", "namespace": "borealis-ml", "profile_id": "h100-vm"}
    assert modules.run("gpu_smoke_info", stage="before", **smoke).result["passed"] is True
    with claimant(lab):
        before = modules.run("gpu_smoke_info", stage="before", **smoke)
    assert before.result["passed"] is False
    assert "borealis-ml" in stopped(before)["pending-claimant"]


def test_a_default_kubeconfig_alone_reaches_no_cluster(
    lab: CapacityLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that would reach this very lab lies where kubectl looks for it."""
    (tmp_path / ".kube").mkdir()
    shutil.copy(lab.lab.kubeconfig("admin"), tmp_path / ".kube" / "config")
    given = {key: value for key, value in lab.environment().items() if key != "KUBECONFIG"}
    monkeypatch.setattr(CapacityLab, "environment", lambda _self: {**given, "HOME": str(tmp_path)})
    before = len(lab.audit_events())
    ran = LiveModules(lab).run("gpu_plan_info", kubeconfig=None, **LAB_1)
    assert ran.failed
    assert ran.code == "connection-not-named"
    assert "a default file's current context is never used" in ran.msg
    asked = [
        event for event in lab.audit_events()[before:] if event.get("userAgent") == "gpuops.reservations"
    ]
    assert asked == []
