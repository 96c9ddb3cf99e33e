# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_freeze: shown by anybody, ended by two people, on a reference, when the audit passes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.callsites import watched_by
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.assignment import assign
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.capacity_world import CapacityWorld
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.fenced import (
    CONFIGMAPS,
    FENCE,
    fenced,
    fences,
    standing,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.stages import (
    CONFIG_FILE,
    LOCK_BRANCH,
    POOL,
    SURVEY,
    When,
    lock_text,
)

FREEZE = "gpu-reservations/lab/freezes/h100-vm.yaml"
FROZEN = 'since: "2026-11-01T00:00:00Z"\naudit: daily\nfindings: [active-alert]\nthawed: null\n'
APPROVED = {"product": "p.owner", "sre": "s.owner", "reference": "INC-42"}
THAW: Mapping[str, Any] = {"state": "thawed", "profile_id": POOL, **APPROVED}


def frozen(world: CapacityWorld, control: str = "both") -> CapacityWorld:
    """As an enforced audit leaves it: frozen, fenced, gate closed; what was found is put right."""
    fenced(world, control)
    [config] = world.server.items(CONFIGMAPS)
    config["data"] |= standing(POOL)
    closed = world.file(CONFIG_FILE).replace("VM_CREATION_ENABLED=true", "VM_CREATION_ENABLED=false")
    world.commit_files({FREEZE: FROZEN, CONFIG_FILE: closed})
    return world


def document(world: CapacityWorld) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(world.file(FREEZE))
    return found


def test_info_shows_every_freeze_and_writes_nothing(world: CapacityWorld) -> None:
    with world.untouched():
        assert world.run("gpu_freeze").result["summary"] == ["no pool was ever frozen"]
    frozen(world)
    with world.untouched():
        shown = world.run("gpu_freeze")
    assert shown.result["changed"] is False
    assert shown.result["freezes"][POOL]["findings"] == ["active-alert"]
    assert shown.result["summary"] == ["h100-vm: frozen, since 2026-11-01T00:00:00Z: active-alert"]


def test_two_people_thaw_on_a_reference_and_the_gate_stays_closed(world: CapacityWorld) -> None:
    ran = frozen(world).run("gpu_freeze", **THAW)
    assert not ran.failed, ran.msg
    assert ran.result["changed"] is True
    thawed = document(world)["thawed"]
    assert thawed.items() >= APPROVED.items()
    assert thawed["at"].endswith("Z")
    assert document(world)["findings"] == ["active-alert"]  # the file stays as history
    assert fences(world) == {}
    assert world.settings()["GPU_VM_CREATION_ENABLED"] == "false"
    assert "playbooks/creation_gate.yml" in ran.result["summary"][1]
    assert world.subjects() == ["Thaw h100-vm"]
    [diff] = ran.result["diff"]
    assert "p.owner" in diff["after"]
    assert "p.owner" not in diff["before"]


def test_thawed_twice_is_thawed_once(world: CapacityWorld) -> None:
    frozen(world).run("gpu_freeze", **THAW)
    with world.untouched():
        again = world.run("gpu_freeze", **THAW)
    assert not again.failed, again.msg
    assert again.result["changed"] is False
    assert again.result["plan"] == []


def test_check_mode_plans_the_thaw_and_writes_nothing(world: CapacityWorld) -> None:
    frozen(world)
    with world.untouched():
        planned = world.run("gpu_freeze", check=True, **THAW)
    assert planned.result["plan"] == ["thaw h100-vm"]
    read = set(world.server.reads)
    world.server.reads.clear()
    made = world.run("gpu_freeze", **THAW)
    assert set(world.server.reads) == read
    assert made.result["plan_digest"] == planned.result["plan_digest"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"sre": "p.owner"}, "thaw-invalid"),
        ({"sre": " P.Owner "}, "thaw-invalid"),
        ({"sre": ""}, "thaw-invalid"),
        ({"product": ""}, "thaw-invalid"),
        ({"reference": ""}, "thaw-invalid"),
        ({"reference": "GPU-12345678-1234-1234-1234-123456789abc"}, "identifier-in-document"),
        ({"profile_id": "v100-vm"}, "freeze-missing"),
    ],
)
def test_less_than_two_people_and_a_reference_thaw_nothing(
    world: CapacityWorld, change: dict[str, str], code: str
) -> None:
    frozen(world)
    with world.untouched():
        ran = world.run("gpu_freeze", **{**THAW, **change})
    assert ran.failed
    assert ran.code == code
    assert ran.result["error"]["next_action"]
    assert document(world)["thawed"] is None


@pytest.mark.parametrize("missing", ["product", "sre", "reference", "profile_id"])
def test_one_approver_alone_is_refused(world: CapacityWorld, missing: str) -> None:
    frozen(world)
    with world.untouched():
        ran = world.run("gpu_freeze", **{name: value for name, value in THAW.items() if name != missing})
    assert ran.failed
    assert missing in ran.msg


