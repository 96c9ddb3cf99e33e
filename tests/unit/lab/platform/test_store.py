# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The store: order of events, deletions, and what a fresh list puts right."""

from __future__ import annotations

from typing import Any

from lab.platform.api import NODES, PODS
from lab.platform.store import Store, dig


def item(name: str, version: int, namespace: str = "", **more: Any) -> dict[str, Any]:
    meta = {"name": name, "resourceVersion": str(version), "managedFields": [1]}
    return {"metadata": {**meta, **({"namespace": namespace} if namespace else {})}, **more}


class Listing:
    """An API server that lists these items."""

    def __init__(self, *items: dict[str, Any]) -> None:
        self.items = items

    def pages(self, _kind: object) -> tuple[dict[str, Any], ...]:
        return self.items


def test_an_older_event_changes_nothing() -> None:
    store = Store([NODES])
    store.seen(NODES, "MODIFIED", item("n", 5, spec=1))
    store.seen(NODES, "ADDED", item("n", 4, spec=2))
    found = store.get(NODES, "n")
    assert found is not None
    assert found["spec"] == 1
    assert "managedFields" not in found["metadata"]


def test_a_late_event_does_not_bring_back_what_was_deleted() -> None:
    store = Store([NODES])
    store.seen(NODES, "ADDED", item("n", 5))
    store.seen(NODES, "DELETED", item("n", 7))
    store.seen(NODES, "MODIFIED", item("n", 6))
    assert store.get(NODES, "n") is None
    store.seen(NODES, "ADDED", item("n", 8))
    assert store.get(NODES, "n") is not None


def test_a_late_deletion_does_not_remove_a_namesake() -> None:
    store = Store([NODES])
    store.seen(NODES, "ADDED", item("n", 9))
    store.seen(NODES, "DELETED", item("n", 7))
    assert store.get(NODES, "n") is not None


def test_a_fresh_list_drops_what_is_gone_and_keeps_what_is_newer() -> None:
    store = Store([PODS])
    store.seen(PODS, "ADDED", item("gone", 3, "a"))
    store.seen(PODS, "ADDED", item("kept", 4, "a"))
    store.load(PODS, Listing(item("kept", 6, "a"), item("new", 5, "b")))  # type: ignore[arg-type]
    assert [entry["metadata"]["name"] for entry in store.list(PODS)] == ["kept", "new"]
    assert [entry["metadata"]["name"] for entry in store.list(PODS, "b")] == ["new"]


def test_listeners_are_woken_by_their_kinds_alone() -> None:
    store, woken = Store([NODES, PODS]), []
    store.listen([PODS], lambda: woken.append("pods"))
    store.seen(NODES, "ADDED", item("n", 1))
    assert woken == []
    store.seen(PODS, "ADDED", item("p", 2, "a"))
    store.seen(PODS, "DELETED", item("p", 3, "a"))
    assert woken == ["pods", "pods"]


def test_dig_takes_null_and_missing_for_the_default() -> None:
    assert dig({"a": {"b": None}}, "a", "b", default=1) == 1
    assert dig({"a": 3}, "a", "b", default=2) == 2
    assert dig(None, "a") is None
    assert dig({"a": {"b": 0}}, "a", "b", default=1) == 0
