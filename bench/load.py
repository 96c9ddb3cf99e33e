# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Creates the objects of a generated fleet, and keeps the times in them fresh."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import yaml

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.kube import KubeClient
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.outcome_unknown import (
    OutcomeUnknown,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import ConflictError

from . import machinery, tenants
from .fleet import CONFIG
from .items import Item
from .shape import Shape

DEFINITIONS = Path(__file__).resolve().parent.parent / "lab" / "platform" / "manifests" / "definitions.yaml"
_THREADS = 12
_TRIES = 5
_DEFINITIONS_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

Work = TypeVar("Work")


def load(client: KubeClient, shape: Shape, say: Callable[[str], None]) -> None:
    """Creates everything; what is there already stays."""
    names = [_define(client, definition) for definition in yaml.safe_load_all(DEFINITIONS.read_text())]
    for name in names:
        _await_served(client, name)
    steps: list[tuple[str, Iterable[Item]]] = [
        ("the product", machinery.platform(CONFIG)),
        ("namespaces", tenants.namespaces(shape)),
        ("accounts", tenants.accounts(shape)),
        ("nodes", machinery.nodes(shape)),
        ("leases", machinery.leases(shape)),
        ("organizations and projects", tenants.organizations(shape)),
        ("machines", tenants.machines(shape)),
        ("Pods", machinery.pods(shape)),
        ("quotas", tenants.quotas(shape)),
    ]
    for what, items in steps:
        count = _in_threads(items, lambda item: _create(client, item))
        say(f"{shape.name}: {count} objects: {what}")


def freshen(client: KubeClient, shape: Shape) -> None:
    """Renews every lease, and the time of every organization's status: nothing else does it here."""

    def renew(number: int) -> None:
        path = f"{machinery.LEASES}/{machinery.node_name(number)}"
        client.patch(path, {"spec": {"renewTime": machinery.beat()}})

    def update(number: int) -> None:
        name = tenants.organization(number)
        path = f"/apis/kube-dc.com/v1/namespaces/{name}/organizations/{name}/status"
        client.patch(path, {"status": {"quotaUsage": tenants.usage(shape, number)}})

    _in_threads(range(shape.organizations), update)
    _in_threads(range(shape.nodes), renew)


def _define(client: KubeClient, definition: dict[str, Any]) -> str:
    with contextlib.suppress(ConflictError):  # a load that was interrupted goes on
        client.create(_DEFINITIONS_PATH, definition)
    return str(definition["metadata"]["name"])


def _await_served(client: KubeClient, name: str) -> None:
    waiting = threading.Event()
    for _ in range(600):
        found = client.get(f"{_DEFINITIONS_PATH}/{name}", dict[str, Any]) or {}
        conditions = found.get("status", {}).get("conditions", [])
        if any(one["type"] == "Established" and one["status"] == "True" for one in conditions):
            return
        waiting.wait(0.05)
    raise RuntimeError(f"{name} was not established within 30 s")


def _create(client: KubeClient, item: Item) -> None:
    with contextlib.suppress(ConflictError):
        client.create(item.path, item.content)
    if item.status is not None:
        client.patch(f"{item.own_path}/status", {"status": item.status})
    if item.then is not None:
        client.patch(item.own_path, item.then)


def _until_answered(do: Callable[[Work], None], piece: Work) -> None:
    """Does it again where a busy server gave no answer: whatever is done here may be done twice."""
    for _ in range(_TRIES - 1):
        try:
            return do(piece)
        except OutcomeUnknown:
            continue
    return do(piece)


def _in_threads(work: Iterable[Work], do: Callable[[Work], None]) -> int:
    """Does all of it; threads take the next piece from one iterator, so that little waits in memory."""
    source, guard = iter(work), threading.Lock()
    count = 0

    def taken() -> Iterator[Work]:
        nonlocal count
        while True:
            with guard:
                try:
                    piece = next(source)
                except StopIteration:
                    return
                count += 1
            yield piece

    def run() -> None:
        for piece in taken():
            _until_answered(do, piece)

    with ThreadPoolExecutor(_THREADS) as pool:
        for future in [pool.submit(run) for _ in range(_THREADS)]:
            future.result()
    return count
