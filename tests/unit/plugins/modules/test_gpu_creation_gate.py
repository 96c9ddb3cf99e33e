# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_creation_gate: closed everywhere for a ticket, opened only where nobody needs it closed."""

from __future__ import annotations

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.callsites import (
    watched_by,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.capacity_world import (
    CapacityWorld,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.stages import (
    CONFIG_FILE,
    LOCK_BRANCH,
    POOL,
    RUN,
    When,
    lock_text,
    locked,
    pending,
)

CLOSED = {"state": "closed", "profile_id": POOL, **RUN}
RELEASED = {"state": "released", "profile_id": POOL, **RUN}


def held(world: CapacityWorld) -> CapacityWorld:
    """Locked, with the gate still open."""
    return locked(world, closed=False)


def test_closing_edits_one_scalar_and_notes_for_whom(world: CapacityWorld) -> None:
    before = held(world).file(CONFIG_FILE)
    ran = world.run("gpu_creation_gate", **CLOSED)
    assert not ran.failed, ran.msg
    expected = before.replace("GPU_VM_CREATION_ENABLED=true", "GPU_VM_CREATION_ENABLED=false")
    assert world.file(CONFIG_FILE) == expected
    assert world.lock()["gate"]["vm"] == {"openBefore": True, "closedFor": ["lab-9"]}
    assert world.subjects() == world.subjects(LOCK_BRANCH) == ["Close gate vm for LAB-9"]
    assert set(ran.result["copies"].values()) == {"false"}
    assert ran.result["before"] == {"open": True, "closed_for": []}
    assert ran.result["after"] == {"open": False, "closed_for": ["lab-9"]}
    assert [diff["before_header"] for diff in ran.result["diff"]] == [CONFIG_FILE, "lock.yaml"]
    assert world.server.writes == []


def test_closing_twice_is_once(world: CapacityWorld) -> None:
    held(world).run("gpu_creation_gate", **CLOSED)
    with world.untouched():
        ran = world.run("gpu_creation_gate", **CLOSED)
    assert (ran.failed, ran.result["changed"], ran.result["plan"]) == (False, False, [])


def test_check_mode_plans_the_same_and_pushes_nothing(world: CapacityWorld) -> None:
    held(world)
    with world.untouched():
        planned = world.run("gpu_creation_gate", check=True, **CLOSED)
    read = set(world.server.reads)
    world.server.reads.clear()
    made = world.run("gpu_creation_gate", **CLOSED)
    assert set(world.server.reads) == read
    assert planned.result["changed"]
    assert planned.result["plan_digest"] == made.result["plan_digest"]
    assert planned.result["diff"] == made.result["diff"]


def test_a_copy_that_does_not_follow_is_a_partial_change_naming_each(world: CapacityWorld) -> None:
    held(world)
    world.server.frozen_gates = True
    ran = world.run("gpu_creation_gate", wait_timeout=0, **CLOSED)
    assert ran.failed
    assert ran.code == "gate-not-converged"
    assert ran.result["changed"] is True
    for copy in ("file", "configmap", "helmrelease", "deployment"):
        assert copy in ran.msg


def test_without_the_lock_it_does_not_close(world: CapacityWorld) -> None:
    with world.untouched():
        ran = world.run("gpu_creation_gate", **CLOSED)
    assert ran.failed
    assert ran.code == "lock-lost"


def test_a_commit_by_somebody_else_meanwhile_is_kept(world: CapacityWorld) -> None:
    held(world)
    edited = world.file(CONFIG_FILE).replace("DOMAIN=lab.example.com", "DOMAIN=other.example.com")
    with watched_by(When("fleet push", lambda: world.commit_file(CONFIG_FILE, edited))):
        ran = world.run("gpu_creation_gate", **CLOSED)
    assert not ran.failed, ran.msg
    assert world.settings()["DOMAIN"] == "other.example.com"
    assert world.settings()["GPU_VM_CREATION_ENABLED"] == "false"


def test_letting_go_leaves_it_closed_and_says_how_to_open_it(world: CapacityWorld) -> None:
    locked(world)
    ran = world.run("gpu_creation_gate", **RELEASED)
    assert not ran.failed, ran.msg
    assert world.settings()["GPU_VM_CREATION_ENABLED"] == "false"
    assert world.lock()["gate"]["vm"]["closedFor"] == []
    assert "playbooks/creation_gate.yml -e state=open" in ran.msg


def test_letting_go_with_reopen_opens_what_was_open(world: CapacityWorld) -> None:
    locked(world)
    ran = world.run("gpu_creation_gate", reopen=True, **RELEASED)
    assert not ran.failed, ran.msg
    assert world.settings()["GPU_VM_CREATION_ENABLED"] == "true"
    with world.untouched():
        again = world.run("gpu_creation_gate", reopen=True, **RELEASED)
    assert again.result["changed"] is False


def test_letting_go_does_not_open_what_another_ticket_needs_closed(world: CapacityWorld) -> None:
    locked(world)
    world.commit_file("lock.yaml", lock_text(closed_for=("lab-3", "lab-9")), branch=LOCK_BRANCH)
    ran = world.run("gpu_creation_gate", reopen=True, **RELEASED)
    assert not ran.failed, ran.msg
    assert world.settings()["GPU_VM_CREATION_ENABLED"] == "false"
    assert world.lock()["gate"]["vm"]["closedFor"] == ["lab-3"]


def test_unless_recorded_keeps_it_closed_for_a_pending_record(world: CapacityWorld) -> None:
    pending(world)
    with world.untouched():
        ran = world.run("gpu_creation_gate", reopen=True, unless_recorded=True, **RELEASED)
    assert not ran.failed
    assert "stays closed" in ran.msg


@pytest.mark.parametrize("frozen", [False, True])
def test_opening_is_refused_while_somebody_needs_it_closed(world: CapacityWorld, frozen: bool) -> None:
    locked(world, closed=not frozen)
    if frozen:
        text = "since: '2026-12-01T00:00:00Z'\naudit: a\nfindings: [stale-capacity]\nthawed: null\n"
        world.commit_file("gpu-reservations/lab/freezes/h100-vm.yaml", text)
        config = world.file(CONFIG_FILE)
        world.commit_file(
            CONFIG_FILE, config.replace("VM_CREATION_ENABLED=true", "VM_CREATION_ENABLED=false")
        )
    with world.untouched():
        ran = world.run("gpu_creation_gate", state="open")
    assert ran.failed
    assert ran.code == "gate-needed-closed"
    assert ("h100-vm" if frozen else "lab-9") in ran.msg


def test_opening_by_hand(world: CapacityWorld) -> None:
    config = world.file(CONFIG_FILE)
    world.commit_file(CONFIG_FILE, config.replace("VM_CREATION_ENABLED=true", "VM_CREATION_ENABLED=false"))
    ran = world.run("gpu_creation_gate", state="open")
    assert not ran.failed, ran.msg
    assert world.file(CONFIG_FILE) == config
    with world.untouched():
        assert world.run("gpu_creation_gate", state="open").result["changed"] is False


def test_info_shows_every_copy_and_writes_nothing(world: CapacityWorld) -> None:
    locked(world)
    with world.untouched():
        ran = world.run("gpu_creation_gate", state="info")
    assert set(ran.result["copies"].values()) == {"false"}
    assert ran.result["after"]["closed_for"] == ["lab-9"]


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces/flux-system/configmaps/cluster-config",
        "/apis/helm.toolkit.fluxcd.io/v2/namespaces/kube-dc/helmreleases/kube-dc",
        "/apis/apps/v1/namespaces/kube-dc/deployments/kube-dc-backend",
    ],
)
def test_a_copy_that_may_not_be_read_stops_it(world: CapacityWorld, path: str) -> None:
    held(world)
    world.server.failing[path] = 403
    with world.untouched():
        ran = world.run("gpu_creation_gate", **CLOSED)
    assert ran.failed
    assert ran.result["error"]["class"] == "ObservationError"


