# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Pods use of a quota, by the quota system's own rule."""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Iterable, Mapping
from decimal import Decimal

from . import quantities
from .api import JsonObject
from .store import dig

_NATIVE = frozenset({"cpu", "memory", "ephemeral-storage"})


def counts(pod: JsonObject, now: datetime.datetime) -> bool:
    """Whether a quota counts a Pod: not when it has finished, nor when it is Terminating past its grace."""
    if dig(pod, "status", "phase") in {"Succeeded", "Failed"}:
        return False
    deleted = pod["metadata"].get("deletionTimestamp")
    grace = pod["metadata"].get("deletionGracePeriodSeconds")
    if deleted is None or grace is None:
        return True
    return now <= datetime.datetime.fromisoformat(deleted) + datetime.timedelta(seconds=grace)


def of_pod(pod: JsonObject) -> dict[str, Decimal]:
    """A Pod's amounts by quota key: the containers together, or the greediest init container."""
    spec = pod["spec"]
    total: dict[str, Decimal] = defaultdict(Decimal)
    for container in spec.get("containers") or []:
        for key, amount in _of_container(container).items():
            total[key] += amount
    for container in spec.get("initContainers") or []:
        amounts = _of_container(container)
        if container.get("restartPolicy") == "Always":
            for key, amount in amounts.items():
                total[key] += amount
        else:
            for key, amount in amounts.items():
                total[key] = max(total[key], amount)
    total["pods"] = Decimal(1)
    return dict(total)


def _of_container(container: JsonObject) -> dict[str, Decimal]:
    limits: Mapping[str, str] = dig(container, "resources", "limits", default={})
    requests: Mapping[str, str] = {**limits, **dig(container, "resources", "requests", default={})}
    amounts = {f"requests.{name}": quantities.parse(amount) for name, amount in requests.items()}
    amounts |= {
        f"limits.{name}": quantities.parse(amount) for name, amount in limits.items() if name in _NATIVE
    }
    return amounts


class UsageBook:
    """Remembers what each Pod uses, so that a recount parses only Pods that changed."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, dict[str, Decimal]]] = {}

    def by_namespace(
        self, pods: Iterable[JsonObject], now: datetime.datetime
    ) -> dict[str, dict[str, Decimal]]:
        """Amounts in use by namespace and quota key."""
        known, totals = {}, defaultdict[str, dict[str, Decimal]](lambda: defaultdict(Decimal))
        for pod in pods:
            meta = pod["metadata"]
            entry = self._known.get(meta["uid"])
            if entry is None or entry[0] != meta["resourceVersion"]:
                entry = (meta["resourceVersion"], of_pod(pod))
            known[meta["uid"]] = entry
            if counts(pod, now):
                book = totals[meta["namespace"]]
                for key, amount in entry[1].items():
                    book[key] += amount
        self._known = known
        return totals


def texts(amounts: Mapping[str, Decimal], keys: Iterable[str]) -> dict[str, str]:
    """The amounts in use for the keys of a quota, as a quota's status writes them."""
    return {
        key: quantities.memory(amounts.get(key, Decimal(0)))
        if key.endswith((".memory", ".storage"))
        else quantities.count(amounts.get(key, Decimal(0)))
        for key in keys
    }
