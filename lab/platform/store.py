# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the product's controllers have last seen of the cluster.

The store is filled by a list at the start, kept by kopf's watches, and compared with a fresh list every
half minute, because a watch that had to begin anew says nothing about what went away meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from .api import Api, JsonObject, Kind

Key: TypeAlias = tuple[str, str]


def key_of(document: JsonObject) -> Key:
    """(namespace, name); the namespace is empty for what is cluster-wide."""
    meta = document["metadata"]
    return meta.get("namespace", ""), meta["name"]


def _version(document: JsonObject) -> int:
    text = document["metadata"].get("resourceVersion", "0")
    return int(text) if text.isdigit() else 0


class Store:
    """Objects by kind, safe to read from any thread. What is read must not be changed."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        self._lock = threading.RLock()
        # By kind, namespace and name: most questions are about one namespace.
        self._objects: dict[Kind, dict[str, dict[str, JsonObject]]] = {kind: {} for kind in kinds}
        self._deleted: dict[Kind, dict[Key, int]] = {kind: {} for kind in kinds}
        self._listeners: list[tuple[frozenset[Kind], Callable[[], None]]] = []

    @property
    def kinds(self) -> list[Kind]:
        """What is watched."""
        return list(self._objects)

    def listen(self, kinds: Iterable[Kind], wake: Callable[[], None]) -> None:
        """Call `wake` after any change of one of these kinds."""
        self._listeners.append((frozenset(kinds), wake))

    def list(self, kind: Kind, namespace: str | None = None) -> list[JsonObject]:
        """All objects of a kind (in a namespace)."""
        with self._lock:
            places = self._objects[kind]
            if namespace is not None:
                return list(places.get(namespace, {}).values())
            return [item for names in places.values() for item in names.values()]

    def get(self, kind: Kind, name: str, namespace: str = "") -> JsonObject | None:
        """One object, or None."""
        with self._lock:
            return self._objects[kind].get(namespace, {}).get(name)

    def seen(self, kind: Kind, event: str | None, document: JsonObject) -> None:
        """Take in one event of a watch; what is older than what is known changes nothing."""
        key, version = key_of(document), _version(document)
        with self._lock:
            place = self._objects[kind].setdefault(key[0], {})
            known = place.get(key[1])
            if event == "DELETED":
                self._deleted[kind][key] = version
                if known is None or _version(known) > version:
                    return
                del place[key[1]]
            else:
                if version <= self._deleted[kind].get(key, -1) or (known and _version(known) >= version):
                    return
                document["metadata"].pop("managedFields", None)
                place[key[1]] = document
        self._wake(kind)

    def wrote(self, kind: Kind, document: JsonObject) -> None:
        """Take in the answer to a write of our own, so that the next look is not at what was before it."""
        self.seen(kind, "MODIFIED", document)

    def load(self, kind: Kind, api: Api) -> None:
        """Compare with a list of the server's, and drop what is no longer there."""
        with self._lock:
            before = {key_of(item): item for item in self.list(kind)}
        listed = {key_of(item): item for item in api.pages(kind)}
        for item in listed.values():
            self.seen(kind, None, item)
        gone = False
        with self._lock:
            for key, item in before.items():
                place = self._objects[kind].get(key[0], {})
                known = place.get(key[1])
                if key not in listed and known is not None and _version(known) == _version(item):
                    del place[key[1]]
                    gone = True
            self._deleted[kind].clear()
        if gone:
            self._wake(kind)

    def _wake(self, kind: Kind) -> None:
        for kinds, wake in self._listeners:
            if kind in kinds:
                wake()


def dig(document: JsonObject | None, *path: str, default: Any = None) -> Any:
    """The value at a path of keys, or the default where a part of the path is missing or null."""
    value: Any = document
    for part in path:
        if not isinstance(value, dict):
            return default
        value = value.get(part)
    return default if value is None else value
