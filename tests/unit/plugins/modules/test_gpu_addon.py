# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_addon: the annotation to the sum of the records, under lock, closed gate and proof."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.callsites import (
    watched_by,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.api_server import (
    ADD_ONS,
    HRQS,
    ORGANIZATIONS,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.capacity_world import CapacityWorld
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.stages import (
    LOCK_BRANCH,
    RECORD_FILE,
    RUN,
    When,
    entitled,
    lock_text,
    locked,
    pending,
    pending_text,
)

BOTH = {"gpu-h100-vm": 2, "gpu-h100-reserved": 8}
ORDINARY = {"gpu-h100-vm": 2}
TARGET = "/apis/kube-dc.com/v1/namespaces/borealis/organizations/borealis"


def annotation(world: CapacityWorld) -> str:
    text: str = world.server.named(ORGANIZATIONS, "borealis")["metadata"]["annotations"][ADD_ONS]
    return text


def test_the_records_sum_is_written_once_and_nothing_else_of_the_annotation_moves(
    world: CapacityWorld,
) -> None:
    ran = pending(world).run("gpu_addon", **RUN)
    assert not ran.failed, ran.msg
    assert (ran.result["changed"], ran.result["before"], ran.result["after"]) == (True, 0, 8)
    assert ran.result["converged"] == {"annotation": True, "hrq": True, "organization": True}
    assert ran.result["plan"] == ["set gpu-h100-reserved of borealis from 0 to 8"]
    assert [entry["addonId"] for entry in json.loads(annotation(world))] == [
        "gpu-h100-vm",
        "gpu-h100-reserved",
    ]
    [(method, path, body)] = world.server.writes
    assert (method, path) == ("PATCH", TARGET)
    assert list(body["metadata"]["annotations"]) == [ADD_ONS]
    assert body["metadata"]["resourceVersion"]
    assert world.subjects(LOCK_BRANCH) == ["gpu-res-lab-9: entitle"]
    assert world.lock()["pools"]["h100-vm"]["step"] == "entitle"
    [diff] = ran.result["diff"]
    assert "gpu-h100-reserved" not in diff["before"]
    assert "gpu-h100-reserved" in diff["after"]


def test_a_second_run_changes_nothing(world: CapacityWorld) -> None:
    entitled(world)
    with world.untouched():
        ran = world.run("gpu_addon", **RUN)
    assert not ran.failed, ran.msg
    assert (ran.result["changed"], ran.result["before"], ran.result["after"]) == (False, 8, 8)
    assert ran.result["plan"] == []
    assert "diff" not in ran.result


def test_check_mode_plans_the_same_from_the_same_reads_and_writes_nothing(world: CapacityWorld) -> None:
    pending(world)
    with world.untouched():
        planned = world.run("gpu_addon", check=True, **RUN)
    read = set(world.server.reads)
    world.server.reads.clear()
    made = world.run("gpu_addon", **RUN)
    assert set(world.server.reads) == read
    assert planned.result["changed"]
    assert planned.result["plan_digest"] == made.result["plan_digest"]
    assert planned.result["diff"] == made.result["diff"]
    assert planned.result["converged"]["annotation"] is False


def test_check_mode_says_no_where_the_real_run_would(world: CapacityWorld) -> None:
    pending(world)
    world.server.entitle("aurora", {"gpu-h100-vm": 40})
    with world.untouched():
        ran = world.run("gpu_addon", check=True, **RUN)
    assert ran.failed
    assert ran.code == "hard-quota-above-equation"


def test_an_equation_that_fails_stops_it_with_the_whole_report(world: CapacityWorld) -> None:
    pending(world)
    world.server.entitle("aurora", {"gpu-h100-vm": 40})
    with world.untouched():
        ran = world.run("gpu_addon", **RUN)
    assert ran.failed
    assert ran.code == "hard-quota-above-equation"
    assert ran.result["changed"] is False
    assert ran.result["equation"]["holds"] is False
    assert ran.result["remedies"]


@pytest.mark.parametrize("path", [ORGANIZATIONS, HRQS, "/api/v1/nodes", "/api/v1/pods"])
def test_what_cannot_be_read_stops_it(world: CapacityWorld, path: str) -> None:
    pending(world)
    world.server.failing[path] = 403
    with world.untouched():
        ran = world.run("gpu_addon", **RUN)
    assert ran.failed
    assert ran.result["error"]["class"] == "ObservationError"
    assert path.rpartition("/")[2] in ran.msg


def test_a_changed_organization_is_read_and_proved_again(world: CapacityWorld) -> None:
    pending(world)

    def edited() -> None:
        world.server.entitle("borealis", {"gpu-h100-vm": 3})

    with watched_by(When("kube PATCH", edited)):
        ran = world.run("gpu_addon", **RUN)
    assert not ran.failed, ran.msg
    assert world.add_ons("borealis") == {"gpu-h100-vm": 3, "gpu-h100-reserved": 8}
    assert len(world.server.writes) == 2


def test_a_change_meanwhile_that_makes_the_equation_false_is_not_written_over(world: CapacityWorld) -> None:
    pending(world)

    def sold() -> None:
        world.server.entitle("aurora", {"gpu-h100-vm": 40})
        world.server.touch(world.server.named(ORGANIZATIONS, "borealis")["metadata"])

    with watched_by(When("kube PATCH", sold)):
        ran = world.run("gpu_addon", **RUN)
    assert ran.failed
    assert ran.code == "hard-quota-above-equation"
    assert world.add_ons("borealis") == ORDINARY


def test_a_moved_lock_branch_is_read_again(world: CapacityWorld) -> None:
    pending(world)
    other = lock_text(closed_for=("lab-9", "lab-3"))
    with watched_by(When("fleet push", lambda: world.commit_file("lock.yaml", other, branch=LOCK_BRANCH))):
        ran = world.run("gpu_addon", **RUN)
    assert not ran.failed, ran.msg
    assert world.add_ons("borealis") == BOTH
    assert world.lock()["gate"]["vm"]["closedFor"] == ["lab-9", "lab-3"]


def test_a_lock_taken_over_meanwhile_stops_it_before_the_annotation(world: CapacityWorld) -> None:
    pending(world)
    later = lock_text(run_id="02RUN")
    with watched_by(When("fleet push", lambda: world.commit_file("lock.yaml", later, branch=LOCK_BRANCH))):
        ran = world.run("gpu_addon", **RUN)
    assert ran.failed
    assert ran.code == "lock-lost"
    assert world.server.writes == []
    assert world.add_ons("borealis") == ORDINARY


@pytest.mark.parametrize(
    ("stage", "code"),
    [
        (locked, "record-missing"),
        (
            lambda world: pending(world).commit_file("lock.yaml", lock_text("lab-3"), branch=LOCK_BRANCH),
            "lock-lost",
        ),
        (
            lambda world: pending(world).commit_file(
                "lock.yaml", lock_text(closed_for=()), branch=LOCK_BRANCH
            ),
            "creation-open",
        ),
        (
            lambda world: pending(world).commit_file(
                "clusters/lab/cluster-config.env",
                world.file("clusters/lab/cluster-config.env").replace(
                    "CREATION_ENABLED=false", "CREATION_ENABLED=true"
                ),
            ),
            "creation-open",
        ),
    ],
)
def test_without_record_lock_and_closed_gate_nothing_is_entitled(
    world: CapacityWorld, stage: Any, code: str
) -> None:
    stage(world)
    with world.untouched():
        ran = world.run("gpu_addon", **RUN)
    assert ran.failed
    assert ran.code == code


def test_quota_that_does_not_follow_is_a_partial_change_that_says_how_to_go_on(world: CapacityWorld) -> None:
    pending(world)
    world.server.lag = 1000
    ran = world.run("gpu_addon", wait_timeout=0, **RUN)
    assert ran.failed
    assert ran.code == "entitlement-not-converged"
    assert ran.result["changed"] is True
    assert "quota says 2, expected 10" in ran.msg
    assert ran.result["error"]["next_action"]


def test_observe_waits_for_the_operators_click_and_writes_nothing(world: CapacityWorld) -> None:
    pending(world).edit_policy(entitlementTransport="observe")
    with world.untouched():
        ran = world.run("gpu_addon", wait_timeout=0, **RUN)
    assert ran.failed
    assert ran.code == "entitlement-not-converged"
    assert "Manage add-ons set gpu-h100-reserved to 8" in ran.msg
    clicked = When("kube GET /apis/kube-dc.com", lambda: world.server.entitle("borealis", BOTH))
    with world.untouched(), watched_by(clicked):
        ran = world.run("gpu_addon", **RUN)
    assert not ran.failed, ran.msg
    assert ran.result["after"] == 8


def test_a_reduction_is_refused_while_devices_are_in_use(world: CapacityWorld) -> None:
    entitled(world)
    world.server.use("borealis", 5)
    with world.untouched():
        ran = world.run("gpu_addon", reduce=True, **RUN)
    assert ran.failed
    assert ran.code == "entitlement-in-use"
    assert "5 devices, 2 stay entitled" in ran.msg


def test_a_reduction_takes_the_records_devices_back(world: CapacityWorld) -> None:
    ran = entitled(world).run("gpu_addon", reduce=True, **RUN)
    assert not ran.failed, ran.msg
    assert (ran.result["before"], ran.result["after"]) == (8, 0)
    assert world.add_ons("borealis") == ORDINARY


def test_an_active_records_add_on_is_not_reduced(world: CapacityWorld) -> None:
    entitled(world)
    active = (
        pending_text().replace("state: pending", "state: active").replace("awaiting-activation", "active")
    )
    active = active.replace('activatedAt: ""', "activatedAt: '2026-12-01T00:00:00Z'").replace(
        'evidenceRevision: ""', "evidenceRevision: sha256:0f"
    )
    world.commit_file(RECORD_FILE, active)
    with world.untouched():
        ran = world.run("gpu_addon", reduce=True, **RUN)
    assert ran.failed
    assert ran.code == "record-state"


@pytest.mark.parametrize("annotation_text", ["{", "[1]", '[{"addonId":"x","quantity":"8"}]'])
def test_an_annotation_that_cannot_be_read_is_not_written_over(
    world: CapacityWorld, annotation_text: str
) -> None:
    pending(world)
    world.server.named(ORGANIZATIONS, "borealis")["metadata"]["annotations"][ADD_ONS] = annotation_text
    with world.untouched():
        ran = world.run("gpu_addon", **RUN)
    assert ran.failed
    assert "borealis" in ran.msg
    assert ran.code == "status-disagreement"
