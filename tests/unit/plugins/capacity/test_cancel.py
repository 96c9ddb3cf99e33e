# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A cancellation, step by step: before and after entitlement, and refused."""

from __future__ import annotations

import pytest

from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.assignment import Refused
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.capacity_world import CapacityWorld
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.returning import cancel
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.stages import (
    RECORD_FILE,
    entitled,
    locked,
    pending,
    pending_text,
)

ORDINARY = {"gpu-h100-vm": 2}


def require_canceled(world: CapacityWorld) -> None:
    record = world.record("lab-9")
    assert record is not None
    assert record["spec"]["state"] == "canceled"
    assert record["status"]["reason"] == "canceled-before-activation"
    assert (record["status"]["activatedAt"], record["status"]["releasedAt"]) == ("", "")
    assert world.add_ons("borealis") == ORDINARY
    lock = world.lock()
    assert (lock["pools"], lock["gate"]["vm"]["closedFor"]) == ({}, [])


def test_before_entitlement_only_the_record_is_written(world: CapacityWorld) -> None:
    pending(world)
    cancel(world, "LAB-9")
    require_canceled(world)
    assert world.server.writes == []
    assert world.subjects() == ["gpu-res-lab-9: canceled"]


def test_a_gate_that_nobody_had_closed_is_not_closed_where_nothing_is_taken_back(
    world: CapacityWorld,
) -> None:
    world.commit_file(RECORD_FILE, pending_text())
    cancel(world, "LAB-9")
    require_canceled(world)
    assert world.settings()["GPU_VM_CREATION_ENABLED"] == "true"


def test_after_entitlement_it_is_taken_back_first(world: CapacityWorld) -> None:
    entitled(world)
    cancel(world, "LAB-9")
    require_canceled(world)
    assert len(world.server.writes) == 1
    with world.untouched():
        assert cancel(world, "LAB-9")["next_action"] == "nothing to do"


def test_entitlement_that_was_granted_under_a_broken_lock_is_taken_back(world: CapacityWorld) -> None:
    world.commit_file(RECORD_FILE, pending_text())
    world.server.entitle("borealis", {**ORDINARY, "gpu-h100-reserved": 8})
    cancel(world, "LAB-9")
    require_canceled(world)


def test_use_beyond_what_stays_keeps_record_and_entitlement(world: CapacityWorld) -> None:
    entitled(world)
    world.server.use("borealis", 3)
    with pytest.raises(Refused) as caught:
        cancel(world, "LAB-9")
    assert "borealis-ml/Pod/worker-0" in caught.value.ran.msg
    record = world.record("lab-9")
    assert record is not None
    assert record["spec"]["state"] == "pending"
    assert world.add_ons("borealis") == {**ORDINARY, "gpu-h100-reserved": 8}
    assert world.lock()["pools"]["h100-vm"]["ticket"] == "lab-9"


def test_use_of_what_stays_holds_nothing_up(world: CapacityWorld) -> None:
    entitled(world)
    world.server.use("borealis", 2)
    cancel(world, "LAB-9")
    require_canceled(world)


@pytest.mark.parametrize(
    ("ticket", "said"),
    [("LAB-0", "release it: playbooks/release.yml -e ticket=lab-0"), ("NONE-1", "nothing to cancel")],
)
def test_only_a_pending_record_is_canceled(world: CapacityWorld, ticket: str, said: str) -> None:
    with world.untouched(), pytest.raises(Refused) as caught:
        cancel(world, ticket)
    assert said in caught.value.ran.msg


def test_what_an_assignment_left_without_a_record_is_let_go_of(world: CapacityWorld) -> None:
    locked(world)
    cancel(world, "LAB-9")
    assert world.record("lab-9") is None
    assert (world.lock()["pools"], world.lock()["gate"]["vm"]["closedFor"]) == ({}, [])


def test_canceled_is_not_written_while_anything_is_entitled(world: CapacityWorld) -> None:
    entitled(world)
    ran = world.run("gpu_ledger_record", state="canceled", ticket="LAB-9", run_id="01RUN")
    assert (ran.failed, ran.code) == (True, "entitlement-not-taken-back")
