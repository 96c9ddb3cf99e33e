# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_invariant: the whole proof in one call, live or on a saved snapshot."""

from __future__ import annotations

import json

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
)

TERMS = {
    "healthy": 32,
    "reserved": {"pending": 0, "active": 8, "releasing": 0},
    "non_reserved": 6,
    "spare": 1,
    "headroom": 17,
    "holds": True,
}


def test_every_term_organization_and_node_is_shown(world: CapacityWorld) -> None:
    with world.untouched():
        ran = world.run("gpu_invariant", profile_id=POOL)
    assert (ran.failed, ran.result["changed"]) == (False, False)
    assert ran.result["equation"] == TERMS
    assert {node["node"] for node in ran.result["nodes"]} == {"gpu-01", "gpu-02", "gpu-03", "gpu-04"}
    assert {entry["organization"] for entry in ran.result["organizations"]} == {
        "aurora",
        "borealis",
        "cumulus",
    }
    assert {check["status"] for check in ran.result["checks"]} == {"pass"}


def test_an_order_is_added_on_top(world: CapacityWorld) -> None:
    ran = world.run("gpu_invariant", profile_id=POOL, purpose="assign", ticket="LAB-1")
    assert not ran.failed, ran.msg
    assert ran.result["equation"]["headroom"] == 17
    assert ran.result["equation_after"]["headroom"] == 9


def test_an_order_that_does_not_fit_fails_with_report_and_remedies(world: CapacityWorld) -> None:
    with world.untouched():
        ran = world.run("gpu_invariant", profile_id=POOL, purpose="assign", ticket="LAB-2")
    assert ran.failed
    assert ran.code == "order-exceeds-capacity"
    assert "lacks 1 devices" in ran.msg
    assert ran.result["equation_after"]["headroom"] == -1
    assert ran.result["remedies"]
    assert ran.result["error"]["next_action"]


def test_check_mode_reads_and_answers_the_same(world: CapacityWorld) -> None:
    checked = world.run("gpu_invariant", check=True, profile_id=POOL)
    read = set(world.server.reads)
    world.server.reads.clear()
    assert world.run("gpu_invariant", profile_id=POOL).result == checked.result
    assert set(world.server.reads) == read


def test_a_saved_snapshot_answers_the_same_offline_and_only_its_owner_reads_it(world: CapacityWorld) -> None:
    saved = world.folder / "snapshot.json"
    live = world.run("gpu_invariant", profile_id=POOL, save_snapshot=str(saved))
    assert saved.stat().st_mode & 0o777 == 0o600
    world.server.reads.clear()
    offline = world.run("gpu_invariant", profile_id=POOL, snapshot=str(saved), fleet_repo="/nowhere")
    assert offline.result == live.result
    assert world.server.reads == []
    assert sorted(path.name for path in world.folder.iterdir() if "snapshot" in path.name) == [
        "snapshot.json"
    ]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": "gpuops.reservations/snapshot/v0"}'])
def test_a_file_that_is_no_snapshot_is_refused(world: CapacityWorld, text: str) -> None:
    broken = world.folder / "broken.json"
    broken.write_text(text, encoding="utf-8")
    ran = world.run("gpu_invariant", profile_id=POOL, snapshot=str(broken))
    assert ran.failed
    assert ran.code == "snapshot-unreadable"
    assert "broken.json" in ran.msg


def test_a_snapshot_of_another_cluster_is_refused(world: CapacityWorld) -> None:
    saved = world.folder / "snapshot.json"
    world.run("gpu_invariant", profile_id=POOL, save_snapshot=str(saved))
    ran = world.run("gpu_invariant", profile_id=POOL, snapshot=str(saved), cluster="production")
    assert ran.failed
    assert ran.code == "snapshot-of-another-cluster"


def test_a_snapshot_that_cannot_be_saved_leaves_no_half_of_one(world: CapacityWorld) -> None:
    ran = world.run("gpu_invariant", profile_id=POOL, save_snapshot=str(world.folder / "no" / "s.json"))
    assert ran.failed
    assert ran.code == "file-not-saved"


def test_a_pool_that_nobody_approved_stops(world: CapacityWorld) -> None:
    ran = world.run("gpu_invariant", profile_id="a100-vm")
    assert ran.failed
    assert "a100-vm" in ran.msg


def test_a_finding_of_health_is_read_again_before_it_stops(world: CapacityWorld) -> None:
    node = world.server.named("/api/v1/nodes", "gpu-01")
    ready = next(item for item in node["status"]["conditions"] if item["type"] == "Ready")
    ready["status"] = "False"

    def back() -> None:
        ready["status"] = "True"

    reads = [0]

    class Second:
        def reached(self, site: str) -> None:
            if site == "kube GET /api/v1/nodes":
                reads[0] += 1
                if reads[0] == 3:
                    back()

    with watched_by(Second()):
        ran = world.run("gpu_invariant", profile_id=POOL)
    assert not ran.failed, ran.msg
    assert reads[0] == 3


CANARIES = ("GPU-6f0d1c9e-1111-2222-3333-444455556666", "0000:3b:00.0", "4111111111111111")


@pytest.mark.parametrize("canary", CANARIES)
def test_identifiers_in_objects_never_reach_a_result(world: CapacityWorld, canary: str) -> None:
    world.server.named("/api/v1/nodes", "gpu-01")["metadata"]["annotations"]["note"] = canary
    world.server.named("/api/v1/nodes", "gpu-01")["spec"]["taints"] = [
        {"key": "note", "value": canary, "effect": "NoSchedule"}
    ]
    pod = world.server.items(PODS)[0]
    pod["metadata"]["namespace"] = "elsewhere"
    pod["metadata"]["ownerReferences"] = []
    pod["metadata"]["name"] = f"pod-{canary}"
    ran = world.run("gpu_invariant", profile_id=POOL)
    assert ran.failed
    assert canary not in json.dumps(ran.result)
