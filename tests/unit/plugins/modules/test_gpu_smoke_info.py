# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_smoke_info: each stage of the smoke cycle is judged by what stands in the cluster."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.callsites import (
    watched_by,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.api_server import (
    PODS,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.capacity_world import (
    CapacityWorld,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.stages import (
    POOL,
    entitled,
)

NAME, NAMESPACE = "gpu-smoke-lab-9", "borealis-ml"
VMS = "/apis/kubevirt.io/v1/virtualmachines"
VMIS = "/apis/kubevirt.io/v1/virtualmachineinstances"
H100 = "nvidia.com/GH100_H100_SXM5_80GB"


def machine(world: CapacityWorld, *, uid: str = "uid-1", devices: int = 1, ready: bool = True) -> None:
    """The smoke VM with its instance and launcher."""
    world.server.items(VMS).append(
        {
            "metadata": {"name": NAME, "namespace": NAMESPACE},
            "spec": {
                "runStrategy": "Always",
                "template": {"spec": {"domain": {"devices": {"gpus": [{"name": "g", "deviceName": H100}]}}}},
            },
        }
    )
    conditions = [
        {"type": "LiveMigratable", "status": "False", "reason": "HostDeviceNotLiveMigratable"},
        {"type": "Ready", "status": "True" if ready else "False"},
    ]
    world.server.items(VMIS).append(
        {
            "metadata": {"name": NAME, "namespace": NAMESPACE, "uid": uid},
            "spec": {"domain": {"devices": {"gpus": [{"name": "g", "deviceName": H100}]}}},
            "status": {"phase": "Running", "conditions": conditions, "nodeName": "gpu-03"},
        }
    )
    asked = {"requests": {H100: str(devices)}, "limits": {H100: str(devices)}}
    owner = {"kind": "VirtualMachineInstance", "name": NAME, "uid": uid, "controller": True}
    world.server.items(PODS).append(
        {
            "metadata": {"name": "launcher", "namespace": NAMESPACE, "uid": "p", "ownerReferences": [owner]},
            "spec": {"containers": [{"name": "compute", "resources": asked}], "nodeName": "gpu-03"},
            "status": {"phase": "Running"},
        }
    )


def judge(world: CapacityWorld, stage: str, **more: Any) -> Any:
    asked: dict[str, Any] = {
        "stage": stage,
        "name": NAME,
        "namespace": NAMESPACE,
        "profile_id": POOL,
        "wait_timeout": 0,
    }
    with world.untouched():
        ran = world.run("gpu_smoke_info", **{**asked, **more})
    assert not ran.failed, ran.msg
    assert ran.result["changed"] is False
    return ran


def failing(ran: Any) -> list[str]:
    return [check["id"] for check in ran.result["checks"] if check["status"] != "pass"]


def test_before_nobody_waits_and_quota_is_free(world: CapacityWorld) -> None:
    entitled(world)
    ran = judge(world, "before")
    assert ran.result["passed"], ran.msg


def test_before_a_pending_claimant_stops_it_by_name(world: CapacityWorld) -> None:
    entitled(world)
    world.server.use("borealis", 1)
    pod = world.server.items(PODS)[-1]
    pod["status"] = {"phase": "Pending"}
    del pod["spec"]["nodeName"]
    ran = judge(world, "before")
    assert failing(ran) == ["pending-claimant"]
    assert "worker-0" in ran.msg
    assert "Next:" in ran.msg


@pytest.mark.parametrize(
    ("hard", "used", "passed"), [("2", "2", False), ("2", "1", True), ("0x2", "0", False)]
)
def test_before_quota_has_to_have_room(world: CapacityWorld, hard: str, used: str, passed: bool) -> None:
    key = f"requests.{H100}"
    quotas = world.server.items("/api/v1/resourcequotas")
    quota = next(item for item in quotas if item["metadata"]["namespace"] == NAMESPACE)
    quota["spec"]["hard"][key] = hard
    quota["status"] = {"hard": {key: hard}, "used": {key: used}}
    ran = judge(world, "before")
    assert ran.result["passed"] is passed
    if not passed:
        assert "smoke-quota" in failing(ran)


def test_running_with_its_device_and_a_guest_that_sees_it(world: CapacityWorld) -> None:
    machine(world)
    ran = judge(world, "running")
    assert ran.result["passed"], ran.msg
    assert ran.result["uid"] == "uid-1"
    assert [check["id"] for check in ran.result["checks"]] == [
        "smoke-instance", "smoke-launcher", "smoke-not-migratable", "smoke-guest",
    ]  # fmt: skip


def test_a_guest_that_never_reports_its_device_is_no_pass(world: CapacityWorld) -> None:
    machine(world, ready=False)
    assert failing(judge(world, "running")) == ["smoke-guest"]


@pytest.mark.parametrize("devices", [0, 2])
def test_a_launcher_with_another_number_of_devices_ends_the_wait_at_once(
    world: CapacityWorld, devices: int
) -> None:
    machine(world, devices=devices)
    assert "smoke-launcher" in failing(judge(world, "running", wait_timeout=600))


def test_after_a_start_it_has_to_be_another_instance(world: CapacityWorld) -> None:
    machine(world)
    assert failing(judge(world, "running", previous_uid="uid-1")) == ["smoke-instance"]
    assert judge(world, "running", previous_uid="uid-0").result["passed"]


def test_stopped_and_gone(world: CapacityWorld) -> None:
    machine(world)
    assert failing(judge(world, "stopped")) == ["smoke-device-free"]
    world.server.items(VMIS).pop()
    world.server.items(PODS).pop()
    assert judge(world, "stopped").result["passed"]
    assert failing(judge(world, "gone")) == ["smoke-vm-gone"]
    world.server.items(VMS).pop()
    assert judge(world, "gone").result["passed"]


def test_a_wait_ends_when_the_guest_reports(world: CapacityWorld) -> None:
    machine(world, ready=False)
    looks = [0]

    class Third:
        def reached(self, site: str) -> None:
            if site == f"kube GET {VMIS}":
                looks[0] += 1
                if looks[0] == 3:
                    world.server.items(VMIS)[-1]["status"]["conditions"][-1]["status"] = "True"

    with watched_by(Third()):
        assert judge(world, "running", wait_timeout=60).result["passed"]


def test_check_mode_reads_and_answers_the_same(world: CapacityWorld) -> None:
    machine(world)
    asked: dict[str, Any] = {"stage": "running", "name": NAME, "namespace": NAMESPACE, "profile_id": POOL}
    checked = world.run("gpu_smoke_info", check=True, **asked)
    assert world.run("gpu_smoke_info", **asked).result == checked.result


@pytest.mark.parametrize("stage", ["before", "running", "stopped", "gone"])
def test_what_cannot_be_read_is_an_error_and_no_empty_namespace(world: CapacityWorld, stage: str) -> None:
    world.server.failing[VMIS] = 403
    asked: dict[str, Any] = {
        "stage": stage,
        "name": NAME,
        "namespace": NAMESPACE,
        "profile_id": POOL,
        "wait_timeout": 0,
    }
    ran = world.run("gpu_smoke_info", **asked)
    assert ran.failed
    assert ran.result["error"]["class"] == "ObservationError"
