# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_reservation's work on a cluster in memory: a pass, a kill, and the state that has to come of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import GpuopsError
from ansible_collections.gpuops.reservations.plugins.module_utils._shell import reservation
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.outcome import Outcome
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.run import Invocation
from ansible_collections.gpuops.reservations.plugins.modules import gpu_reservation
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._shell.memory_cluster import (
    MemoryCluster,
)

Json = dict[str, Any]
FOO, BAR = "tenant-foo", "tenant-bar"
GROUP = "/apis/scheduling.coreweave.cloud/v1alpha1"
RESERVATIONS = f"{GROUP}/reservations"
NODES = "/api/v1/nodes"


class MemoryReach:
    """Stands for Reach: the cluster in memory."""

    def __init__(self, cluster: MemoryCluster) -> None:
        self.client = cluster


def use(monkeypatch: pytest.MonkeyPatch, cluster: MemoryCluster) -> None:
    """Let the module's work run on this cluster."""
    monkeypatch.setattr(reservation, "Reach", lambda _params: MemoryReach(cluster))
    ledger = SimpleNamespace(policy=SimpleNamespace(pools={}))
    confirmed = SimpleNamespace(ledger=ledger, lock=SimpleNamespace(pools={}))
    monkeypatch.setattr(reservation, "confirm", lambda _reach: confirmed)


def reconcile(**given: Any) -> Outcome:
    defaults = {name: option.get("default") for name, option in gpu_reservation.SPEC.options.items()}
    check_mode = bool(given.pop("check_mode", False))
    return reservation.reconcile_reservations(
        Invocation({**defaults, **given}, check_mode, lambda _text: None)
    )


def attempt(**given: Any) -> GpuopsError | None:
    """The error of a run, None where it succeeds."""
    try:
        reconcile(**given)
    except GpuopsError as error:
        return error
    return None


def cluster_of(*nodes: str) -> MemoryCluster:
    """Nodes, and a namespace for each tenant with a binding of tenant-foo's."""
    cluster = MemoryCluster()
    for name in nodes:
        cluster.put(f"{NODES}/{name}", {"metadata": {"labels": {"rack": "a"}}, "spec": {}})
    for tenant in (FOO, BAR):
        cluster.put(f"/api/v1/namespaces/{tenant}", {"metadata": {"labels": {"reserved.tenant": tenant}}})
    bind(cluster, FOO, "foo")
    return cluster


def bind(cluster: MemoryCluster, tenant: str, reservation_name: str) -> None:
    spec = {"reservationName": reservation_name, "podSelector": {}}
    cluster.put(f"{GROUP}/namespaces/{tenant}/reservationbindings/binding", {"metadata": {}, "spec": spec})


def reserve(cluster: MemoryCluster, name: str, tenant: str, *nodes: str, **spec: Any) -> None:
    cluster.put(
        f"{RESERVATIONS}/{name}",
        {"metadata": {}, "spec": {"tenant": tenant, "reservedNodes": list(nodes), **spec}},
    )


def edit(cluster: MemoryCluster, name: str, **spec: Any) -> None:
    cluster.change(f"{RESERVATIONS}/{name}", {"spec": spec})


def run_pod(cluster: MemoryCluster, name: str, node: str, tenant: str = FOO) -> str:
    path = f"/api/v1/namespaces/{tenant}/pods/{name}"
    cluster.put(path, {"metadata": {}, "spec": {"nodeName": node}, "status": {"phase": "Running"}})
    return path


def marks(cluster: MemoryCluster, name: str) -> tuple[str, str, bool]:
    """A node's tenant by label, holder by annotation, and whether it is cordoned."""
    node = cluster.objects[f"{NODES}/{name}"]
    meta = node["metadata"]
    return (
        meta.get("labels", {}).get("reserved.tenant", ""),
        meta.get("annotations", {}).get("gpuops.reservations/reserved-by", ""),
        bool(node["spec"].get("unschedulable")),
    )


def state(cluster: MemoryCluster) -> Json:
    """What has to be the same however a run went: nodes, and what Reservations say of them."""
    found: Json = {}
    for path, document in cluster.objects.items():
        if path.startswith(f"{NODES}/"):
            meta = document["metadata"]
            annotations = {k: v for k, v in meta.get("annotations", {}).items() if k.startswith("gpuops.")}
            found[path] = (meta.get("labels", {}), annotations, document["spec"])
        if path.startswith(f"{RESERVATIONS}/"):
            status = document.get("status", {})
            conditions = [(c["type"], c["status"], c["reason"]) for c in status.get("conditions", [])]
            found[path] = (status.get("nodes"), conditions, document["metadata"].get("finalizers"))
    return found
