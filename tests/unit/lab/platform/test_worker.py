# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Workers: a pass after each change, none lost to an error, and delays that start anew with another wish."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lab.platform import worker
from lab.platform.api import NODES, ApiError
from lab.platform.store import Store


@contextmanager
def running(step: object, store: Store) -> Iterator[worker.Worker]:
    assert callable(step)
    one = worker.Worker("test", step, store, [NODES], every=60.0)
    one.start()
    try:
        yield one
    finally:
        one.stop()
        one.join(5)


def node(version: int) -> dict[str, object]:
    return {"metadata": {"name": "n", "resourceVersion": str(version)}}


def test_a_change_is_followed_by_a_pass() -> None:
    store, passes = Store([NODES]), threading.Semaphore(0)
    with running(passes.release, store):
        assert passes.acquire(timeout=5)
        store.seen(NODES, "ADDED", node(1))
        assert passes.acquire(timeout=5)


@pytest.mark.parametrize("error", [ApiError(409, "Conflict", ""), ApiError(500, "", ""), RuntimeError("bug")])
def test_an_error_ends_the_pass_and_not_the_worker(error: Exception) -> None:
    store, passes = Store([NODES]), threading.Semaphore(0)
    failed: list[Exception] = []

    def step() -> None:
        if not failed:
            failed.append(error)
            raise error
        passes.release()

    with running(step, store):
        assert passes.acquire(timeout=5), "the pass is made again without a change"
        store.seen(NODES, "ADDED", node(1))
        assert passes.acquire(timeout=5)


def test_flush_returns_after_a_pass_that_began_later() -> None:
    store, seen = Store([NODES]), []
    gate = threading.Event()

    def step() -> None:
        gate.wait(5)
        seen.append(store.get(NODES, "n") is not None)

    with running(step, store) as one:
        store.seen(NODES, "ADDED", node(1))
        gate.set()
        assert one.flush(5)
        assert seen[-1] is True


def test_flush_gives_up_when_the_worker_hangs() -> None:
    store, gate = Store([NODES]), threading.Event()
    with running(lambda: gate.wait(5), store) as one:
        assert not one.flush(0.1)
        gate.set()


def test_lag(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr("lab.platform.worker.time.monotonic", lambda: clock[0])
    lag = worker.Lag()
    assert lag.due("now", 1, 0)
    assert not lag.due("later", 1, 2)
    clock[0] += 1.5
    assert not lag.due("later", 1, 2)
    assert not lag.due("later", 2, 2), "another wish waits from its own beginning"
    clock[0] += 1.5
    assert not lag.due("later", 2, 2)
    clock[0] += 0.5
    assert lag.due("later", 2, 2)
    lag.forget("later")
    assert not lag.due("later", 2, 2)
    assert lag.first("line", "a")
    assert not lag.first("line", "a")
    assert lag.first("line", "b")
