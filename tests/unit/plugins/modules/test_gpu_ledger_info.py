# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_ledger_info: the whole ledger is valid, or nothing is answered."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.capacity_world import (
    CapacityWorld,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.stages import (
    POOL,
)


def test_records_are_answered_with_revision_and_lines_for_the_screen(world: CapacityWorld) -> None:
    with world.untouched():
        ran = world.run("gpu_ledger_info")
    assert (ran.failed, ran.result["changed"]) == (False, False)
    [record] = ran.result["records"]
    assert record == world.record("lab-0")
    assert ran.result["revision"] == world.refs()["refs/heads/main"]
    assert any("billable from" in line for line in ran.result["summary"])
    assert world.server.reads == []


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ({"ticket": "LAB-0"}, 1),
        ({"ticket": "LAB-7"}, 0),
        ({"organization": "cumulus"}, 1),
        ({"organization": "aurora"}, 0),
        ({"profile_id": "v100-vm"}, 0),
        ({"state": ["active", "pending"]}, 1),
        ({"state": ["released"]}, 0),
    ],
)
def test_what_was_asked_for_is_answered(world: CapacityWorld, question: Any, found: int) -> None:
    ran = world.run("gpu_ledger_info", **question)
    assert not ran.failed
    assert len(ran.result["records"]) == found


def test_check_mode_answers_the_same(world: CapacityWorld) -> None:
    assert world.run("gpu_ledger_info", check=True).result == world.run("gpu_ledger_info").result


FAULTS = {
    "unknown key": ("gpu-res-lab-0.yaml", "  project: ''", "  project: ''\n  extra: 1", "extra"),
    "no devices": ("gpu-res-lab-0.yaml", "devices: 8", "devices: 0", "devices"),
    "octal": ("gpu-res-lab-0.yaml", "devices: 8", "devices: 010", "devices"),
    "time without zone": (
        "gpu-res-lab-0.yaml",
        "'2026-11-21T00:00:00Z'",
        "'2026-11-21T00:00:00'",
        "requestedAt",
    ),
    "state without its time": ("gpu-res-lab-0.yaml", "'2026-11-21T03:00:00Z'", "''", "activatedAt"),
    "same approver": ("gpu-res-lab-0.yaml", "sre: s.owner", "sre: P.Owner", "approvedBy"),
    "key twice": ("gpu-res-lab-0.yaml", "  devices: 8", "  devices: 8\n  devices: 8", "devices"),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_one_invalid_record_stops_every_question_naming_file_and_field(
    world: CapacityWorld, fault: Any
) -> None:
    name, old, new, field = fault
    path = f"gpu-reservations/lab/records/{name}"
    text = world.file(path)
    assert old in text
    world.commit_file(path, text.replace(old, new))
    ran = world.run("gpu_ledger_info", ticket="LAB-7")
    assert ran.failed
    assert ran.code == "ledger-invalid"
    assert path in ran.msg
    assert field in ran.msg


def test_a_stray_file_among_the_records_stops_it(world: CapacityWorld) -> None:
    world.commit_file("gpu-reservations/lab/records/README.md", "x")
    ran = world.run("gpu_ledger_info")
    assert ran.code == "ledger-invalid"
    assert "README.md" in ran.msg


def test_a_duplicate_id_over_clusters_stops_it(world: CapacityWorld) -> None:
    text = world.file("gpu-reservations/lab/records/gpu-res-lab-0.yaml")
    world.commit_file("gpu-reservations/other/records/gpu-res-lab-0.yaml", text)
    ran = world.run("gpu_ledger_info")
    assert ran.code == "duplicate-reservation-id"
    assert "gpu-res-lab-0" in ran.msg


def test_a_repository_that_cannot_be_reached_is_no_empty_ledger(world: CapacityWorld) -> None:
    ran = world.run("gpu_ledger_info", fleet_repo=str(world.folder / "nowhere.git"))
    assert ran.failed
    assert ran.result["error"]["class"] == "ObservationError"


def test_a_branch_that_does_not_exist_is_no_empty_ledger(world: CapacityWorld) -> None:
    ran = world.run("gpu_ledger_info", fleet_branch="production")
    assert ran.failed
    assert "production" in ran.msg


def test_a_saved_snapshot_answers_the_same_offline(world: CapacityWorld) -> None:
    saved = world.folder / "snapshot.json"
    assert not world.run("gpu_invariant", profile_id=POOL, save_snapshot=str(saved)).failed
    live = world.run("gpu_ledger_info")
    offline = world.run("gpu_ledger_info", snapshot=str(saved), fleet_repo=str(world.folder / "nowhere"))
    assert not offline.failed, offline.msg
    assert offline.result == live.result