def test_a_gate_that_no_line_sets_is_closed_by_a_line_and_was_not_open(world: CapacityWorld) -> None:
    held(world)
    world.commit_file(CONFIG_FILE, world.file(CONFIG_FILE).replace("GPU_VM_CREATION_ENABLED=true\n", ""))
    ran = world.run("gpu_creation_gate", **CLOSED)
    assert not ran.failed, ran.msg
    assert world.settings()["GPU_VM_CREATION_ENABLED"] == "false"
    assert world.lock()["gate"]["vm"]["openBefore"] is False


def test_a_gate_that_two_lines_set_is_closed_in_both(world: CapacityWorld) -> None:
    held(world)
    line = "GPU_VM_CREATION_ENABLED=true\n"
    world.commit_file(CONFIG_FILE, world.file(CONFIG_FILE).replace(line, line + line))
    ran = world.run("gpu_creation_gate", **CLOSED)
    assert not ran.failed, ran.msg
    assert world.file(CONFIG_FILE).count("GPU_VM_CREATION_ENABLED=false\n") == 2


def test_a_fleet_file_that_is_not_there_stops_it(world: CapacityWorld) -> None:
    held(world)
    world.server.frozen_gates = True  # Flux keeps what it applied last
    world.commit_file(CONFIG_FILE, None)
    with world.untouched():
        ran = world.run("gpu_creation_gate", wait_timeout=0, **CLOSED)
    assert ran.failed
    assert CONFIG_FILE in ran.msg
