# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Why a Pod is not where it should be: which failure mode, the facts that show it, the fix.

Runbook: Reservations and ReservationBindings, Common failure modes.
"""

from __future__ import annotations

from .placement_bindings import (
    binding_not_accepted,
    namespace_without_tenant,
    no_binding,
    not_injected,
    permission_missing,
    policies_missing,
    selector_mismatch,
)
from .placement_foreign import foreign_node
from .placement_injection import as_admitted
from .placement_nodes import node_findings, waiting_findings
from .placement_objects import Event, PlacementPod
from .placement_world import Finding, PlacementWorld

_BEFORE_NODES = (
    policies_missing,
    permission_missing,
    namespace_without_tenant,
    no_binding,
    binding_not_accepted,
    selector_mismatch,
    not_injected,
)
_ENDED = ("Succeeded", "Failed")


def diagnose(world: PlacementWorld) -> tuple[Finding, ...]:
    """Every failure mode that holds, the first one being the diagnosis; never empty.

    The order is: policies, permission, binding, acceptance or overlap, selector, a Pod older than its
    binding, nodes, taints, quota, shortage; the others come after.
    """
    pod = world.pod
    if pod is None:
        return _refusals(world) or (_not_found(world),)
    if pod.spec.node_name and world.created:
        return _placed(world, pod)
    before = [one for look in _BEFORE_NODES if (one := look(world)) is not None]
    refused = list(_refusals(world))
    admitted = pod if world.created or world.is_daemonset else as_admitted(pod, world.tenant, world.selecting)
    nodes = node_findings(world, admitted)
    shortage = [one for one in nodes if one.diagnosis == "resource-shortage"]
    others = [one for one in nodes if one.diagnosis != "resource-shortage"]
    found = (*before, *others, *refused, *shortage, *waiting_findings(pod))
    return found or (_unexplained(world, pod),)


def _placed(world: PlacementWorld, pod: PlacementPod) -> tuple[Finding, ...]:
    node = world.reservations.nodes.get(pod.spec.node_name)
    if pod.status.phase in _ENDED:
        return (_healthy(f"{world.target} has ended ({pod.status.phase}) on {pod.spec.node_name}"),)
    if node is None:
        return (
            Finding(
                "node-missing",
                f"{world.target} is on node {pod.spec.node_name}, which does not exist",
                (f"there is no Node {pod.spec.node_name}",),
                "delete the Pod where an owner makes a new one; the garbage collector does so in time",
            ),
        )
    if node.tenant and node.tenant == world.tenant:
        return (_healthy(f"{world.target} is on {node.name}, a node of tenant {node.tenant}"),)
    if node.tenant:
        return (foreign_node(world, pod, node),)
    escaped = world.bindings or world.tenant_nodes
    found = [one for look in _BEFORE_NODES if (one := look(world)) is not None] if escaped else []
    return tuple(found) or (_healthy(f"{world.target} is on {node.name}, which is reserved for nobody"),)


def _healthy(fact: str) -> Finding:
    return Finding("healthy", fact, (fact,), "nothing is to be done")


def _refusals(world: PlacementWorld) -> tuple[Finding, ...]:
    """What its owner could not create: a Pod that was refused does not exist."""
    newest: dict[str, Event] = {}
    for event in sorted(world.events, key=lambda one: one.at):
        if event.reason == "FailedCreate":
            newest[_refusal_of(event)] = event
    return tuple(
        _refusal(world, kind, newest[kind])
        for kind in ("quota-exhausted", "refused-by-policy", "refused")
        if kind in newest
    )


def _refusal_of(event: Event) -> str:
    if "exceeded quota" in event.message or "failed quota" in event.message:
        return "quota-exhausted"
    return "refused-by-policy" if "gpuops-reservation-" in event.message else "refused"


def _refusal(world: PlacementWorld, kind: str, event: Event) -> Finding:
    fact = f"{event.involved.kind} {event.involved.name} at {event.at}: {event.message}"
    if kind == "quota-exhausted":
        quotas = tuple(
            f"ResourceQuota {one.metadata.name}: {name} {used} used of {limit}"
            for one in world.quotas
            for name, limit in sorted((one.status.hard or one.spec.hard).items())
            if (used := (one.status.used or {}).get(name)) is not None
        )
        return Finding(
            kind,
            f"the quota of namespace {world.namespace} is exhausted, and the Pod was not created",
            (fact, *quotas),
            "end Pods that are not needed, ask for less, or have the quota raised (tenant_quotas)",
        )
    if kind == "refused-by-policy":
        return Finding(
            kind,
            "an admission policy of the reservations refused the Pod",
            (fact,),
            "change the owner's template as the message says",
        )
    return Finding(
        kind, "the Pod was refused when its owner created it", (fact,), "see what the message names"
    )


def _not_found(world: PlacementWorld) -> Finding:
    return Finding(
        "not-found",
        f"{world.target} does not exist in namespace {world.namespace}",
        ("neither the Pod nor an Event about a refused creation was found; Events are kept for an hour",),
        "check name and namespace; for a Pod that was never created, name its owner: -e owner=kind/name",
    )


def _unexplained(world: PlacementWorld, pod: PlacementPod) -> Finding:
    words = pod.scheduler_words
    if not world.created:
        return Finding(
            "not-found",
            f"{world.target} has no Pods, and nothing stands in their way",
            ("no failure mode holds for its template, and there is no Event of a refused creation",),
            "see that it asks for replicas, and whether its controller runs",
        )
    return Finding(
        "unexplained",
        f"{world.target} waits, and none of the known failure modes holds",
        (f"the scheduler says: {words}" if words else "the scheduler has said nothing yet",),
        f"run again in a moment; kubectl -n {world.namespace} describe pod {pod.metadata.name} shows more",
    )
