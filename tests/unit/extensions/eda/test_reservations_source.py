# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The event source: what counts as a change, how a watch goes on, when an event comes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.gpuops.reservations.extensions.eda.plugins.event_source import reservations
from ansible_collections.gpuops.reservations.extensions.eda.plugins.event_source.reservations import (
    PATHS,
    Expired,
    Mirror,
    Server,
    _tell,
    follow,
)

Json = dict[str, Any]
ROOT = Path(__file__).resolve().parents[4]


def node(name: str = "n1", version: str = "1", **change: Any) -> Json:
    meta = {"name": name, "resourceVersion": version, "labels": {"a": "b"}, **change.pop("metadata", {})}
    return {"metadata": meta, "spec": change.pop("spec", {}), "status": change.pop("status", {})}


def reservation(generation: int = 1, **meta: Any) -> Json:
    return {"metadata": {"name": "foo", "generation": generation, "resourceVersion": "1", **meta}, "spec": {}}


def seen_twice(kind: str, first: Json, second: Json) -> bool:
    mirror = Mirror()
    mirror.see(kind, first)
    mirror.take_changed()
    return mirror.see(kind, second)


@pytest.mark.parametrize(
    "second",
    [
        node(version="9"),
        node(status={"conditions": [{"type": "Ready", "lastHeartbeatTime": "x"}]}),
        node(metadata={"annotations": {"volumes.kubernetes.io/controller": "x"}}),
        node(spec={"taints": [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]}),
    ],
)
def test_a_node_s_own_life_is_no_change(second: Json) -> None:
    assert not seen_twice("Node", node(), second)


@pytest.mark.parametrize(
    "second",
    [
        node(metadata={"labels": {"a": "c"}}),
        node(metadata={"annotations": {"gpuops.reservations/keep-cordoned": ""}}),
        node(spec={"taints": [{"key": "reserved", "value": "x", "effect": "NoSchedule"}]}),
        node(spec={"unschedulable": True}),
    ],
)
def test_what_a_reconcile_goes_by_is_a_change(second: Json) -> None:
    assert seen_twice("Node", node(), second)


def test_a_reservation_changes_with_its_generation_and_deletion_only() -> None:
    assert not seen_twice("Reservation", reservation(), reservation(resourceVersion="5"))
    assert seen_twice("Reservation", reservation(), reservation(2))
    assert seen_twice("Reservation", reservation(), reservation(deletionTimestamp="x"))


def test_what_a_list_lacks_is_gone() -> None:
    mirror = Mirror()
    assert mirror.see_all("Node", [node("n1"), node("n2")])
    assert mirror.take_changed() == ["Node n1", "Node n2"]
    assert not mirror.see_all("Node", [node("n1"), node("n2")])
    assert mirror.see_all("Node", [node("n2")])
    assert mirror.take_changed() == ["Node n1"]
    binding = {"metadata": {"name": "b", "namespace": "ns", "generation": 1}}
    assert mirror.see_all("ReservationBinding", [binding])
    assert mirror.see_all("ReservationBinding", [])
    assert mirror.take_changed() == ["ReservationBinding ns/b"]


def test_draining_is_known_by_the_mark() -> None:
    mirror = Mirror()
    mirror.see("Node", node())
    assert not mirror.draining()
    mirror.see("Node", node(metadata={"annotations": {"gpuops.reservations/cordon": "{}"}}))
    assert mirror.draining()


class ScriptedServer:
    """Answers lists and watches in order; ends the test when there is nothing more to answer."""

    def __init__(self, stop: threading.Event, *answers: Any) -> None:
        self.stop = stop
        self.answers = list(answers)
        self.asked: list[str] = []

    def _next(self) -> Any:
        if not self.answers:
            self.stop.set()
            return ()
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def list(self, _path: str) -> tuple[list[Json], str]:
        self.asked.append("list")
        found: tuple[list[Json], str] = self._next() or ([], "0")
        return found

    def watch(self, _path: str, version: str) -> Iterator[Json]:
        self.asked.append(f"watch {version}")
        yield from self._next()


def followed(monkeypatch: pytest.MonkeyPatch, *answers: Any) -> tuple[ScriptedServer, int]:
    """What the server was asked, and how often a change was told."""
    stop = threading.Event()
    monkeypatch.setattr(reservations, "LONGEST_PAUSE", 0.0)
    server, told = ScriptedServer(stop, *answers), []
    follow(server, "Node", Mirror(), lambda: told.append(1), stop)  # type: ignore[arg-type]
    return server, len(told)


def event(kind: str, document: Json) -> Json:
    return {"type": kind, "object": document}


def test_a_watch_resumes_from_the_last_version_it_saw(monkeypatch: pytest.MonkeyPatch) -> None:
    server, told = followed(
        monkeypatch,
        ([node()], "5"),
        [event("MODIFIED", node(version="7", spec={"unschedulable": True}))],
        [event("BOOKMARK", {"metadata": {"resourceVersion": "20"}})],
    )
    assert server.asked == ["list", "watch 5", "watch 7", "watch 20"]
    assert told == 2


