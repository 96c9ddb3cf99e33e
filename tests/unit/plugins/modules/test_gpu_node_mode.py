# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_node_mode: one node from one mode to another, cordoned on the way, with nothing written in doubt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.api_reply import Reply
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.api_server import PODS
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.capacity_world import (
    CapacityWorld,
    Ran,
)

NODES = "/api/v1/nodes"
NODE = f"{NODES}/acc-01"
CONFIG = "clusters/lab/cluster-config.env"
RULES = "clusters/lab/gpu-node-modes/nodefeaturerule.yaml"
ACTIVE = "kube-dc.com/gpu.workload-mode"
EXPECTED = "kube-dc.com/gpu.expected-workload-mode"
CORDON = "gpuops.reservations/cordon"
PLUGINS = {"pod-hami": "hami-device-plugin", "vm-passthrough": "nvidia-sandbox-device-plugin-daemonset"}
TO_VM = {"node": "acc-01", "from_mode": "pod-hami", "to_mode": "vm-passthrough"}


@pytest.fixture
def closed(world: CapacityWorld) -> CapacityWorld:
    """Both gates are closed, and labels and plugins follow the fleet's rule at every read."""
    text = world.file(CONFIG)
    for gate in ("GPU_SHARED_CREATION_ENABLED", "GPU_VM_CREATION_ENABLED"):
        text = text.replace(f"{gate}=true", f"{gate}=false")
    world.commit_file(CONFIG, text)
    arrive(world)
    before_reads(world, lambda: arrive(world))
    return world


def before_reads(world: CapacityWorld, then: Callable[[], None]) -> None:
    """What the platform does before each look at the node."""
    server: Any = world.server
    read = server.read

    def follow(path: str, query: Mapping[str, str] | None = None) -> Reply:
        if path == NODE:
            then()
        reply: Reply = read(path, query)
        return reply

    server.read = follow


def mode_in_fleet(world: CapacityWorld) -> str:
    rules = world.file(RULES)
    return next(mode for mode in PLUGINS if f"acc-01-{mode}" in rules)


def arrive(world: CapacityWorld) -> None:
    """The node's labels and its plugin as the rule has them."""
    mode = mode_in_fleet(world)
    node = world.server.named(NODES, "acc-01")
    node["metadata"]["labels"].update({ACTIVE: mode, EXPECTED: mode})
    pods = world.server.items(PODS)
    pods[:] = [
        pod for pod in pods if pod["spec"].get("nodeName") != "acc-01" or "held" in pod["metadata"]["name"]
    ]
    owner = {"kind": "DaemonSet", "name": PLUGINS[mode], "uid": "1", "controller": True}
    pods.append(
        {
            "metadata": {
                "name": "plugin",
                "namespace": "gpu-operator",
                "uid": "p",
                "ownerReferences": [owner],
            },
            "spec": {"nodeName": "acc-01", "containers": []},
            "status": {"phase": "Running"},
        }
    )


def hold(world: CapacityWorld) -> None:
    world.server.items(PODS).append(
        {
            "metadata": {"name": "held-0", "namespace": "borealis-ml", "uid": "h"},
            "spec": {
                "nodeName": "acc-01",
                "containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "1"}}}],
            },
            "status": {"phase": "Running"},
        }
    )


def move(world: CapacityWorld, *, check: bool = False, **options: Any) -> Ran:
    return world.run("gpu_node_mode", check=check, **{**TO_VM, "poll": 0.01, "timeout": 0.05, **options})


def node(world: CapacityWorld) -> dict[str, Any]:
    return world.server.named(NODES, "acc-01")


def test_a_free_node_moves_with_two_patches_and_one_commit(closed: CapacityWorld) -> None:
    ran = move(closed)
    assert not ran.failed, ran.msg
    assert [(method, path) for method, path, _ in closed.server.writes] == [("PATCH", NODE), ("PATCH", NODE)]
    first, last = (body for _, _, body in closed.server.writes)
    assert first["spec"] == {"unschedulable": True}
    assert set(first["metadata"]) == {"annotations", "resourceVersion"}
    assert last["spec"] == {"unschedulable": False}
    assert last["metadata"]["annotations"] == {CORDON: None}
    assert mode_in_fleet(closed) == "vm-passthrough"
    assert "acc-01=vm-passthrough" in closed.file(CONFIG)
    assert closed.subjects() == ["Move node acc-01 from pod-hami to vm-passthrough"]
    assert ran.result["revision"] == closed.refs()["refs/heads/main"]
    assert closed.lock()["pools"] == {}
    assert [diff["before_header"] for diff in ran.result["diff"]] == [RULES, CONFIG]
    assert not node(closed)["spec"]["unschedulable"]


