# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cancellation on the lab: before and after entitlement, killed in the middle, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.tests.integration.capacity.assigned import (
    require_equation_always,
    survey,
)
from ansible_collections.gpuops.reservations.tests.integration.capacity.auditing import LiveModules
from ansible_collections.gpuops.reservations.tests.integration.capacity.capacity_lab import CapacityLab, Run
from ansible_collections.gpuops.reservations.tests.integration.capacity.put_back import (
    instance_phase,
    put_back,
    require_clean,
    start_machine,
)
from ansible_collections.gpuops.reservations.tests.integration.capacity.stepwise import (
    entitled_here,
    recorded_here,
)

pytestmark = [pytest.mark.lab, pytest.mark.slow]

ORDER = survey("borealis", 8, project="ml")


@pytest.fixture(scope="module")
def lab(told_lab: CapacityLab) -> CapacityLab:
    return told_lab


@pytest.fixture
def stage(lab: CapacityLab) -> Iterator[CapacityLab]:
    with put_back(lab):
        yield lab


@pytest.fixture
def modules(stage: CapacityLab) -> LiveModules:
    return LiveModules(stage)


def canceled(lab: CapacityLab, ticket: str, *arguments: str, **more: Any) -> Run:
    return lab.playbook("cancel", *arguments, ticket=ticket, poll_interval=0.5, health_interval=0.2, **more)


def require_canceled(lab: CapacityLab, ticket: str, *, gate: str) -> None:
    """No invoice can follow, nothing is entitled, and nothing stands in the ticket's name."""
    record = lab.record(ticket)
    assert record is not None
    assert record["spec"]["state"] == "canceled"
    assert record["status"]["reason"] == "canceled-before-activation"
    assert (record["status"]["activatedAt"], record["status"]["releasedAt"]) == ("", "")
    assert lab.add_ons("borealis") == {"gpu-h100-vm": 2}
    assert lab.hard("borealis") == "2"
    assert lab.cap("borealis-ml") is None
    lock = lab.lock()
    assert (lock["pools"], lock["gate"]["vm"]["closedFor"], lock["projectCaps"]) == ({}, [], {})
    assert lab.gate() == gate
    require_equation_always(lab)
    require_clean(lab)


def test_before_entitlement_no_entitlement_is_touched(stage: CapacityLab, modules: LiveModules) -> None:
    recorded_here(modules, "CANCEL-1", **ORDER)
    entitlements = stage.entitlements()
    with stage.mutations() as wrote:
        run = canceled(stage, "CANCEL-1", reopen=True)
    assert run.code == 0, run.output
    assert "nothing is billed; no billable instant" in run.output
    assert stage.entitlements() == entitlements
    assert {event["objectRef"]["resource"] for event in wrote} == {"configmaps"}, "the fences, nothing else"
    require_canceled(stage, "CANCEL-1", gate="true")
    refs = stage.refs()
    again = canceled(stage, "CANCEL-1")
    assert (again.code, again.recap["changed"], stage.refs()) == (0, 0, refs)


def test_after_entitlement_killed_in_the_middle_it_is_taken_back_by_the_next_run(
    stage: CapacityLab, modules: LiveModules
) -> None:
    entitled_here(modules, "CANCEL-2", **ORDER)
    assert (stage.hard("borealis"), stage.cap("borealis-ml")) == ("10", "8")
    stage.killed_at("Drop the project's cap", "CANCEL-2", playbook="cancel")
    record = stage.record("CANCEL-2")
    assert record is not None
    assert record["spec"]["state"] == "pending"
    assert stage.gate() == "false"
    run = canceled(stage, "CANCEL-2")
    assert run.code == 0, run.output
    require_canceled(stage, "CANCEL-2", gate="false")


def test_entitlement_that_is_used_is_not_taken_back(stage: CapacityLab, modules: LiveModules) -> None:
    """Three machines of which the ordinary add-on covers two; they run before the pool is fenced."""
    recorded_here(modules, "CANCEL-3", **ORDER)
    run_id = modules.run("gpu_plan_info", action="cancel", ticket="CANCEL-3").result["run_id"]
    names: dict[str, Any] = {"ticket": "CANCEL-3", "run_id": run_id, "profile_id": "h100-vm"}
    assert not modules.run("gpu_lock", state="held", **names).failed
    names.pop("profile_id")
    assert not modules.run("gpu_addon", **names).failed
    assert not modules.run("gpu_lock", state="released", profile_id="h100-vm", **names).failed
    for name in ("one", "two", "three"):
        start_machine(stage, "borealis-ml", name, clean=False)
    entitlements = stage.entitlements()
    run = canceled(stage, "CANCEL-3", wait_timeout=1)
    assert run.code != 0
    for name in ("one", "two", "three"):
        assert f"borealis-ml/VirtualMachine/{name}" in run.output
        assert instance_phase(stage, "borealis-ml", name) == "Running"
    record = stage.record("CANCEL-3")
    assert record is not None
    assert record["spec"]["state"] == "pending"
    assert stage.entitlements() == entitlements
    assert stage.lock()["pools"]["h100-vm"]["ticket"] == "cancel-3"


def test_an_active_record_is_refused_and_nothing_is_touched(stage: CapacityLab) -> None:
    refs, entitlements = stage.refs(), stage.entitlements()
    with stage.mutations() as wrote:
        run = canceled(stage, "LAB-0")
    assert run.code != 0
    assert "gpu-res-lab-0 is active; only a pending record is canceled" in run.output
    assert "playbooks/release.yml -e ticket=lab-0" in run.output
    assert (stage.refs(), stage.entitlements(), wrote) == (refs, entitlements, [])