def test_a_failing_audit_keeps_the_pool_frozen(world: CapacityWorld) -> None:
    frozen(world).server.entitle("aurora", {"gpu-h100-vm": 40})
    with world.untouched():
        ran = world.run("gpu_freeze", **THAW)
    assert ran.failed
    assert ran.code == "audit-failed"
    assert "hard-quota-above-equation" in ran.msg
    assert ran.result["passed"] is False


def test_another_pools_failure_does_not_keep_this_one_frozen(world: CapacityWorld) -> None:
    frozen(world).server.entitle("borealis", {"gpu-h100-vm": 2, "gpu-v100-reserved": 5})
    assert not world.run("gpu_freeze", **THAW).failed


@pytest.mark.parametrize("path", ["/api/v1/nodes", "/apis/kube-dc.com/v1/organizations"])
def test_what_cannot_be_read_thaws_nothing(world: CapacityWorld, path: str) -> None:
    frozen(world).server.failing[path] = 500
    with world.untouched():
        ran = world.run("gpu_freeze", **THAW)
    assert ran.failed
    assert ran.result["error"]["class"] == "ObservationError"


def test_an_invalid_ledger_thaws_nothing(world: CapacityWorld) -> None:
    frozen(world)
    world.commit_file("gpu-reservations/lab/records/gpu-res-x.yaml", "nonsense: 1\n")
    with world.untouched():
        ran = world.run("gpu_freeze", **THAW)
    assert ran.failed
    assert ran.code == "ledger-invalid"


def test_an_assignment_that_read_before_the_thaw_loses_its_race(world: CapacityWorld, tmp_path: Path) -> None:
    """The thaw moves the lock branch too: whoever proved on the frozen state has to look again."""
    frozen(world)
    world.commit_file("lock.yaml", lock_text(closed_for=("lab-9",)), branch=LOCK_BRANCH)
    before = world.refs()

    def thaw_elsewhere() -> None:
        here, world.folder = world.folder, tmp_path / "elsewhere"  # another machine's clone of the fleet
        try:
            assert not world.run("gpu_freeze", **THAW).failed
        finally:
            world.folder = here

    thawing = When("fleet push", thaw_elsewhere)
    with watched_by(thawing):
        ran = world.run("gpu_lock", state="held", profile_id=POOL, ticket="LAB-9", run_id="02NEW")
    assert not ran.failed, ran.msg
    assert thawing.left == 0
    after = world.refs()
    assert all(after[name] != before[name] for name in ("refs/heads/main", f"refs/heads/{LOCK_BRANCH}"))
    assert world.subjects(LOCK_BRANCH) == ["Thaw h100-vm", "Lock h100-vm for lab-9"]
    assert fences(world) == standing(POOL)


def test_a_lost_race_is_audited_again_before_the_thaw(world: CapacityWorld) -> None:
    frozen(world)

    def oversell() -> None:
        world.server.entitle("aurora", {"gpu-h100-vm": 40})
        world.commit_file("clusters/lab/other.env", "A=1\n")

    with watched_by(When("fleet push", oversell)):
        ran = world.run("gpu_freeze", **THAW)
    assert ran.code == "audit-failed"
    assert document(world)["thawed"] is None
    assert fences(world) == standing(POOL)


def test_the_fences_of_a_pool_that_is_locked_stay(world: CapacityWorld) -> None:
    frozen(world)
    world.commit_file("lock.yaml", lock_text(closed_for=()), branch=LOCK_BRANCH)
    ran = world.run("gpu_freeze", **THAW)
    assert not ran.failed, ran.msg
    assert fences(world) == standing(POOL)


def test_fences_that_could_not_be_lowered_are_lowered_by_the_next_run(world: CapacityWorld) -> None:
    frozen(world)
    with watched_by(When("fleet push", lambda: world.server.failing.update({FENCE: 500}))):
        ran = world.run("gpu_freeze", **THAW)
    assert ran.code == "fences-not-lowered"
    assert ran.result["changed"] is True
    assert document(world)["thawed"]
    assert fences(world) == standing(POOL)
    world.server.failing.clear()
    again = world.run("gpu_freeze", **THAW)
    assert again.result["plan"] == ["lower the fences of h100-vm"]
    assert fences(world) == {}


def test_nothing_is_assigned_from_a_frozen_pool_and_again_after_the_thaw(world: CapacityWorld) -> None:
    frozen(world, "gate")
    with world.untouched():
        plan = world.run("gpu_plan_info", action="assign", ticket="LAB-9", order=SURVEY)
    assert plan.result["allowed"] is False
    assert "pool-frozen" in {check["id"] for check in plan.result["checks"] if check["status"] == "fail"}
    assert not world.run("gpu_freeze", **THAW).failed
    survey: dict[str, Any] = dict(SURVEY)
    assign(world, **survey)
    record = world.record("lab-9")
    assert record is not None
    assert record["spec"]["state"] == "active"
