# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The fences follow locks and freezes, through races, and are never lowered on a guess."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.callsites import watched_by
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.connection import (
    ConnectionOptions,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.fleet import FleetRepository
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.kube import KubeClient
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import (
    ConflictError,
    ObservationError,
    PolicyBlocked,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.fences import (
    FencedWorld,
    FencePlace,
    keep_fences,
    raise_fences,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.capacity_world import CapacityWorld
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.fenced import (
    CONFIGMAPS,
    FENCE,
    fenced,
    fences,
    standing,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.stages import (
    LOCK_BRANCH,
    POOL,
    RUN,
    When,
    lock_text,
)

NOBODY = lock_text(closed_for=()).split("gate:")[1]
FREE = f"pools: {{}}\ngate:{NOBODY}"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[CapacityWorld]:
    made = CapacityWorld(tmp_path / "world")
    with made.reached():
        yield made


def place(world: CapacityWorld) -> FencePlace:
    return FencePlace("lab", FleetRepository(str(world.fleet)), KubeClient.connect(ConnectionOptions()))


def lock(world: CapacityWorld, ticket: str = "lab-9") -> None:
    world.commit_file("lock.yaml", lock_text(ticket, closed_for=()), branch=LOCK_BRANCH)


def unlock(world: CapacityWorld) -> None:
    world.commit_file("lock.yaml", FREE, branch=LOCK_BRANCH)


def test_a_lock_raises_both_fences_and_letting_go_lowers_them(world: CapacityWorld) -> None:
    fenced(world)
    assert keep_fences(place(world)) == {}
    lock(world)
    assert keep_fences(place(world), {"lab-9": "borealis-ml"}) == fences(world)
    assert fences(world) == standing(POOL, may_start="borealis-ml/gpu-smoke-lab-9")
    assert keep_fences(place(world)) == {}
    unlock(world)
    assert keep_fences(place(world)) == dict.fromkeys(standing(POOL))
    assert fences(world) == {}


@pytest.mark.parametrize("holder", ["transition:gpu-01", "reservation:foo"])
def test_a_transition_and_a_node_reservation_let_no_vm_start(world: CapacityWorld, holder: str) -> None:
    lock(fenced(world), holder)
    keep_fences(place(world))
    assert fences(world) == standing(POOL)


def test_gates_alone_need_no_fence_and_read_none(world: CapacityWorld) -> None:
    lock(world)
    assert keep_fences(place(world)) == {}
    assert raise_fences(place(world), (POOL,), check_mode=False) == {}
    assert world.server.reads == []


@pytest.mark.parametrize("control", ["fence", "both"])
def test_fences_that_are_not_installed_are_a_clear_stop(world: CapacityWorld, control: str) -> None:
    lock(fenced(world, control, installed=False))
    for work in (
        lambda: keep_fences(place(world)),
        lambda: raise_fences(place(world), (POOL,), check_mode=False),
    ):
        with pytest.raises(PolicyBlocked, match="capacity-fence does not exist") as caught:
            work()
        assert caught.value.code == "fence-missing"
        assert "install.yml" in caught.value.next_action
    assert keep_fences(place(world), installed=False) == {}


def test_taking_a_lock_without_fences_installed_stops_naming_what_to_do(world: CapacityWorld) -> None:
    fenced(world, installed=False)
    ran = world.run("gpu_lock", state="held", profile_id=POOL, **RUN)
    assert ran.failed
    assert ran.code == "fence-missing"
    assert "playbooks/install.yml" in ran.msg


def test_a_lock_that_is_taken_between_look_and_write_keeps_its_fence(world: CapacityWorld) -> None:
    lock(fenced(world))
    keep_fences(place(world))
    unlock(world)
    with watched_by(When("kube PATCH", lambda: lock(world, "lab-7"))):
        keep_fences(place(world))
    assert fences(world) == standing(POOL)


def test_a_lost_race_on_the_parameters_is_looked_at_again(world: CapacityWorld) -> None:
    lock(fenced(world))
    [config] = world.server.items(CONFIGMAPS)
    race = When("kube PATCH", lambda: world.server.touch(config["metadata"]), times=3)
    with watched_by(race):
        keep_fences(place(world))
    assert race.left == 0
    assert fences(world) == standing(POOL)


@pytest.mark.parametrize(
    "work", [keep_fences, functools.partial(raise_fences, pools=(POOL,), check_mode=False)]
)
def test_a_race_that_is_always_lost_ends_as_a_conflict(
    world: CapacityWorld, work: Callable[[FencedWorld], object]
) -> None:
    lock(fenced(world))
    [config] = world.server.items(CONFIGMAPS)
    race = When("kube PATCH", lambda: world.server.touch(config["metadata"]), times=1000)
    with watched_by(race), pytest.raises(ConflictError):
        work(place(world))
    assert fences(world) == {}


def test_an_invalid_ledger_or_lock_lowers_nothing(world: CapacityWorld) -> None:
    lock(fenced(world))
    keep_fences(place(world))
    unlock(world)
    world.commit_file("gpu-reservations/lab/records/gpu-res-x.yaml", "nonsense: 1\n")
    with pytest.raises(ObservationError):
        keep_fences(place(world))
    world.commit_file("gpu-reservations/lab/records/gpu-res-x.yaml", None)
    world.commit_file("lock.yaml", "pools: 1\n", branch=LOCK_BRANCH)
    with pytest.raises(ObservationError):
        keep_fences(place(world))
    raise_fences(place(world), ("v100-vm",), check_mode=False)
    assert fences(world) == standing(POOL, "v100-vm")


def test_raising_keeps_what_the_locks_holder_was_allowed_and_lowers_nothing(world: CapacityWorld) -> None:
    lock(fenced(world))
    keep_fences(place(world), {"lab-9": "borealis-ml"})
    before = fences(world)
    assert raise_fences(place(world), (POOL,), check_mode=False) == {}
    unlock(world)
    assert raise_fences(place(world), ("v100-vm",), check_mode=False) == standing("v100-vm")
    assert fences(world) == before | standing("v100-vm")


def test_a_fence_keeps_its_device_while_the_catalogue_names_none(world: CapacityWorld) -> None:
    lock(fenced(world))
    keep_fences(place(world))
    world.server.objects["/api/v1/namespaces/kube-dc/configmaps/gpu-profiles"]["data"] = {}
    assert keep_fences(place(world)) == {}
    assert fences(world) == standing(POOL)
    with pytest.raises(PolicyBlocked, match=r"creation fence of v100-vm") as caught:
        raise_fences(place(world), (POOL, "v100-vm"), check_mode=False)
    assert caught.value.code == "fence-impossible"
    assert fences(world).keys() == {*standing(POOL), "entitlement.v100-vm"}


def test_check_mode_raises_nothing(world: CapacityWorld) -> None:
    fenced(world)
    with world.untouched():
        assert raise_fences(place(world), (POOL,), check_mode=True) == standing(POOL)


def test_another_cluster_is_not_written_to(world: CapacityWorld) -> None:
    lock(fenced(world))
    world.edit_policy(clusterUid="11111111-2222-3333-4444-555555555555")
    with world.untouched(), pytest.raises(ObservationError, match="another cluster"):
        keep_fences(place(world))
    assert FENCE not in world.server.reads
