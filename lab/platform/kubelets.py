# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of kubelets: a lease that is no longer renewed, a node that says it is not ready.

KWOK plays a node only while it holds the node's lease. A fault takes the lease, with which KWOK lets go of
node and Pods, and plays what is left of the kubelet itself; when it is lifted the lease is free again.
"""

from __future__ import annotations

import datetime
import logging
import time

from .api import LEASES, NODES, JsonObject
from .faults import Faults
from .product import Product, each, stamp, utc_now
from .store import dig

LOG = logging.getLogger("lab.platform")
HOLDER = "lab-fault"
NAMESPACE = "kube-node-lease"
STALE_SECONDS = 3600
BEAT_SECONDS = 5.0
# No other holder may find the lease expired and take it while the fault stands.
DURATION_SECONDS = 10**7
WATCHED = (NODES,)
REASONS = {
    "True": ("KubeletReady", "kubelet is posting ready status"),
    "False": ("KubeletNotReady", "container runtime is down"),
    "Unknown": ("NodeStatusUnknown", "Kubelet stopped posting node status."),
}


class Kubelets:
    """Takes leases of nodes with a fault, and gives them back."""

    def __init__(self, product: Product) -> None:
        self._product = product
        self._taken: dict[str, float] | None = None

    def play(self) -> None:
        """Make leases and Ready conditions what the faults say."""
        if self._taken is None:
            # A platform that was started anew finds the leases that the one before it had taken.
            held = self._product.api.admin.list(LEASES, NAMESPACE)
            self._taken = {
                item["metadata"]["name"]: 0.0
                for item in held
                if dig(item, "spec", "holderIdentity") == HOLDER
            }
        current = self._product.faults()
        each("kubelets", self._product.store.list(NODES), lambda item: self._node(item, current))

    def _node(self, item: JsonObject, current: Faults) -> None:
        assert self._taken is not None
        name = item["metadata"]["name"]
        unknown = current.hits("node-unknown", name)
        stale, down = current.hits("stale-lease", name) or unknown, current.hits("node-not-ready", name)
        if not stale and not down:
            if name in self._taken:
                self._give_back(name, item)
            return
        ready = _ready(item)
        fault = "Unknown" if unknown else "False" if down else "True"
        due = time.monotonic() - self._taken.get(name, 0.0) >= BEAT_SECONDS
        if due or name not in self._taken:
            age = datetime.timedelta(seconds=STALE_SECONDS if stale else 0)
            self._lease(name, HOLDER, utc_now() - age, DURATION_SECONDS)
            self._taken[name] = time.monotonic()
        # The beat keeps the node controller from declaring a node with a stale lease unknown.
        if due or dig(ready, "status") != fault:
            self._condition(name, item, fault)

    def _give_back(self, name: str, item: JsonObject) -> None:
        assert self._taken is not None
        self._condition(name, item, "True")
        self._lease(name, None, utc_now(), 40)
        del self._taken[name]
        LOG.info("node %s: its kubelet is back", name)

    def _lease(self, name: str, holder: str | None, renewed: datetime.datetime, seconds: int) -> None:
        spec = {
            "holderIdentity": holder,
            "renewTime": renewed.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "leaseDurationSeconds": seconds,
        }
        self._product.api.admin.patch(LEASES, name, {"spec": spec}, NAMESPACE)

    def _condition(self, name: str, item: JsonObject, status: str) -> None:
        now = stamp(utc_now())
        old = _ready(item)
        reason, message = REASONS[status]
        condition = {
            "type": "Ready",
            "status": status,
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": now,
            "lastTransitionTime": now if dig(old, "status") != status else dig(old, "lastTransitionTime"),
        }
        others = [
            entry for entry in dig(item, "status", "conditions", default=[]) if entry["type"] != "Ready"
        ]
        patch = {"status": {"conditions": [*others, condition]}}
        written = self._product.api.admin.patch(NODES, name, patch, None, "status")
        self._product.store.wrote(NODES, written)


def _ready(item: JsonObject) -> JsonObject | None:
    for entry in dig(item, "status", "conditions", default=[]):
        if entry["type"] == "Ready":
            return dict(entry)
    return None
