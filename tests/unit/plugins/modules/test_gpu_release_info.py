# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_release_info: who holds what a record gives back."""

from __future__ import annotations

import pytest

from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.capacity_world import CapacityWorld
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.stages import entitled


def test_holders_are_named_with_what_stays(world: CapacityWorld) -> None:
    world.server.use("cumulus", 2)
    with world.untouched():
        ran = world.run("gpu_release_info", ticket="LAB-0")
    assert not ran.failed, ran.msg
    assert (ran.result["free"], ran.result["in_use"], ran.result["stays"]) == (False, True, 0)
    assert ran.result["reason"] == "waiting-for-holders"
    assert ran.result["uses"]["holders"] == 2
    assert ran.result["event"]["owners"][:2] == ["cumulus-lab/Pod/worker-0", "cumulus-lab/Pod/worker-1"]
    assert "ask the owners to stop their VMs normally" in ran.msg


def test_what_stays_entitled_may_stay_in_use(world: CapacityWorld) -> None:
    entitled(world)
    world.server.use("borealis", 2)
    with world.untouched():
        ran = world.run("gpu_release_info", ticket="LAB-9", wait=True)
    assert (ran.failed, ran.result["free"], ran.result["stays"]) == (False, True, 2)


def test_a_wait_that_runs_out_says_so_and_does_not_fail(world: CapacityWorld) -> None:
    entitled(world)
    world.server.use("borealis", 3)
    ran = world.run("gpu_release_info", ticket="LAB-9", wait=True, wait_timeout=0)
    assert (ran.failed, ran.result["free"]) == (False, False)
    assert "3 devices, 2 stay entitled" in ran.msg


def test_a_snapshot_gives_the_same_answer_offline(world: CapacityWorld, tmp_path: object) -> None:
    world.server.use("cumulus", 1)
    saved = str(world.folder / "snapshot.json")
    world.run("gpu_invariant", profile_id="h100-vm", purpose="show", save_snapshot=saved)
    live = world.run("gpu_release_info", ticket="LAB-0").result
    world.server.reads.clear()
    offline = world.run("gpu_release_info", ticket="LAB-0", snapshot=saved).result
    assert world.server.reads == []
    assert (offline["holders"], offline["uses"]) == (live["holders"], live["uses"])


@pytest.mark.parametrize("path", ["/api/v1/pods", "/apis/kube-dc.com/v1/projects"])
def test_what_cannot_be_read_is_no_yes(world: CapacityWorld, path: str) -> None:
    world.server.failing[path] = 403
    ran = world.run("gpu_release_info", ticket="LAB-0")
    assert ran.failed
    assert ran.result["error"]["class"] == "ObservationError"
