# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_lock: one holder of a pool at a time, by compare-and-swap, told by name."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.callsites import (
    watched_by,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.capacity_world import (
    CapacityWorld,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.stages import (
    LOCK_BRANCH,
    POOL,
    RUN,
    RUN_ID,
    TICKET,
    When,
    lock_text,
    locked,
    pending,
)

HELD: dict[str, Any] = {"state": "held", "profile_id": POOL}


def test_a_free_pool_is_taken_with_ticket_run_and_time(world: CapacityWorld) -> None:
    ran = world.run("gpu_lock", **HELD, **RUN)
    assert not ran.failed, ran.msg
    lock = world.lock()["pools"][POOL]
    assert (lock["ticket"], lock["run"], lock["step"]) == ("lab-9", RUN_ID, "freeze")
    assert lock["since"].endswith("Z")
    assert (ran.result["changed"], ran.result["taken_over"]) == (True, False)
    assert ran.result["plan"] == ["lock pool h100-vm for lab-9"]
    [diff] = ran.result["diff"]
    assert "lab-9" not in diff["before"]
    assert "lab-9" in diff["after"]
    assert world.subjects(LOCK_BRANCH) == ["Lock h100-vm for lab-9"]
    assert world.subjects() == []
    assert world.server.writes == []


def test_the_same_run_takes_it_once(world: CapacityWorld) -> None:
    world.run("gpu_lock", **HELD, **RUN)
    with world.untouched():
        ran = world.run("gpu_lock", **HELD, **RUN)
    assert not ran.failed
    assert ran.result["changed"] is False
    assert ran.result["plan"] == []
    assert "diff" not in ran.result


def test_the_tickets_next_run_takes_over(world: CapacityWorld) -> None:
    locked(world)
    ran = world.run("gpu_lock", **HELD, ticket=TICKET, run_id="02RUN")
    assert (ran.result["changed"], ran.result["taken_over"]) == (True, True)
    assert world.lock()["pools"][POOL]["run"] == "02RUN"


def test_check_mode_plans_from_the_same_reads_and_pushes_nothing(world: CapacityWorld) -> None:
    with world.untouched():
        planned = world.run("gpu_lock", check=True, **HELD, **RUN)
    read = set(world.server.reads)
    world.server.reads.clear()
    made = world.run("gpu_lock", **HELD, **RUN)
    assert set(world.server.reads) == read
    assert planned.result["changed"]
    assert planned.result["plan_digest"] == made.result["plan_digest"]


@pytest.mark.parametrize("check", [False, True])
def test_a_pool_that_another_holds_is_refused_naming_who_since_when_and_where(
    world: CapacityWorld, check: bool
) -> None:
    locked(world)
    with world.untouched():
        ran = world.run("gpu_lock", check=check, **HELD, ticket="LAB-3", run_id="03RUN")
    assert ran.failed
    assert ran.code == "lock-held"
    assert "lab-9" in ran.msg
    assert "2026-12-01T00:00:00Z" in ran.msg
    assert "step freeze" in ran.msg
    assert "playbooks/lock.yml" in ran.result["error"]["next_action"]


def test_wait_takes_it_once_the_other_has_let_go(world: CapacityWorld) -> None:
    locked(world)
    gone = lock_text().replace("ticket: lab-9", "ticket: lab-9")
    document = yaml.safe_load(gone)
    document["pools"] = {}
    text = yaml.safe_dump(document)
    freed = When("kube GET /version", lambda: world.commit_file("lock.yaml", text, branch=LOCK_BRANCH))
    with watched_by(freed):
        ran = world.run("gpu_lock", wait=60, **HELD, ticket="LAB-3", run_id="03RUN")
    assert not ran.failed, ran.msg
    assert world.lock()["pools"][POOL]["ticket"] == "lab-3"


def test_of_two_that_race_one_gets_it_and_the_other_is_told(world: CapacityWorld) -> None:
    raced = When("fleet push", lambda: world.commit_file("lock.yaml", lock_text("lab-3"), branch=LOCK_BRANCH))
    with watched_by(raced):
        ran = world.run("gpu_lock", **HELD, **RUN)
    assert ran.failed
    assert ran.code == "lock-held"
    assert world.lock()["pools"][POOL]["ticket"] == "lab-3"
    assert world.subjects(LOCK_BRANCH) == []


def test_letting_go_twice_is_once(world: CapacityWorld) -> None:
    locked(world)
    ran = world.run("gpu_lock", state="released", profile_id=POOL, **RUN)
    assert (ran.failed, ran.result["changed"]) == (False, True)
    assert world.lock()["pools"] == {}
    with world.untouched():
        again = world.run("gpu_lock", state="released", profile_id=POOL, **RUN)
    assert (again.failed, again.result["changed"]) == (False, False)


def test_another_runs_lock_is_not_let_go(world: CapacityWorld) -> None:
    locked(world, run_id="02RUN")
    with world.untouched():
        ran = world.run("gpu_lock", state="released", profile_id=POOL, **RUN)
    assert ran.failed
    assert ran.code == "lock-lost"


def test_unless_recorded_keeps_the_lock_of_a_pending_record(world: CapacityWorld) -> None:
    pending(world)
    with world.untouched():
        ran = world.run("gpu_lock", state="released", profile_id=POOL, unless_recorded=True, **RUN)
    assert not ran.failed
    assert "stays locked" in ran.msg


def test_info_names_holders_and_gates_and_writes_nothing(world: CapacityWorld) -> None:
    locked(world)
    with world.untouched():
        ran = world.run("gpu_lock", state="info")
    assert ran.result["lock"] == world.lock()
    assert any("lab-9" in line for line in ran.result["summary"])


def test_breaking_names_ticket_and_reason_and_leaves_the_gate(world: CapacityWorld) -> None:
    locked(world)
    asked: dict[str, Any] = {
        "state": "broken",
        "profile_id": POOL,
        "ticket": TICKET,
        "reason": "operator left",
    }
    wrong = world.run("gpu_lock", **{**asked, "ticket": "LAB-3"})
    assert wrong.code == "lock-not-held"
    ran = world.run("gpu_lock", **asked)
    assert not ran.failed, ran.msg
    assert world.lock()["pools"] == {}
    assert world.lock()["gate"]["vm"]["closedFor"] == ["lab-9"]
    assert "operator left" in world.subjects(LOCK_BRANCH)[-1]


def test_a_pool_that_the_policy_does_not_have_is_not_locked(world: CapacityWorld) -> None:
    with world.untouched():
        ran = world.run("gpu_lock", state="held", profile_id="a100-vm", **RUN)
    assert ran.code == "pool-not-approved"
    assert "h100-vm" in ran.msg


@pytest.mark.parametrize("text", ["pools: {", "pools: {}\n", "pools: {}\npools: {}\n"])
def test_a_lock_document_that_cannot_be_read_stops_it(world: CapacityWorld, text: str) -> None:
    world.commit_file("lock.yaml", text, branch=LOCK_BRANCH)
    with world.untouched():
        ran = world.run("gpu_lock", **HELD, **RUN)
    assert ran.failed
    assert ran.code == "ledger-invalid"
    assert "lock.yaml" in ran.msg


def test_a_lock_document_that_was_deleted_stops_it(world: CapacityWorld) -> None:
    locked(world)
    world.commit_file("lock.yaml", None, branch=LOCK_BRANCH)
    world.commit_file("other", "x", branch=LOCK_BRANCH)
    ran = world.run("gpu_lock", **HELD, **RUN)
    assert ran.failed
    assert "never deleted" in ran.msg


def test_another_cluster_is_not_locked(world: CapacityWorld) -> None:
    world.server.named("/api/v1/namespaces", "kube-system")["metadata"]["uid"] = "other"
    with world.untouched():
        ran = world.run("gpu_lock", **HELD, **RUN)
    assert ran.code == "wrong-cluster-uid"
