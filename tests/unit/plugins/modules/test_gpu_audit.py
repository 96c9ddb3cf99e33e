# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_audit: reads and reports; what an enforced failure closes, in which order, and what it leaves alone."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
import yaml

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.callsites import watched_by
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.api_server import (
    HRQS,
    LEASES,
    ORGANIZATIONS,
    PROJECTS,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.capacity_world import (
    CapacityWorld,
    Ran,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.fenced import (
    FENCE,
    INSTALLED,
    fenced,
    fences,
    standing,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.stages import (
    CONFIG_FILE,
    LOCK_BRANCH,
    When,
    lock_text,
    locked,
)

FREEZE = "gpu-reservations/lab/freezes/{}.yaml"
RECORD = "gpu-reservations/lab/records/gpu-res-lab-0.yaml"
NODES = "/api/v1/nodes"


def oversold(world: CapacityWorld) -> CapacityWorld:
    world.server.entitle("aurora", {"gpu-h100-vm": 30})
    project = world.server.named(PROJECTS, "vision")
    project["status"]["quotaUsage"]["accelerators"]["h100-vm"]["devices"]["hard"] = "30"
    return world


def freeze(world: CapacityWorld, pool: str = "h100-vm") -> dict[str, object]:
    text = world.file(FREEZE.format(pool))
    found: dict[str, object] = yaml.safe_load(text) if text else {}
    return found


def ids(ran: Ran) -> list[str]:
    return [item["id"] for item in ran.result["findings"] if item["severity"] == "error"]


def require_nothing_taken(world: CapacityWorld, before: tuple[object, object]) -> None:
    """Holders and entitlements are as they were, and so are records and lock."""
    assert (world.server.items(ORGANIZATIONS), world.server.items(HRQS)) == before
    assert world.refs().get(f"refs/heads/{LOCK_BRANCH}") is None
    assert {path for _method, path, _body in world.server.writes} <= {FENCE}


def entitlements(world: CapacityWorld) -> tuple[object, object]:
    return copy.deepcopy((world.server.items(ORGANIZATIONS), world.server.items(HRQS)))


# Reading


def test_the_untouched_fixture_passes_and_writes_nothing(world: CapacityWorld) -> None:
    with world.untouched():
        ran = world.run("gpu_audit")
    assert not ran.failed, ran.msg
    assert ran.result["passed"]
    assert ran.result["changed"] is False
    assert ran.result["enforced"] == []
    assert ran.result["summary"][-1] == "audit passed"
    assert [item["severity"] for item in ran.result["findings"]] == ["note"]


def test_a_failing_audit_fails_naming_each_error_with_its_next_step(world: CapacityWorld) -> None:
    oversold(world)
    world.server.items(NODES)[:] = [n for n in world.server.items(NODES) if n["metadata"]["name"] != "gpu-02"]
    with world.untouched():
        ran = world.run("gpu_audit")
    assert ran.failed
    assert ran.result["changed"] is False
    assert sorted(ids(ran)) == ["degraded-capacity", "hard-quota-above-equation"]
    assert ran.code == ids(ran)[0]
    for finding in ran.result["findings"]:
        if finding["severity"] == "error":
            assert finding["message"] in ran.msg
            assert finding["next_action"] in ran.msg
    assert ran.result["bundle"]["passed"] is False


def test_a_role_may_ask_for_the_result_without_the_failure(world: CapacityWorld) -> None:
    ran = oversold(world).run("gpu_audit", fail_on_error=False)
    assert not ran.failed
    assert ran.result["passed"] is False
    assert ran.result["summary"][-1] == "audit FAILED"


@pytest.mark.parametrize("enforce", [False, True])
def test_check_mode_reads_the_same_and_plans_the_same(world: CapacityWorld, *, enforce: bool) -> None:
    oversold(fenced(world))
    with world.untouched():
        planned = world.run("gpu_audit", check=True, enforce=enforce)
    read = set(world.server.reads)
    world.server.reads.clear()
    made = world.run("gpu_audit", enforce=enforce)
    assert set(world.server.reads) == read
    assert planned.result["findings"] == made.result["findings"]
    assert planned.result["enforced"] == made.result["enforced"]
    assert planned.result["changed"] is False
    assert made.result["changed"] is enforce


def test_health_is_read_again_before_it_becomes_a_finding(world: CapacityWorld) -> None:
    """A lease that is old at the first look and renewed at the second is no finding."""
    lease = world.server.named(LEASES, "gpu-01")
    renewed = lease["spec"]["renewTime"]
    lease["spec"]["renewTime"] = "2020-01-01T00:00:00.000000Z"
    looks = When(f"kube GET {LEASES}", lambda: lease["spec"].update(renewTime=renewed), times=1)
    ran = world.run("gpu_audit", fail_on_error=False)
    assert ids(ran) == ["stale-capacity"]
    assert world.server.reads.count(LEASES) == 4
    lease["spec"]["renewTime"] = "2020-01-01T00:00:00.000000Z"
    world.server.reads.clear()
    with watched_by(When(f"kube GET {ORGANIZATIONS}", lambda: None)):
        first = world.run("gpu_audit", fail_on_error=False, profile_id="v100-vm")
    assert first.result["passed"]  # another pool's node
    with watched_by(looks):
        again = world.run("gpu_audit")
    assert not again.failed, again.msg


@pytest.mark.parametrize("path", [ORGANIZATIONS, NODES, "/api/v1/pods"])
def test_what_cannot_be_read_is_no_pass_and_closes_nothing_unproved(world: CapacityWorld, path: str) -> None:
    fenced(world).server.failing[path] = 403
    with world.untouched():
        ran = world.run("gpu_audit", enforce=True)
    assert ran.failed
    assert ran.result["error"]["class"] == "ObservationError"
    assert path.rpartition("/")[2] in ran.msg


def test_without_a_policy_nothing_is_known(world: CapacityWorld) -> None:
    world.commit_file("gpu-reservations/lab/policy.yaml", "kind: Nonsense\n")
    with world.untouched():
        ran = world.run("gpu_audit", enforce=True)
    assert ran.failed
    assert ran.code == "ledger-invalid"
    assert "policy.yaml" in ran.msg


def test_a_saved_observation_is_audited_alike_and_can_not_be_enforced(
    world: CapacityWorld, tmp_path: Path
) -> None:
    oversold(world)
    saved = tmp_path / "seen.json"
    live = world.run("gpu_audit", fail_on_error=False, save_snapshot=str(saved))
    assert saved.stat().st_mode & 0o777 == 0o600
    world.server.reads.clear()
    offline = world.run("gpu_audit", fail_on_error=False, snapshot=str(saved))
    assert offline.result["findings"] == live.result["findings"]
    assert world.server.reads == []
    refused = world.run("gpu_audit", enforce=True, snapshot=str(saved))
    assert refused.code == "enforce-needs-the-cluster"


# Enforcing


def test_enforce_raises_fences_then_freezes_and_closes_in_one_commit(world: CapacityWorld) -> None:
    oversold(fenced(world))
    before, tip = entitlements(world), world.refs()["refs/heads/main"]
    order: list[str] = []

    class Order:
        def reached(self, site: str) -> None:
            if site.startswith(("kube PATCH", "fleet push")) and not site.endswith("answered"):
                order.append(site.split(maxsplit=1)[0])

    with watched_by(Order()):
        ran = world.run("gpu_audit", enforce=True)
    assert ran.failed
    assert ran.result["changed"] is True
    assert order == ["kube", "fleet"]
    assert fences(world) == standing("h100-vm")
    assert world.subjects() == ["Freeze h100-vm: hard-quota-above-equation"]
    assert freeze(world)["findings"] == ["hard-quota-above-equation"]
    assert freeze(world)["thawed"] is None
    assert tip[:12] in str(freeze(world)["audit"])
    assert freeze(world, "v100-vm") == {}
    assert world.settings()["GPU_VM_CREATION_ENABLED"] == "false"
    assert world.settings()["GPU_SHARED_CREATION_ENABLED"] == "true"
    assert ran.result["enforced"] == [
        "raise fence creation.h100-vm",
        "raise fence entitlement.h100-vm",
        "freeze sales of h100-vm",
        f"set GPU_VM_CREATION_ENABLED=false in {CONFIG_FILE}",
    ]
    require_nothing_taken(world, before)


def test_enforced_twice_is_enforced_once(world: CapacityWorld) -> None:
    oversold(fenced(world)).run("gpu_audit", enforce=True)
    with world.untouched():
        again = world.run("gpu_audit", enforce=True)
    assert again.failed
    assert again.result["changed"] is False
    assert again.result["enforced"] == []


def test_check_mode_enforces_nothing(world: CapacityWorld) -> None:
    oversold(fenced(world))
    with world.untouched():
        ran = world.run("gpu_audit", enforce=True, check=True)
    assert ran.failed
    assert len(ran.result["enforced"]) == 4
    assert fences(world) == {}


def test_a_passing_audit_enforces_nothing(world: CapacityWorld) -> None:
    fenced(world)
    with world.untouched():
        ran = world.run("gpu_audit", enforce=True)
    assert not ran.failed, ran.msg


def test_warnings_set_nothing_off(world: CapacityWorld) -> None:
    fenced(world)
    text = world.file(RECORD).replace("endsAt: ''", "endsAt: '2026-11-30T00:00:00Z'")
    assert text != world.file(RECORD)
    world.commit_file(RECORD, text)
    with world.untouched():
        ran = world.run("gpu_audit", enforce=True)
    assert not ran.failed, ran.msg
    assert "overdue-reservation" in {item["id"] for item in ran.result["findings"]}


def test_an_error_of_all_pools_freezes_all_of_them(world: CapacityWorld) -> None:
    fenced(world)
    world.alerts = world.alerts.model_copy(update={"readable": False})
    ran = world.run("gpu_audit", enforce=True)
    assert ids(ran) == ["active-alert"]
    assert fences(world) == standing("h100-vm", "v100-vm")
    assert freeze(world)["findings"] == freeze(world, "v100-vm")["findings"] == ["active-alert"]


def test_a_freeze_that_stands_keeps_its_history_and_a_thawed_one_is_replaced(world: CapacityWorld) -> None:
    stands = 'since: "2026-11-01T00:00:00Z"\naudit: earlier\nfindings: [active-alert]\nthawed: null\n'
    thaw = '{product: p, sre: s, reference: R-1, at: "2026-11-02T00:00:00Z"}'
    world.commit_files(
        {
            FREEZE.format("h100-vm"): stands,
            FREEZE.format("v100-vm"): stands.replace("null", thaw),
        }
    )
    fenced(world)
    world.alerts = world.alerts.model_copy(update={"readable": False})
    world.run("gpu_audit", enforce=True)
    assert freeze(world)["audit"] == "earlier"
    assert freeze(world, "v100-vm")["audit"] != "earlier"
    assert freeze(world, "v100-vm")["thawed"] is None


def test_a_lost_race_on_the_fleet_branch_is_read_again_and_nothing_is_lost(world: CapacityWorld) -> None:
    oversold(fenced(world))
    race = When("fleet push", lambda: world.commit_file("clusters/lab/other.env", "A=1\n"), times=3)
    with watched_by(race):
        ran = world.run("gpu_audit", enforce=True)
    assert race.left == 0
    assert ran.code == "hard-quota-above-equation"
    assert freeze(world)["thawed"] is None
    assert world.file("clusters/lab/other.env") == "A=1\n"
    assert world.subjects() == ["Freeze h100-vm: hard-quota-above-equation"]


def test_a_lock_in_somebodys_hands_is_neither_needed_nor_taken(world: CapacityWorld) -> None:
    locked(oversold(fenced(world)), closed=False)
    lock = world.refs()[f"refs/heads/{LOCK_BRANCH}"]
    world.run("gpu_audit", enforce=True)
    assert world.refs()[f"refs/heads/{LOCK_BRANCH}"] == lock
    assert freeze(world)["thawed"] is None


def test_fences_lowered_by_a_lock_that_is_let_go_meanwhile_are_raised_again(world: CapacityWorld) -> None:
    """Between fence and freeze a run lets its lock go and lowers the fences: nothing was frozen yet."""
    oversold(fenced(world))
    item = world.server.named(FENCE.rpartition("/")[0], "capacity-fence")
    with watched_by(When("fleet push", lambda: item.update(data=dict(INSTALLED)))):
        world.run("gpu_audit", enforce=True)
    assert fences(world) == standing("h100-vm")


@pytest.mark.parametrize("broken", ["devices: 0", "nonsense: 1"])
def test_an_invalid_ledger_closes_all_the_same(world: CapacityWorld, broken: str) -> None:
    fenced(world)
    before = entitlements(world)
    text = world.file(RECORD).replace("devices: 8", broken)
    assert text != world.file(RECORD)
    world.commit_file(RECORD, text)
    ran = world.run("gpu_audit", enforce=True)
    assert ran.failed
    assert set(ids(ran)) == {"ledger-invalid"}
    assert RECORD in ran.msg
    assert fences(world) == standing("h100-vm", "v100-vm")
    assert freeze(world)["findings"] == ["ledger-invalid"]
    assert world.settings()["GPU_VM_CREATION_ENABLED"] == "false"
    assert world.file(RECORD) == text
    require_nothing_taken(world, before)


def test_an_unreadable_lock_document_closes_all_the_same_and_lowers_no_fence(world: CapacityWorld) -> None:
    fenced(world)
    world.commit_file("lock.yaml", "pools: 1\n", branch=LOCK_BRANCH)
    ran = world.run("gpu_audit", enforce=True)
    assert "ledger-invalid" in ids(ran)
    assert fences(world) == standing("h100-vm", "v100-vm")


def test_an_unreadable_freeze_stands_and_is_not_written_over(world: CapacityWorld) -> None:
    fenced(world)
    world.commit_file(FREEZE.format("h100-vm"), "nonsense: 1\n")
    ran = world.run("gpu_audit", enforce=True)
    assert "ledger-invalid" in ids(ran)
    assert world.file(FREEZE.format("h100-vm")) == "nonsense: 1\n"
    assert freeze(world, "v100-vm")["thawed"] is None
    assert fences(world) == standing("h100-vm", "v100-vm")


@pytest.mark.parametrize("control", ["fence", "both"])
def test_fences_that_are_not_installed_are_a_clear_stop_and_keep_nothing_else_open(
    world: CapacityWorld, control: str
) -> None:
    oversold(fenced(world, control, installed=False))
    ran = world.run("gpu_audit", enforce=True)
    assert ran.failed
    assert ran.code == "enforcement-incomplete"
    assert "configmap/gpuops-system/capacity-fence does not exist" in ran.msg
    assert "playbooks/install.yml" in ran.msg
    assert ran.result["changed"] is True
    assert [step.split()[0] for step in ran.result["done"]] == ["freeze", "set"]
    assert freeze(world)["thawed"] is None
    assert world.settings()["GPU_VM_CREATION_ENABLED"] == "false"


def test_incomplete_enforcement_fails_even_where_failures_are_not_asked_for(world: CapacityWorld) -> None:
    ran = oversold(fenced(world, installed=False)).run("gpu_audit", enforce=True, fail_on_error=False)
    assert ran.failed
    assert ran.code == "enforcement-incomplete"


def test_gates_alone_need_no_fence(world: CapacityWorld) -> None:
    oversold(world)
    ran = world.run("gpu_audit", enforce=True)
    assert ran.code == "hard-quota-above-equation"
    assert world.server.writes == []
    assert freeze(world)["thawed"] is None


def test_a_gate_that_cannot_be_written_keeps_nothing_else_open(
    world: CapacityWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    oversold(fenced(world))
    assert not world.run("gpu_audit", fail_on_error=False).failed  # the ConfigMap has followed the fleet
    monkeypatch.setattr(world.server, "_follow_fleet", lambda: None)
    world.commit_file(CONFIG_FILE, None)
    ran = world.run("gpu_audit", enforce=True, wait_timeout=0)
    assert ran.code == "enforcement-incomplete"
    assert f"the fleet repository has no {CONFIG_FILE}" in ran.msg
    assert fences(world)["creation.h100-vm"]
    assert freeze(world)["thawed"] is None


def test_a_copy_of_the_gate_that_does_not_follow_is_told(
    world: CapacityWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    oversold(fenced(world))
    monkeypatch.setattr(world.server, "_follow_fleet", lambda: None)
    ran = world.run("gpu_audit", enforce=True, wait_timeout=0)
    assert ran.code == "enforcement-incomplete"
    assert "gate vm is not closed everywhere" in ran.msg
    assert "configmap open" in ran.msg
    assert freeze(world)["thawed"] is None


def test_a_fleet_that_takes_no_push_is_told_and_the_fences_stand(world: CapacityWorld) -> None:
    oversold(fenced(world))
    hook = world.fleet / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho not today >&2\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    ran = world.run("gpu_audit", enforce=True, wait_timeout=0)
    assert ran.code == "enforcement-incomplete"
    assert "sales are not frozen" in ran.msg
    assert fences(world) == standing("h100-vm")
    assert freeze(world) == {}


def test_a_pool_whose_device_is_not_known_is_told_and_the_rest_is_closed(world: CapacityWorld) -> None:
    fenced(world)
    plans = world.server.objects["/api/v1/namespaces/kube-dc/configmaps/gpu-profiles"]
    plans["data"] = {}
    ran = world.run("gpu_audit", enforce=True)
    assert ran.code == "enforcement-incomplete"
    assert "creation fence of h100-vm" in ran.msg
    assert "entitlement.h100-vm" in fences(world)
    assert freeze(world)["thawed"] is None


def test_only_the_pool_that_was_asked_for_is_enforced(world: CapacityWorld) -> None:
    fenced(world)
    world.alerts = world.alerts.model_copy(update={"readable": False})
    world.run("gpu_audit", enforce=True, profile_id="v100-vm")
    assert fences(world) == standing("v100-vm")
    assert freeze(world) == {}


# Reports


def test_reports_are_written_whole_and_say_the_same(world: CapacityWorld, tmp_path: Path) -> None:
    with world.untouched():
        ran = world.run("gpu_audit", check=True, report_dir=str(tmp_path))
    assert sorted(Path(name).name for name in ran.result["reports"]) == [
        "audit.html",
        "audit.json",
        "audit.md",
        "gpuops_reservations.prom",
    ]
    bundle = json.loads((tmp_path / "audit.json").read_text(encoding="utf-8"))
    assert bundle == ran.result["bundle"]
    before = {"h100-vm": {"headroom": 17}}
    after = world.run("gpu_audit", equations_before=before).result["bundle"]
    [pool] = [pool for pool in after["pools"] if pool["profile"] == "h100-vm"]
    assert pool["equation_before"] == {"headroom": 17}


def test_a_lock_of_a_ticket_is_in_the_bundle(world: CapacityWorld) -> None:
    world.commit_file("lock.yaml", lock_text(closed_for=()), branch=LOCK_BRANCH)
    [pool] = [p for p in world.run("gpu_audit").result["bundle"]["pools"] if p["profile"] == "h100-vm"]
    assert pool["lock"] == "lab-9"
