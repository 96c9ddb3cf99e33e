# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Failure modes on nodes: none, cordoned, not Ready, wishes that none meets, taints, shortage.

Runbook: Reservations and ReservationBindings, Common failure modes.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from .cluster_objects import PodSpec
from .placement_bindings import RECONCILE
from .placement_injection import has_affinity
from .placement_objects import DEFAULT_SCHEDULER, PlacementPod
from .placement_world import Finding, PlacementWorld
from .pod_requests import amounts_of, free_on, lacking, number, pod_requests
from .reservation_marks import reservation_cordon
from .reservation_objects import TAINT_KEY, ReservableNode
from .taints import taint_text, untolerated

_NODE_STATE = "node.kubernetes.io/"


def node_findings(world: PlacementWorld, pod: PlacementPod) -> list[Finding]:
    """What keeps a Pod off every node that it could go to, in the order of the diagnosis."""
    injected = has_affinity(pod.spec, world.tenant)
    scope = world.tenant_nodes if injected else tuple(world.reservations.nodes.values())
    found: list[Finding | None] = []
    if injected:
        found += [_no_nodes(world), _unusable(scope)]
    usable = [node for node in scope if not _unusable_because(node)]
    wished = [node for node in usable if not pod.spec.unmet_wishes(node)]
    if usable and not wished:
        found.append(_wishes(pod, usable))
    open_ = [node for node in wished if not _repelled(pod, node)]
    if wished and not open_:
        found.append(_tainted(pod, wished))
    if open_:
        found.append(_shortage(world, pod, open_))
    return [one for one in found if one is not None]


def waiting_findings(pod: PlacementPod) -> list[Finding]:
    """What keeps the scheduler from looking at a Pod at all."""
    found = []
    if pod.spec.scheduling_gates:
        gates = ", ".join(str(gate.get("name", "")) for gate in pod.spec.scheduling_gates)
        found.append(
            Finding(
                "scheduling-gate",
                "the Pod has scheduling gates, and is not scheduled before they are removed",
                (f"scheduling gates: {gates}",),
                "see who set them; whoever did removes them when the Pod may run",
            )
        )
    if pod.spec.scheduler_name != DEFAULT_SCHEDULER:
        found.append(
            Finding(
                "another-scheduler",
                f"the Pod asks for the scheduler {pod.spec.scheduler_name}",
                (f"spec.schedulerName is {pod.spec.scheduler_name}",),
                "see that this scheduler runs and may bind (platform_schedulers), or leave schedulerName out",
            )
        )
    return found


def _no_nodes(world: PlacementWorld) -> Finding | None:
    if world.tenant_nodes:
        return None
    own = [claim for claim in world.claims.values() if claim.reservation.spec.tenant == world.tenant]
    missing = sorted(name for claim in own for name in claim.missing)
    waiting = sorted(name for claim in own if claim.accepted for name in claim.hold)
    if waiting:
        return Finding(
            "not-reconciled",
            f"no node carries the label of tenant {world.tenant} yet",
            (f"accepted and not reserved yet: {', '.join(waiting)}",),
            RECONCILE,
        )
    if missing:
        return Finding(
            "reserved-nodes-missing",
            f"the nodes that are reserved for tenant {world.tenant} do not exist",
            (f"missing: {', '.join(missing)}",),
            "bring the nodes back, or name others in the Reservation",
        )
    return Finding(
        "no-reserved-nodes",
        f"no node is reserved for tenant {world.tenant}",
        (f"Reservations of this tenant: {', '.join(claim.reservation.name for claim in own) or 'none'}",),
        "make a Reservation for the tenant, and run playbooks/reservations.yml",
    )


def _unusable_because(node: ReservableNode) -> str:
    """Why a node takes no Pods whoever asks; empty where it does."""
    ready = next((one for one in node.status.conditions if one.type == "Ready"), None)
    if ready is None or ready.status != "True":
        return f"not Ready{f': {ready.message}' if ready and ready.message else ''}"
    if node.spec.unschedulable:
        mark = reservation_cordon(node)
        return f"cordoned{f', as Reservation {mark.id} releases it' if mark else ''} (SchedulingDisabled)"
    return ""


