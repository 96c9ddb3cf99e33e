# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Everything that a diagnosis has read, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from .admission_installed import Installation
from .checks import Check
from .cluster_objects import Pod, Quota
from .placement_objects import Event, Owner, PlacementPod
from .reservation_claims import Claim, Consent, claims_of
from .reservation_objects import ReservableNode, ReservationBinding
from .reservation_world import ReservationWorld


@dataclass(frozen=True)
class Finding:
    """One failure mode that holds.

    Attributes:
        diagnosis: which, as a constant.
        message: it in a sentence.
        facts: what shows it, one sentence each.
        fix: what to do about it.
    """

    diagnosis: str
    message: str
    facts: tuple[str, ...]
    fix: str


@dataclass(frozen=True)
class PlacementWorld:
    """One observation for one Pod, or for the owner whose Pods do not come to be.

    Attributes:
        pod: the Pod, or one made of its owner's template; None where neither was found.
        created: whether the Pod exists.
        owner: what was asked about or owns the Pod, where it was read.
        target: what was asked about, in words.
        namespace: of it.
        installation: definitions and policies.
        permissions: of the identity that asks.
        reservations: Reservations, bindings, nodes, Pods, namespaces.
        pods: Pods with a node that have not ended, of the nodes that matter, by node.
        quotas: of the namespace.
        events: about the Pod, its owners, and refused creations.
        node_marked: when each node last got our marks, RFC 3339, where its managed fields say so.
    """

    pod: PlacementPod | None
    created: bool
    owner: Owner | None
    target: str
    namespace: str
    installation: Installation
    permissions: tuple[Check, ...]
    reservations: ReservationWorld
    quotas: tuple[Quota, ...]
    events: tuple[Event, ...]
    node_marked: Mapping[str, str]

    @property
    def tenant(self) -> str:
        """The tenant of the namespace; empty where an administrator has not said one."""
        return self.reservations.tenancies.by_namespace.get(self.namespace, "")

    @property
    def is_daemonset(self) -> bool:
        """Whether a DaemonSet makes the Pod; its controller goes by the template."""
        return self.owner is not None and self.owner.kind == "DaemonSet"

    @cached_property
    def claims(self) -> dict[str, Claim]:
        """How every Reservation is judged now; nodes that are not taken yet may still be refused."""
        return claims_of(self.reservations, Consent())

    @property
    def bindings(self) -> tuple[ReservationBinding, ...]:
        """The namespace's bindings."""
        return tuple(one for one in self.reservations.bindings if one.metadata.namespace == self.namespace)

    @property
    def selecting(self) -> tuple[ReservationBinding, ...]:
        """The bindings that select the Pod by the labels it has now."""
        labels = self.pod.metadata.labels if self.pod else {}
        return tuple(one for one in self.bindings if one.spec.pod_selector.matches(labels))

    @cached_property
    def tenant_nodes(self) -> tuple[ReservableNode, ...]:
        """The nodes that carry the tenant's label, by name."""
        nodes = self.reservations.nodes
        return tuple(
            nodes[name] for name in sorted(nodes) if self.tenant and nodes[name].tenant == self.tenant
        )

    def pods_on(self, node: str) -> tuple[Pod, ...]:
        """The Pods of a node that have not ended."""
        return self.reservations.placed.on(node)