def test_the_second_run_changes_nothing(closed: CapacityWorld) -> None:
    move(closed)
    hold(closed)
    with closed.untouched():
        again = move(closed)
    assert not again.failed
    assert again.result["changed"] is False
    assert again.result["revision"] == ""


def test_check_mode_makes_the_same_reads_and_no_write(closed: CapacityWorld) -> None:
    with closed.untouched():
        planned = move(closed, check=True)
    assert not planned.failed
    assert planned.result["changed"] is True
    assert planned.result["plan"][0] == "take the lock of pool v100-vm as transition:acc-01"
    read = set(closed.server.reads)
    closed.server.reads.clear()
    made = move(closed)
    assert read == set(closed.server.reads)
    assert made.result["plan_digest"] == planned.result["plan_digest"]
    assert planned.result["diff"] == made.result["diff"]


def test_open_gates_are_refused_and_only_a_preview_may_look_past_them(world: CapacityWorld) -> None:
    arrive(world)
    with world.untouched():
        assert move(world).code == "creation-gate"
        assert move(world, gates_closed_first=True).code == "creation-gate"
        preview = move(world, check=True, gates_closed_first=True)
    assert not preview.failed
    assert preview.result["plan"][0] == "close both creation gates"


@pytest.mark.parametrize("check", [True, False])
def test_a_holder_is_named_and_nothing_is_written(closed: CapacityWorld, check: bool) -> None:
    hold(closed)
    with closed.untouched():
        ran = move(closed, check=check)
    assert ran.code == "holders"
    assert "borealis-ml/Pod/held-0" in ran.msg
    assert ran.result["holders"] == [
        {"namespace": "borealis-ml", "kind": "Pod", "name": "held-0", "resources": ["nvidia.com/gpu"]}
    ]
    assert ran.result["cordoned"] is False


@pytest.mark.parametrize("path", [NODE, PODS])
def test_what_cannot_be_read_is_no_yes(closed: CapacityWorld, path: str) -> None:
    closed.server.failing[path] = 403
    with closed.untouched():
        ran = move(closed)
    assert ran.failed
    assert ran.result["error"]["class"] == "ObservationError"
    assert "cannot be read" in ran.msg


def test_another_writers_conflicts_are_bounded_and_nothing_is_left(closed: CapacityWorld) -> None:
    write = closed.server.write
    server: Any = closed.server

    def conflicting(method: str, path: str, **more: Any) -> Reply:
        closed.server.touch(node(closed)["metadata"])
        return write(method, path, **more)

    server.write = conflicting
    ran = move(closed)
    assert ran.result["error"]["class"] == "ConflictError"
    assert ran.result["changed"] is False
    assert len(closed.server.writes) == 5
    assert "unschedulable" not in node(closed)["spec"] or not node(closed)["spec"]["unschedulable"]
    assert closed.lock()["pools"] == {}
    assert closed.subjects() == []


def test_out_of_time_leaves_commit_cordon_and_lock_and_resumes(closed: CapacityWorld) -> None:
    server: Any = closed.server
    follow = server.read
    del server.read  # the class's own: the platform stands still
    stopped = move(closed)
    assert stopped.code == "arrival-timeout"
    assert stopped.result["changed"] is True
    assert stopped.result["cordoned"] is True
    assert stopped.result["revision"] == closed.refs()["refs/heads/main"]
    assert stopped.result["remaining"][0].startswith("wait for vm-passthrough")
    assert stopped.result["event"]["kind"] == "transition-stopped"
    assert '"by": "transition"' in node(closed)["metadata"]["annotations"][CORDON]
    assert closed.lock()["pools"]["v100-vm"]["ticket"] == "transition:acc-01"
    server.read = follow
    with closed.untouched():
        assert move(closed).code == "cordon"
    resumed = move(closed, resume_cordoned=True)
    assert not resumed.failed, resumed.msg
    assert closed.subjects() == ["Move node acc-01 from pod-hami to vm-passthrough"]
    assert CORDON not in node(closed)["metadata"]["annotations"]
    assert closed.lock()["pools"] == {}


def test_a_smoke_cycle_without_quota_is_refused_before(closed: CapacityWorld) -> None:
    with closed.untouched():
        ran = move(closed, smoke_organization="borealis", smoke_project="nowhere")
    assert ran.code == "smoke-quota"
    assert "borealis/nowhere" in ran.msg


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"to_mode": "vm-vgpu"}, "mode-unsupported"),
        ({"to_mode": "pod-hami"}, "mode-pair-pointless"),
        ({"node": "ACC"}, "node-invalid"),
        ({"timeout": 0}, "timing-invalid"),
        ({"cluster": ""}, "option-missing"),
    ],
)
def test_a_wrong_request_reads_nothing(world: CapacityWorld, options: dict[str, Any], code: str) -> None:
    ran = move(world, **options)
    assert ran.code == code
    assert world.server.reads == []
