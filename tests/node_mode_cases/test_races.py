# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs at the same time: one wins, and the other stops at the lock without having written anything."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.api_transport import SystemClock
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import (
    GpuopsError,
    PartialChange,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.lock import (
    LOCK_FILE,
    read_lock,
    release,
    take,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.node_mode_run import transition
from ansible_collections.gpuops.reservations.tests.node_mode_cases import module_run
from ansible_collections.gpuops.reservations.tests.node_mode_cases.case_world import CaseWorld, Servers
from ansible_collections.gpuops.reservations.tests.node_mode_cases.stage import (
    asked,
    built,
    finished_well,
    outside,
    plain_case,
)
from ansible_collections.gpuops.reservations.tests.node_mode_cases.what_happened import WhatHappened

pytestmark = [pytest.mark.lab, pytest.mark.slow]

NOTHING = module_run.Outcome(failed=False, result={})


def one_run(world: CaseWorld, name: str, barrier: threading.Barrier, **changes: Any) -> str:
    """A run of its own; answers "done", or the code that it stopped with."""
    here = outside(world, SystemClock(), name)
    barrier.wait()
    try:
        outcome = transition(here, asked(world, **changes), 60, 0.2, check_mode=False)
    except PartialChange as error:
        return f"partial {error.code}"
    except GpuopsError as error:
        return error.code
    return "done" if outcome.changed else "unchanged"


def together(*runs: Callable[[], str]) -> list[str]:
    with ThreadPoolExecutor(len(runs)) as pool:
        return [future.result(timeout=180) for future in [pool.submit(run) for run in runs]]


@pytest.mark.parametrize("attempt", range(3))
def test_two_transitions_of_one_node_at_once(servers: Servers, tmp_path: Path, attempt: int) -> None:
    world = built(plain_case(), servers, tmp_path)
    barrier = threading.Barrier(2)
    answers = together(
        lambda: one_run(world, "a", barrier),
        lambda: one_run(world, "b", barrier),
    )
    assert sorted(answers) in (["done", "lock-held"], ["done", "unchanged"]), answers
    happened = WhatHappened(world, NOTHING)
    finished_well(world, happened)
    assert len(happened.commits) == 1
    assert len(happened.patches("cordon")) == 1
    assert len(happened.patches("uncordon")) == 1


@pytest.mark.parametrize("attempt", range(3))
def test_a_transition_against_an_assign_of_the_pool(servers: Servers, tmp_path: Path, attempt: int) -> None:
    world = built(plain_case(), servers, tmp_path)
    barrier = threading.Barrier(2)

    def assign() -> str:
        """What assign does first: the lock of the pool, in the ticket's name, by compare-and-swap."""
        here = outside(world, SystemClock(), "assign")
        here.kube.version()
        barrier.wait()
        while True:
            tree = here.fleet.read_branch(world.ledger.lock_branch, [LOCK_FILE])
            try:
                taken = take(
                    read_lock(tree),
                    ["v100-vm"],
                    "lab-1",
                    "01ASSIGN",
                    now=here.kube.server_time,
                    step="freeze",
                )
                text = taken.document.to_yaml().encode()
                here.fleet.commit(world.ledger.lock_branch, tree.revision, {LOCK_FILE: text}, "Lock")
            except GpuopsError as error:
                if error.code != "fleet-moved":
                    return error.code
                continue
            return "locked"

    answers = together(lambda: one_run(world, "transition", barrier), assign)
    assert answers in (
        ["done", "lock-held"],
        ["pool-lock", "locked"],
        ["lock-held", "locked"],
        ["done", "locked"],
    )
    happened = WhatHappened(world, NOTHING)
    if answers[0] == "done":
        assert len(happened.commits) == 1
        return
    assert happened.commits == []
    assert happened.writes == []
    assert happened.lock_holders == {"v100-vm": "lab-1"}


def test_a_living_run_is_not_taken_over_without_consent(servers: Servers, tmp_path: Path) -> None:
    """The other run's lock is there before this one looks, and moves while it is watched."""
    world = built(plain_case({"lock": "earlier_run"}), servers, tmp_path)
    here = outside(world, MovingClock(world), "a")
    with pytest.raises(GpuopsError) as stopped:
        transition(here, asked(world), 60, 0.2, check_mode=False)
    assert stopped.value.code == "lock-held"
    assert "resume_cordoned" in stopped.value.next_action
    assert WhatHappened(world, NOTHING).writes == []


class MovingClock:
    """Time of which the other run makes use: it notes a step of its own."""

    def __init__(self, world: CaseWorld) -> None:
        self._world = world
        self._now = 0.0

    def now(self) -> float:
        return self._now

    def pause(self, seconds: float) -> None:
        self._now += seconds
        lock = self._world.ledger.locks["v100-vm"]
        lock["step"] = "wait"
        self._world.remote.commit(
            {"lock.yaml": self._world.ledger.lock_file()}, "Step", self._world.ledger.lock_branch
        )


def test_a_run_that_is_taken_over_stops_at_its_next_write(servers: Servers, tmp_path: Path) -> None:
    world = built(plain_case({"script": []}), servers, tmp_path)
    clock = TakeoverClock()
    here = outside(world, clock, "a")
    clock.then = lambda: other(world)
    with pytest.raises(PartialChange) as stopped:
        transition(here, asked(world), 60, 5, check_mode=False)
    assert stopped.value.code == "lock-lost"
    happened = WhatHappened(world, NOTHING)
    assert [request.operation for request in happened.writes] == ["cordon"]
    assert happened.cordoned
    assert len(happened.commits) == 1


class TakeoverClock:
    """At the first pause of the wait another run of the same transition takes over."""

    def __init__(self) -> None:
        self.then: Callable[[], None] | None = None
        self._now = 0.0

    def now(self) -> float:
        return self._now

    def pause(self, seconds: float) -> None:
        self._now += seconds
        if self.then is not None:
            then, self.then = self.then, None
            then()


def other(world: CaseWorld) -> None:
    """The other run takes the lock over, and the node arrives."""
    here = outside(world, SystemClock(), "b")
    here.kube.version()
    tree = here.fleet.read_branch(world.ledger.lock_branch, [LOCK_FILE])
    taken = take(
        read_lock(tree), ["v100-vm"], "transition:acc-7", "01OTHER", now=here.kube.server_time, step="wait"
    )
    text = taken.document.to_yaml().encode()
    here.fleet.commit(world.ledger.lock_branch, tree.revision, {LOCK_FILE: text}, "Take over")
    world._change({"node": {"base": "vm", "cordoned": True}}, "takeover")


def test_a_lock_that_is_gone_at_the_end_is_let_go_already(servers: Servers, tmp_path: Path) -> None:
    world = built(plain_case(), servers, tmp_path)
    here = outside(world, SystemClock(), "a")
    assert transition(here, asked(world), 60, 0.2, check_mode=False).changed
    tree = here.fleet.read_branch(world.ledger.lock_branch, [LOCK_FILE])
    document = read_lock(tree)
    assert release(document, ["v100-vm"], "transition:acc-7", "01ANY") == document


def test_a_node_that_somebody_uncordons_right_after_the_cordon(servers: Servers, tmp_path: Path) -> None:
    script = [{"at": "after_cordon", "node": {"cordoned": False}}]
    world = built(plain_case({"script": script}), servers, tmp_path)
    outcome = module_run.run(world, world.case.when)
    happened = WhatHappened(world, outcome)
    assert outcome.failed
    assert "somebody uncordoned it" in outcome.msg
    assert "left cordoned" not in outcome.msg
    assert happened.commits == []
    assert len(happened.patches("cordon")) == 1
    assert happened.lock_holders == {"v100-vm": "transition:acc-7"}


def test_the_pace_of_the_wait(servers: Servers, tmp_path: Path) -> None:
    world = built(plain_case({"script": []}), servers, tmp_path)
    outcome = module_run.run(world, world.case.when, defaults=True)
    assert outcome.failed
    assert outcome.pauses == [5.0] * 180
    events = WhatHappened(world, outcome).events
    pushed = events.index("push")
    looks = [
        event for event in events[pushed:] if not isinstance(event, str) and event.operation == "get_node"
    ]
    assert len(looks) == 181, "at once, then every five seconds, and once more at the deadline"
