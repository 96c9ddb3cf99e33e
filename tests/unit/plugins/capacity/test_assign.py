# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""An assignment, step by step: what it leaves behind, interrupted at every call site, and refused."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.callsites import watched_by
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.assignment import Refused, assign
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.capacity_world import CapacityWorld
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.stages import SURVEY


class Killed(BaseException):
    """Stands for SIGKILL: nothing catches it on its way out of the process."""


WRITING = ("fleet push", "kube PATCH", "evidence seal")
WRITES = 18
"""Call sites that write in one assignment: nine writes, each before and after. Reads change nothing, so dying
at one is dying before the next write."""


class KillAt:
    """Ends the process's work when the n-th call site that writes is reached; at none where n is 0."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.sites: list[str] = []

    def reached(self, site: str) -> None:
        if site.startswith(WRITING):
            self.sites.append(site)
            if len(self.sites) == self.number:
                raise Killed(site)


def require_assigned(world: CapacityWorld, *, gate: str = "false") -> None:
    record = world.record("lab-9")
    assert record is not None
    assert record["spec"]["state"] == "active"
    assert record["status"]["activatedAt"].endswith("Z")
    assert record["status"]["evidenceRevision"].startswith("sha256:")
    assert world.add_ons("borealis") == {"gpu-h100-vm": 2, "gpu-h100-reserved": 8}
    lock = world.lock()
    assert lock["pools"] == {}
    assert lock["gate"]["vm"]["closedFor"] == []
    assert world.settings()["GPU_VM_CREATION_ENABLED"] == gate
    states = [line for line in world.subjects() if line.startswith("gpu-res-lab-9")]
    assert states == ["gpu-res-lab-9: pending", "gpu-res-lab-9: active"]


def test_assign_writes_each_state_once_and_in_order(world: CapacityWorld) -> None:
    plan = assign(world, **SURVEY)
    assert plan["equation_before"]["headroom"] == 17
    assert plan["equation_after"]["headroom"] == 9
    require_assigned(world)
    assert [subject.split(":")[0] for subject in world.subjects()] == [
        "Close gate vm for LAB-9",
        "gpu-res-lab-9",
        "gpu-res-lab-9",
    ]
    assert [(method, path.rpartition("/")[2]) for method, path, _ in world.server.writes] == [
        ("PATCH", "borealis")
    ]


def test_a_second_run_has_nothing_to_do(world: CapacityWorld) -> None:
    assign(world, **SURVEY)
    refs, writes = world.refs(), len(world.server.writes)
    plan = assign(world, **SURVEY)
    assert plan["to_do"]["run"] is False
    assert plan["next_action"] == "nothing to do"
    assert (world.refs(), len(world.server.writes)) == (refs, writes)


def test_the_gate_opens_again_where_reopen_asks(world: CapacityWorld) -> None:
    assign(world, reopen=True, **SURVEY)
    require_assigned(world, gate="true")


def test_an_order_that_does_not_fit_touches_nothing(world: CapacityWorld) -> None:
    refs = world.refs()
    with pytest.raises(Refused) as caught:
        assign(world, **{**SURVEY, "devices": "18"})
    assert "lacks 1 devices" in caught.value.ran.msg
    assert world.refs() == refs
    assert world.server.writes == []


@pytest.mark.parametrize("lag", [0, 7])
def test_quota_that_follows_later_is_waited_for(world: CapacityWorld, lag: int) -> None:
    world.server.lag = lag
    assign(world, **SURVEY)
    require_assigned(world)


def test_an_assignment_writes_as_often_as_it_is_killed_below(world: CapacityWorld) -> None:
    watcher = KillAt(0)
    with watched_by(watcher):
        assign(world, **SURVEY)
    assert len(watcher.sites) == WRITES, watcher.sites


@pytest.mark.slow
@pytest.mark.parametrize("number", range(1, WRITES + 1))
def test_killed_at_a_call_site_that_writes_and_run_again(world: CapacityWorld, number: int) -> None:
    world.server.lag = number % 3
    with watched_by(KillAt(number)), pytest.raises(Killed):
        assign(world, **SURVEY)
    assign(world, **SURVEY)
    require_assigned(world)


def test_of_two_runs_of_one_ticket_the_earlier_stops_at_its_next_step(world: CapacityWorld) -> None:
    first = world.run("gpu_plan_info", action="assign", ticket="LAB-9", order=SURVEY).result
    lock: dict[str, Any] = {"state": "held", "profile_id": "h100-vm", "ticket": "LAB-9"}
    assert not world.run("gpu_lock", run_id=first["run_id"], **lock).failed
    assign(world, **SURVEY)
    require_assigned(world)
    late = world.run("gpu_ledger_record", state="active", ticket="LAB-9", run_id=first["run_id"],
                     evidence_revision="sha256:0")  # fmt: skip
    assert late.failed
    assert late.code == "lock-lost"


def test_a_pool_that_another_ticket_holds_is_refused_naming_it(world: CapacityWorld) -> None:
    held = world.run("gpu_lock", state="held", profile_id="h100-vm", ticket="OTHER-1", run_id="01X")
    assert not held.failed
    refs = world.refs()
    with pytest.raises(Refused) as caught:
        assign(world, **SURVEY)
    assert "locked for other-1" in caught.value.ran.msg
    assert world.refs() == refs


@pytest.mark.parametrize(
    ("key", "value"),
    list(itertools.product(["organization", "supportOwner", "approvedBySre"], ["", "p.owner "])),
)
def test_an_incomplete_or_contradictory_order_is_refused_by_name(
    world: CapacityWorld, key: str, value: str
) -> None:
    refs = world.refs()
    with pytest.raises(Refused) as caught:
        assign(world, **{**SURVEY, key: value})
    assert key.removeprefix("approvedBy").lower() in caught.value.ran.msg.lower()
    assert world.refs() == refs
