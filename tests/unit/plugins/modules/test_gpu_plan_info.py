# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_plan_info: what is done, what comes next, and every refusal, from one observation."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.api_server import (
    HRQS,
    ORGANIZATIONS,
    PODS,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.capacity_world import (
    CapacityWorld,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.stages import (
    LOCK_BRANCH,
    RECORD_FILE,
    SURVEY,
    TICKET,
    entitled,
    lock_text,
    locked,
    pending,
    pending_text,
)


def plan(world: CapacityWorld, ticket: str = TICKET, *, check: bool = False, **more: Any) -> Any:
    order = SURVEY if ticket == TICKET else None
    project = {"backend_url": "http://127.0.0.1:1", "backend_token_file": "/nowhere"}
    given = {"action": "assign", "ticket": ticket, **project, **({"order": order} if order else {}), **more}
    with world.untouched():
        return world.run("gpu_plan_info", check=check, **given)


def statuses(ran: Any) -> dict[str, str]:
    return {phase["id"]: phase["status"] for phase in ran.result["phases"]}


def test_from_nothing_every_phase_is_ahead_in_the_runbooks_order(world: CapacityWorld) -> None:
    ran = plan(world, "LAB-1")
    assert ran.result["allowed"], ran.msg
    assert list(statuses(ran)) == [
        "qualify", "freeze", "prove", "hold", "entitle", "smoke", "activate", "let_go",
    ]  # fmt: skip
    assert list(statuses(ran).values()) == ["done", "next", *["later"] * 6]
    assert ran.result["equation_before"]["headroom"] == 17
    assert ran.result["equation_after"]["headroom"] == 9
    assert ran.result["order"]["organization"] == "borealis"
    assert ran.result["smoke"]["namespace"] == "borealis-ml"
    assert ran.result["plan_digest"].startswith("sha256:")
    assert ran.result["to_do"]["run"]


@pytest.mark.parametrize(
    ("stage", "following"),
    [(locked, "prove"), (pending, "entitle"), (entitled, "smoke")],
)
def test_what_the_world_shows_done_is_done(world: CapacityWorld, stage: Any, following: str) -> None:
    stage(world)
    ran = plan(world)
    assert ran.result["allowed"], ran.msg
    assert [name for name, status in statuses(ran).items() if status == "next"] == [following]


def test_every_run_has_an_identity_of_its_own(world: CapacityWorld) -> None:
    assert plan(world).result["run_id"] != plan(world).result["run_id"]


def test_check_mode_reads_and_answers_the_same_plan(world: CapacityWorld) -> None:
    checked = plan(world, check=True)
    read = set(world.server.reads)
    world.server.reads.clear()
    live = plan(world)
    assert set(world.server.reads) == read
    assert live.result["plan_digest"] == checked.result["plan_digest"]


def test_a_refusal_does_not_fail_the_module_and_says_everything(world: CapacityWorld) -> None:
    ran = plan(world, "LAB-2")
    assert not ran.failed
    assert ran.result["allowed"] is False
    assert "lacks 1 devices" in ran.msg
    assert "order-exceeds-capacity" in ran.msg
    assert ran.result["next_action"]
    assert ran.result["remedies"]


def test_a_sequential_pool_names_the_transition(world: CapacityWorld) -> None:
    ran = plan(world, "LAB-3")
    assert ran.result["allowed"] is False
    assert "playbooks/transition.yml -e node=acc-01" in ran.result["next_action"]


def test_a_ticket_without_order_is_an_error_that_names_the_file(world: CapacityWorld) -> None:
    ran = plan(world, "LAB-77")
    assert ran.failed
    assert ran.code == "order-missing"
    assert "orders/lab-77.yaml" in ran.msg


def test_file_and_survey_that_differ_are_refused_by_key(world: CapacityWorld) -> None:
    ran = plan(world, "LAB-1", order={"devices": "9"})
    assert ran.failed
    assert ran.code == "order-differs"
    assert "devices" in ran.msg
    assert plan(world, "LAB-1", order={"devices": "8"}).result["allowed"]


def test_a_real_run_without_a_place_for_evidence_is_refused_before_anything(world: CapacityWorld) -> None:
    nowhere = str(world.folder / "nowhere")
    assert plan(world, evidence_dir=nowhere).result["allowed"] is False
    assert plan(world, check=True, evidence_dir=nowhere).result["allowed"] is True


def test_a_pool_that_another_holds_is_refused_or_waited_for(world: CapacityWorld) -> None:
    world.commit_file("lock.yaml", lock_text("other-1", closed_for=()), branch=LOCK_BRANCH)
    refused = plan(world)
    assert refused.result["allowed"] is False
    assert "locked for other-1" in refused.msg
    assert plan(world, lock_wait=5).result["allowed"] is True


def test_a_saved_snapshot_plans_the_same_offline(world: CapacityWorld) -> None:
    saved = world.folder / "snapshot.json"
    live = plan(world, "LAB-1", check=True, save_snapshot=str(saved))
    world.server.reads.clear()
    offline = plan(world, "LAB-1", check=True, snapshot=str(saved), fleet_repo="/nowhere")
    assert world.server.reads == []
    assert offline.result["plan_digest"] == live.result["plan_digest"]
    assert offline.result["equation_after"] == live.result["equation_after"]


@pytest.mark.parametrize("found", ["", "same", "different"])
def test_with_review_the_proposal_comes_before_lock_and_freeze(world: CapacityWorld, found: str) -> None:
    world.edit_policy(reviewMode="branch")
    branch = "gpu-proposal/lab/gpu-res-lab-9"
    if found:
        world.commit_file(
            RECORD_FILE, pending_text(**({} if found == "same" else {"devices": "4"})), branch=branch
        )
    ran = plan(world)
    assert ran.result["allowed"], ran.msg
    to_do = ran.result["to_do"]
    assert (to_do["run"], to_do["await_review"], to_do["propose"]) == (False, True, found != "same")
    assert next(iter(statuses(ran))) == "review"


def test_something_else_that_was_merged_is_refused(world: CapacityWorld) -> None:
    world.edit_policy(reviewMode="branch")
    world.commit_file(RECORD_FILE, pending_text(), branch="gpu-proposal/lab/gpu-res-lab-9")
    world.commit_file(RECORD_FILE, pending_text(devices="6"))
    ran = plan(world)
    assert ran.failed or ran.result["allowed"] is False
    assert "gpu-res-lab-9" in ran.msg


@pytest.mark.parametrize("path", [ORGANIZATIONS, HRQS, PODS, "/api/v1/nodes"])
def test_what_cannot_be_read_is_an_error(world: CapacityWorld, path: str) -> None:
    world.server.failing[path] = 500
    ran = plan(world)
    assert ran.failed
    assert ran.result["error"]["class"] == "ObservationError"
