# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Nodes, Pods, Reservations and bindings for tests, with what matters in a line each."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from ansible_collections.gpuops.reservations.plugins.module_utils._core.cluster_objects import Namespace, Pod
from ansible_collections.gpuops.reservations.plugins.module_utils._core.reservation_objects import (
    DaemonSet,
    ReservableNode,
    Reservation,
    ReservationBinding,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.reservation_world import (
    ReservationWorld,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.tenant_pods import (
    Tenancies,
    placed_pods,
)

NOW = "2026-11-30T12:00:00Z"
FOO, BAR = "tenant-foo", "tenant-bar"
RESERVED_BY = "gpuops.reservations/reserved-by"
CORDON = "gpuops.reservations/cordon"
Json = dict[str, Any]


def taint(value: str = FOO, effect: str = "NoSchedule", key: str = "reserved") -> Json:
    return {"key": key, "value": value, "effect": effect}


def cordon_mark(name: str = "foo", by: str = "reservation", since: str = "2026-11-30T11:00:00Z") -> str:
    return json.dumps({"by": by, "id": name, "since": since})


def node(
    name: str,
    *,
    labels: Json | None = None,
    annotations: Json | None = None,
    taints: Iterable[Json] = (),
    unschedulable: bool = False,
    ready: bool = True,
    gpus: int = 8,
) -> ReservableNode:
    return ReservableNode.model_validate(
        {
            "metadata": {
                "name": name,
                "uid": f"uid-{name}",
                "resourceVersion": "1",
                "labels": labels or {},
                "annotations": annotations or {},
            },
            "spec": {"taints": list(taints), "unschedulable": unschedulable},
            "status": {
                "allocatable": {"nvidia.com/gpu": str(gpus), "pods": "110"},
                "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
            },
        }
    )


def held_node(name: str, reservation: str = "foo", tenant: str = FOO, **more: Any) -> ReservableNode:
    """A node with everything that a Reservation puts on it."""
    labels = {"reserved.tenant": tenant, **more.pop("labels", {})}
    annotations = {RESERVED_BY: reservation, **more.pop("annotations", {})}
    taints = (*more.pop("taints", ()), taint(tenant))
    return node(name, labels=labels, annotations=annotations, taints=taints, **more)


def draining_node(name: str, reservation: str = "foo", tenant: str = FOO, **more: Any) -> ReservableNode:
    annotations = {CORDON: cordon_mark(reservation), **more.pop("annotations", {})}
    return held_node(name, reservation, tenant, annotations=annotations, unschedulable=True, **more)


def reservation(
    name: str = "foo",
    tenant: str = FOO,
    nodes: Iterable[str] | None = None,
    *,
    created: str = "2026-11-01T00:00:00Z",
    generation: int = 1,
    observed: int | None = None,
    accepted: bool = True,
    phases: Json | None = None,
    deleting: bool = False,
    **spec: Any,
) -> Reservation:
    """``phases`` are the nodes of its status; with them it counts as judged before."""
    names = {} if nodes is None else {"reservedNodes": list(nodes)}
    status: Json = {}
    if phases is not None or observed is not None:
        status = {
            "observedGeneration": generation if observed is None else observed,
            "reserved": sum(phase == "Reserved" for phase in (phases or {}).values()),
            "nodes": [{"name": n, "phase": phase, "tenantPods": 0} for n, phase in (phases or {}).items()],
            "conditions": [{"type": "Accepted", "status": "True" if accepted else "False"}],
        }
    meta = {
        "name": name,
        "uid": f"uid-{name}",
        "generation": generation,
        "resourceVersion": "1",
        "creationTimestamp": created,
        "deletionTimestamp": NOW if deleting else "",
    }
    return Reservation.model_validate(
        {"metadata": meta, "spec": {"tenant": tenant, **names, **spec}, "status": status}
    )


def binding(
    name: str = "binding",
    namespace: str = FOO,
    reservation_name: str = "foo",
    *,
    created: str = "2026-11-02T00:00:00Z",
    selector: Json | None = None,
    status: Json | None = None,
    **spec: Any,
) -> ReservationBinding:
    chosen = {"matchLabels": {"app": "train"}} if selector is None else selector
    meta = {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{namespace}-{name}",
        "generation": 1,
        "resourceVersion": "1",
        "creationTimestamp": created,
    }
    return ReservationBinding.model_validate(
        {
            "metadata": meta,
            "spec": {"reservationName": reservation_name, "podSelector": chosen, **spec},
            "status": status or {},
        }
    )


def pod(
    name: str,
    on: str = "",
    namespace: str = FOO,
    *,
    phase: str = "Running",
    owner: Json | None = None,
    labels: Json | None = None,
    tolerations: Iterable[Json] = (),
    annotations: Json | None = None,
    deleting: bool = False,
    scheduled: str = "2026-11-30T10:00:00Z",
    gpus: int = 0,
) -> Pod:
    meta = {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{namespace}-{name}",
        "labels": labels or {},
        "annotations": annotations or {},
        "ownerReferences": [owner] if owner else [],
        "deletionTimestamp": NOW if deleting else "",
        "creationTimestamp": scheduled,
    }
    limits = {"nvidia.com/gpu": str(gpus)} if gpus else {}
    return Pod.model_validate(
        {
            "metadata": meta,
            "spec": {
                "nodeName": on,
                "tolerations": list(tolerations),
                "containers": [{"name": "main", "resources": {"limits": limits}}],
            },
            "status": {
                "phase": phase,
                "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": scheduled}],
            },
        }
    )


def daemonset(
    name: str, namespace: str = "gpu-operator", *, tolerations: Iterable[Json] = (), app: str = "agent"
) -> DaemonSet:
    return DaemonSet.model_validate(
        {
            "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"},
            "spec": {
                "selector": {"matchLabels": {"app": app}},
                "template": {"spec": {"tolerations": list(tolerations)}},
            },
        }
    )


def owned_by(daemon_set: DaemonSet) -> Json:
    return {
        "kind": "DaemonSet",
        "name": daemon_set.metadata.name,
        "uid": daemon_set.metadata.uid,
        "controller": True,
    }


def world(
    nodes: Iterable[ReservableNode] = (),
    reservations: Iterable[Reservation] = (),
    *,
    bindings: Iterable[ReservationBinding] = (),
    pods: Iterable[Pod] = (),
    daemonsets: Iterable[DaemonSet] = (),
    tenants: Json | None = None,
    terminating: Iterable[str] = (),
) -> ReservationWorld:
    """``tenants`` is from namespace to tenant; tenant-foo and tenant-bar have one of their name."""
    labelled = {FOO: FOO, BAR: BAR} if tenants is None else tenants
    gone = set(terminating)
    namespaces = {
        name: Namespace.model_validate(
            {"metadata": {"name": name, "deletionTimestamp": NOW if name in gone else ""}}
        )
        for name in {*labelled, *(one.metadata.namespace for one in bindings), "default"}
    }
    return ReservationWorld(
        reservations={one.name: one for one in reservations},
        bindings=tuple(bindings),
        namespaces=namespaces,
        nodes={one.name: one for one in nodes},
        placed=placed_pods(pods, daemonsets),
        tenancies=Tenancies(labelled),
    )