@pytest.mark.parametrize("error", [OSError("reset"), ValueError("half a line"), KeyError("metadata")])
def test_an_error_ends_no_watch_for_good(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    server, _ = followed(monkeypatch, ([node()], "5"), error, error, [event("ADDED", node("n2", "6"))])
    assert server.asked == ["list", "watch 5", "watch 5", "watch 5", "watch 6"]


def test_an_expired_version_lists_again_and_tells_what_was_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = node(version="30", spec={"unschedulable": True})
    server, told = followed(monkeypatch, ([node()], "5"), Expired("x"), ([changed], "30"), [])
    assert server.asked == ["list", "watch 5", "list", "watch 30", "watch 30"]
    assert told == 2


def test_what_goes_on_failing_is_listed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a backup was restored the version to resume from may never come."""
    future = OSError("504: Too large resource version")
    server, _ = followed(monkeypatch, ([node()], "900"), future, future, future, ([node()], "5"))
    assert server.asked == ["list", "watch 900", "watch 900", "watch 900", "list", "watch 5"]


class Waiting(threading.Event):
    """Remembers how long it was waited for, and waits for nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.pauses: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.pauses.append(timeout or 0.0)
        return self.is_set()


@pytest.mark.parametrize(
    "answer", [OSError("refused"), (), Expired("x")], ids=["errors", "silence", "expiry"]
)
def test_a_server_that_ends_everything_is_asked_less_and_less(answer: Any) -> None:
    stop = Waiting()
    again = [answer, ([node()], "5")] if isinstance(answer, Expired) else [answer]
    server = ScriptedServer(stop, ([node()], "5"), *(again * 9))
    follow(server, "Node", Mirror(), lambda: None, stop)  # type: ignore[arg-type]
    assert stop.pauses[:6] == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0]
    assert max(stop.pauses) == 30.0


def test_a_word_of_the_server_makes_the_next_pause_short(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = Waiting()
    heard = [event("BOOKMARK", {"metadata": {"resourceVersion": "20"}})]
    server = ScriptedServer(stop, ([node()], "5"), OSError("x"), OSError("x"), heard, OSError("x"))
    follow(server, "Node", Mirror(), lambda: None, stop)  # type: ignore[arg-type]
    assert stop.pauses[:3] == [1.0, 2.0, 1.0]


def test_a_list_that_fails_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    server, _ = followed(monkeypatch, OSError("403"), ([node()], "5"))
    assert server.asked == ["list", "list", "watch 5"]


def test_a_node_that_goes_is_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    _, told = followed(monkeypatch, ([node()], "5"), [event("DELETED", node(version="6"))])
    assert told == 2


QUICK = {"settle_seconds": 0, "least_seconds": 0, "drain_seconds": 0.01, "resync_seconds": 0.01}


def told_by(mirror: Mirror, *, due: bool, count: int = 1, **options: float) -> list[Json]:
    async def run() -> list[Json]:
        queue: asyncio.Queue[Any] = asyncio.Queue()
        flag = asyncio.Event()
        if due:
            flag.set()
        task = asyncio.create_task(_tell(queue, mirror, flag, {**QUICK, **options}))
        found = [(await asyncio.wait_for(queue.get(), 10))["reservations"] for _ in range(count)]
        task.cancel()
        return found

    return asyncio.run(run())


def test_many_changes_are_one_event() -> None:
    mirror = Mirror()
    for number in range(100):
        mirror.see("Node", node(f"n{number:03d}"))
    first, second = told_by(mirror, due=True, count=2)
    assert first["reason"] == "changed"
    assert len(first["changed"]) == 50
    assert second == {"reason": "resync", "changed": []}


def test_a_drain_is_asked_about_without_a_change() -> None:
    mirror = Mirror()
    mirror.see("Node", node(metadata={"annotations": {"gpuops.reservations/cordon": "{}"}}))
    mirror.take_changed()
    [first] = told_by(mirror, due=False, resync_seconds=3600)
    assert first["reason"] == "draining"


def test_there_is_no_ambient_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KUBECONFIG", "K8S_AUTH_KUBECONFIG", "K8S_AUTH_HOST"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match="set kubeconfig, or host"):
        Server({})


def test_the_rulebook_runs_the_playbook_on_this_source() -> None:
    path = ROOT / "extensions" / "eda" / "rulebooks" / "reservations.yml"
    [ruleset] = yaml.safe_load(path.read_text())
    assert list(ruleset["sources"][0]) == ["gpuops.reservations.reservations"]
    assert ruleset["execution_strategy"] == "sequential"
    [rule] = ruleset["rules"]
    assert rule["action"]["run_playbook"]["name"] == "gpuops.reservations.reservations"
    assert (ROOT / "playbooks" / "reservations.yml").is_file()
    assert set(PATHS) == {"Reservation", "ReservationBinding", "Node"}
