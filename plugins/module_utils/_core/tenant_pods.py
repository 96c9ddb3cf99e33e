# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whose Pods are on a node: a tenant's, which a release waits for, and strangers'.

Runbook: Reservations and ReservationBindings, Releasing capacity.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from .cluster_objects import Pod
from .reservation_objects import DaemonSet, ReservableNode
from .taints import tolerated, tolerates_tenant

MIRROR: Final = "kubernetes.io/config.mirror"
_DONE: Final = ("Succeeded", "Failed")


@dataclass(frozen=True)
class Tenancies:
    """Which namespaces are whose, by the label that an administrator sets; from namespace to tenant."""

    by_namespace: Mapping[str, str] = field(default_factory=dict)

    def namespaces(self, tenant: str) -> frozenset[str]:
        """The namespaces of a tenant."""
        return frozenset(name for name, owner in self.by_namespace.items() if tenant and owner == tenant)


@dataclass(frozen=True)
class PlacedPods:
    """Pods that are on nodes and not done, by node, with the DaemonSets that may own them, by UID."""

    by_node: Mapping[str, tuple[Pod, ...]]
    daemonsets: Mapping[str, DaemonSet]

    def on(self, node: str) -> tuple[Pod, ...]:
        """The Pods on a node."""
        return self.by_node.get(node, ())

    def daemonset_of(self, pod: Pod) -> DaemonSet | None:
        """The DaemonSet whose Pod this really is: an owner that was merely written down does not count."""
        owner = pod.metadata.controller
        found = self.daemonsets.get(owner.uid) if owner else None
        if found is None or found.metadata.namespace != pod.metadata.namespace:
            return None
        return found if found.controls(owner, pod.metadata.labels) else None


def placed_pods(pods: Iterable[Pod], daemonsets: Iterable[DaemonSet]) -> PlacedPods:
    """Index what was read: Pods with a node that have neither succeeded nor failed."""
    found: dict[str, list[Pod]] = {}
    for pod in pods:
        if pod.spec.node_name and pod.status.phase not in _DONE:
            found.setdefault(pod.spec.node_name, []).append(pod)
    return PlacedPods(
        {node: tuple(items) for node, items in found.items()}, {one.metadata.uid: one for one in daemonsets}
    )


def is_mirror(pod: Pod, node: ReservableNode) -> bool:
    """Whether a Pod is a node's static one: the node owns it, and not just an annotation says so."""
    owner = pod.metadata.controller
    return (
        MIRROR in pod.metadata.annotations
        and owner is not None
        and owner.kind == "Node"
        and owner.name == node.name
        and owner.uid == node.metadata.uid
    )


def tenant_pods(
    node: ReservableNode, tenant: str, placed: PlacedPods, tenancies: Tenancies
) -> tuple[Pod, ...]:
    """The tenant's Pods on a node that a release waits for, Terminating ones among them.

    Pods that tolerate the tenant's taint by value, or that sit in a namespace of the tenant. DaemonSet Pods
    are not waited for, nor are mirror Pods outside the tenant's own namespaces, where it could forge them.
    """
    own = tenancies.namespaces(tenant)
    return tuple(
        pod
        for pod in placed.on(node.name)
        if (pod.metadata.namespace in own or tolerates_tenant(pod.spec.tolerations, tenant))
        and placed.daemonset_of(pod) is None
        and (pod.metadata.namespace in own or not is_mirror(pod, node))
    )


def foreign_pods(
    node: ReservableNode,
    tenant: str,
    taint: Mapping[str, str] | None,
    placed: PlacedPods,
    tenancies: Tenancies,
) -> tuple[Pod, ...]:
    """Pods of others on a node that is being taken: neither the tenant's nor tolerating its taint."""
    own = tenancies.namespaces(tenant)
    return tuple(
        pod
        for pod in placed.on(node.name)
        if pod.metadata.namespace not in own
        and not (taint and tolerated(pod.spec.tolerations, taint))
        and placed.daemonset_of(pod) is None
        and not is_mirror(pod, node)
    )


def intolerant_daemonsets(node: str, taint: Mapping[str, str] | None, placed: PlacedPods) -> tuple[str, ...]:
    """DaemonSets with a Pod on the node whose next Pod the taint would keep off it, by namespace/name."""
    if taint is None:
        return ()
    owners = (placed.daemonset_of(pod) for pod in placed.on(node))
    return tuple(
        sorted({one.shown for one in owners if one is not None and not tolerated(one.tolerations, taint)})
    )


def newcomers(pods: Iterable[Pod], since: str) -> tuple[Pod, ...]:
    """Pods that came to a node after it was cordoned; ``since`` is RFC 3339 in UTC, to the second."""
    return tuple(pod for pod in pods if since and _placed_at(pod) > since)


def _placed_at(pod: Pod) -> str:
    for condition in pod.status.conditions:
        if condition.type == "PodScheduled" and condition.status == "True":
            return condition.last_transition_time
    return pod.metadata.creation_timestamp


def pod_names(pods: Iterable[Pod]) -> str:
    """Pods as ``namespace/name``, sorted, joined by commas."""
    return ", ".join(sorted(f"{pod.metadata.namespace}/{pod.metadata.name}" for pod in pods))
