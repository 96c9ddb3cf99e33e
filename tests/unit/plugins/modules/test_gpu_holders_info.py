# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_holders_info: who uses a device, who waits for one."""

from __future__ import annotations

import json

import pytest

from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.api_server import (
    ORGANIZATIONS,
    PODS,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.capacity_world import (
    CapacityWorld,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.stages import (
    POOL,
)


def test_holders_are_named_by_owner(world: CapacityWorld) -> None:
    with world.untouched():
        ran = world.run("gpu_holders_info", profile_id=POOL)
    assert (ran.failed, ran.result["changed"]) == (False, False)
    assert len(ran.result["holders"]) == 2
    assert {holder["organization"] for holder in ran.result["holders"]} == {"aurora"}
    assert "inference-1" in json.dumps(ran.result["holders"])
    assert ran.result["claimants"] == []


def test_one_organizations_holders(world: CapacityWorld) -> None:
    assert world.run("gpu_holders_info", profile_id=POOL, organization="borealis").result["holders"] == []
    assert len(world.run("gpu_holders_info", profile_id=POOL, organization="aurora").result["holders"]) == 2


def test_another_profiles_holders_are_not_this_ones(world: CapacityWorld) -> None:
    assert world.run("gpu_holders_info", profile_id="v100-vm").result["holders"] == []


def test_check_mode_reads_and_answers_the_same(world: CapacityWorld) -> None:
    checked = world.run("gpu_holders_info", check=True, profile_id=POOL)
    read = set(world.server.reads)
    world.server.reads.clear()
    assert world.run("gpu_holders_info", profile_id=POOL).result == checked.result
    assert set(world.server.reads) == read


def test_a_holder_of_nobody_is_a_failed_check_and_still_listed(world: CapacityWorld) -> None:
    pod = json.loads(json.dumps(world.server.items(PODS)[0]))
    pod["metadata"].update(name="stray", namespace="elsewhere", uid="stray", ownerReferences=[])
    world.server.items(PODS).append(pod)
    ran = world.run("gpu_holders_info", profile_id=POOL)
    assert "unattributed-holder" in {
        check["id"] for check in ran.result["checks"] if check["status"] != "pass"
    }
    assert len(ran.result["holders"]) == 3


def test_a_pending_pod_is_a_claimant(world: CapacityWorld) -> None:
    pod = json.loads(json.dumps(world.server.items(PODS)[0]))
    pod["metadata"].update(name="waits", uid="waits", ownerReferences=[])
    pod["spec"].pop("nodeName")
    pod["status"] = {"phase": "Pending"}
    world.server.items(PODS).append(pod)
    ran = world.run("gpu_holders_info", profile_id=POOL)
    assert "waits" in json.dumps(ran.result["claimants"])


def test_a_profile_that_nothing_names_is_an_error(world: CapacityWorld) -> None:
    ran = world.run("gpu_holders_info", profile_id="a100-vm")
    assert ran.failed
    assert ran.code == "profile-unfit"


@pytest.mark.parametrize("path", [PODS, ORGANIZATIONS, "/apis/kubevirt.io/v1/virtualmachineinstances"])
def test_what_cannot_be_read_is_not_nobody(world: CapacityWorld, path: str) -> None:
    world.server.failing[path] = 403
    ran = world.run("gpu_holders_info", profile_id=POOL)
    assert ran.failed
    assert ran.result["error"]["class"] == "ObservationError"
