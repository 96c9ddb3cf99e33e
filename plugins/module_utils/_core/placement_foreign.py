# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A Pod on a node that is reserved for somebody else: how it got there.

Runbook: Reservations and ReservationBindings, "Pods landing on the wrong tenant's nodes".
"""

from __future__ import annotations

from .placement_bindings import RECONCILE
from .placement_objects import PlacementPod, latest
from .placement_world import Finding, PlacementWorld
from .reservation_objects import TAINT_KEY, ReservableNode
from .taints import reserved_taints, tolerated


def foreign_node(world: PlacementWorld, pod: PlacementPod, node: ReservableNode) -> Finding:
    """The finding, with the way it came and the fact that shows that."""
    way, fix = _way(world, pod, node)
    return Finding(
        "foreign-tenants-node",
        f"{world.target} is on {node.name}, which is reserved for tenant {node.tenant}, and its namespace is "
        f"of {world.tenant or 'no tenant'}",
        (f"node {node.name} carries the label reserved.tenant={node.tenant}", way),
        fix,
    )


def _way(world: PlacementWorld, pod: PlacementPod, node: ReservableNode) -> tuple[str, str]:
    meta = pod.metadata
    named = [one for one in meta.managed_fields if not one.subresource and one.has("spec", "nodeName")]
    if named:
        who = named[0].manager or "somebody"
        fact = f"spec.nodeName was set at its creation, by {who}: it went round the scheduler"
        return fact, "create it again without nodeName; only the verb place on reservations may name a node"
    marked = world.node_marked.get(node.name, "")
    if marked and pod.scheduled_at and pod.scheduled_at < marked:
        fact = f"it was there before: scheduled at {pod.scheduled_at}, the node was reserved at {marked}"
        return fact, "a taint with effect NoSchedule evicts nobody: move it, or delete it"
    if not any(one.reason == "Scheduled" and one.involved.uid == meta.uid for one in world.events):
        fact = "no Scheduled Event and no nodeName at its creation: it was bound by hand (pods/binding)"
        return f"{fact}, unless the Event has expired", "see the audit log for who created pods/binding"
    taints = reserved_taints(node.spec.taints)
    if not taints:
        fact = f"node {node.name} has no taint {TAINT_KEY}={node.tenant}: the scheduler may use it"
        return fact, f"{RECONCILE}, which puts the taint back; without applyTaint nothing keeps strangers off"
    if all(tolerated(pod.spec.tolerations, taint) for taint in taints):
        fact = "it tolerates the taint: admitted before the policies, or by an identity that may place Pods"
        return fact, "delete it; admission refuses such a Pod now"
    event = latest(world.events, "Scheduled")
    fact = f"the scheduler placed it at {event.at if event else 'a time unknown'}, when no taint was there"
    return fact, "move it, and see who took label or taint away meanwhile"