def _unusable(scope: Sequence[ReservableNode]) -> Finding | None:
    reasons = {node.name: _unusable_because(node) for node in scope}
    if not scope or not all(reasons.values()):
        return None
    cordoned = all(text.startswith("cordoned") for text in reasons.values())
    not_ready = all(text.startswith("not Ready") for text in reasons.values())
    diagnosis = "reserved-nodes-unusable"
    if cordoned or not_ready:
        diagnosis = "all-reserved-nodes-cordoned" if cordoned else "reserved-nodes-not-ready"
    state = "cordoned" if cordoned else "not Ready" if not_ready else "cordoned or not Ready"
    return Finding(
        diagnosis,
        f"all reserved nodes are {state}",
        tuple(f"{name}: {text}" for name, text in reasons.items()),
        f"when their maintenance is over: kubectl uncordon {' '.join(reasons)}"
        if cordoned
        else "repair the nodes; kubectl describe node shows what is wrong",
    )


def _wishes(pod: PlacementPod, usable: Sequence[ReservableNode]) -> Finding:
    facts = tuple(f"{node.name} does not meet: {'; '.join(pod.spec.unmet_wishes(node))}" for node in usable)
    return Finding(
        "contradictory-wishes",
        "the Pod's own nodeSelector or node affinity fits none of the nodes that it may use",
        facts,
        "take the wish out of the Pod's template, or correct it",
    )


def _repelled(pod: PlacementPod, node: ReservableNode) -> tuple[str, ...]:
    others = (one for one in node.spec.taints if not str(one.get("key", "")).startswith(_NODE_STATE))
    return tuple(taint_text(one) for one in untolerated(pod.spec.tolerations, others))


def _tainted(pod: PlacementPod, nodes: Sequence[ReservableNode]) -> Finding:
    found = {node.name: _repelled(pod, node) for node in nodes}
    ours = all(text.startswith(f"{TAINT_KEY}=") for texts in found.values() for text in texts)
    fix = (
        "a binding injects the toleration where injectToleration is true; only the nodes' own tenant gets it"
        if ours
        else "remove the taint from the nodes when its reason is gone, or give the Pod a toleration of it"
    )
    return Finding(
        "another-taint",
        "every node that the Pod may use has a taint that it does not tolerate",
        tuple(f"{name}: {', '.join(texts)}" for name, texts in found.items()),
        fix,
    )


def _shortage(world: PlacementWorld, pod: PlacementPod, nodes: Sequence[ReservableNode]) -> Finding | None:
    asked = pod_requests(pod.spec)
    free = {node.name: free_on(node.status.allocatable, _others(world, pod, node)) for node in nodes}
    short = {name: lacking(asked, amounts) for name, amounts in free.items()}
    if not all(short.values()):
        return None
    facts = [f"asked: {', '.join(f'{name} {number(amount)}' for name, amount in sorted(asked.items()))}"]
    for node in nodes:
        capacity = amounts_of(node.status.allocatable)
        shown = ", ".join(
            f"{name} {number(max(free[node.name].get(name, Fraction(0)), Fraction(0)))} free of "
            f"{number(capacity.get(name, Fraction(0)))}"
            for name in short[node.name]
        )
        facts.append(f"{node.name}: {shown}")
    resources = sorted({name for names in short.values() for name in names})
    return Finding(
        "resource-shortage",
        f"none of the {len(nodes)} nodes that the Pod may use has enough free: {', '.join(resources)}",
        tuple(facts),
        "wait until Pods there end, ask for less, or add nodes to the Reservation",
    )


def _others(world: PlacementWorld, pod: PlacementPod, node: ReservableNode) -> list[PodSpec]:
    return [one.spec for one in world.pods_on(node.name) if one.metadata.uid != pod.metadata.uid]
