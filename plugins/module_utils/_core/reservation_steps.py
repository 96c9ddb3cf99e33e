# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What one pass does with each node: hold it, drain it, or leave it as it is.

Runbook: Reservations and ReservationBindings, Operator's reconcile and Releasing capacity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from .cluster_objects import Pod
from .reservation_claims import Claim
from .reservation_marks import (
    Title,
    drift,
    hold_patch,
    orphan_title,
    other_cordon,
    reservation_cordon,
    strange_taints,
    title_of,
)
from .reservation_notice import Notice, release_notice
from .reservation_objects import ReservableNode, Reservation
from .reservation_world import ReservationWorld
from .taints import reserved_taints, taint_text
from .tenant_pods import foreign_pods, newcomers, pod_names, tenant_pods


@dataclass(frozen=True)
class NodeStep:
    """What is to become of one node.

    Attributes:
        kind: ``hold``: carries its marks, no cordon of a release; ``drain``: cordoned until the tenant's Pods
            are gone, then freed; ``freeze``: stays as it is, as the generation that would go on was rejected.
        node: the node as it was read.
        title: whose.
        new: of a hold: whether the node is being taken, and not merely kept.
        notice: of a drain: what the tenant is told first; None where it has been told.
        evict: of a drain: whether the tenant's Pods are evicted.
        waiting: the tenant's Pods there, as they were read.
    """

    kind: Literal["hold", "drain", "freeze"]
    node: ReservableNode
    title: Title
    new: bool = False
    notice: Notice | None = None
    evict: bool = False
    waiting: tuple[Pod, ...] = ()


def node_steps(world: ReservationWorld, claims: Mapping[str, Claim], only: str = "") -> tuple[NodeStep, ...]:
    """The steps of a pass, Reservation by Reservation, holds before drains, nodes in their names' order.

    Args:
        world: the observation.
        claims: what each Reservation is given.
        only: one Reservation; all, and nodes that none explains, where it is empty.
    """
    chosen = [claim for name, claim in claims.items() if only in ("", name)]
    steps = [_hold(world, claim, node) for claim in chosen for node in sorted(claim.hold)]
    for claim in chosen:
        steps += [_drain(world, claim.reservation, node) for node in sorted(claim.release)]
        steps += [_freeze(world, claim.reservation, node) for node in sorted(claim.frozen)]
    if not only:
        steps += [_drain_orphan(world, node) for node in _orphans(world)]
    return tuple(steps)


def _waiting(world: ReservationWorld, node: ReservableNode, tenant: str) -> tuple[Pod, ...]:
    return tenant_pods(node, tenant, world.placed, world.tenancies)


def _hold(world: ReservationWorld, claim: Claim, name: str) -> NodeStep:
    node = world.nodes[name]
    title = title_of(claim.reservation)
    new = name not in world.marked(claim.reservation)
    return NodeStep("hold", node, title, new=new, waiting=_waiting(world, node, title.tenant))


def _freeze(world: ReservationWorld, reservation: Reservation, name: str) -> NodeStep:
    node = world.nodes[name]
    return NodeStep(
        "freeze", node, title_of(reservation), waiting=_waiting(world, node, reservation.spec.tenant)
    )


def _drain(world: ReservationWorld, reservation: Reservation, name: str) -> NodeStep:
    node = world.nodes[name]
    told = reservation.phase_of(name) == "Draining" or reservation_cordon(node) is not None
    why = (
        "the Reservation is deleted"
        if reservation.deleting
        else "it does not name or select the node any more"
    )
    notice = release_notice(
        world,
        node=name,
        reservation=reservation.name,
        tenant=reservation.spec.tenant,
        version=f"{reservation.metadata.uid}/{reservation.metadata.generation}",
        why=why,
        evict=reservation.spec.evict_on_release,
    )
    return NodeStep(
        "drain",
        node,
        title_of(reservation),
        notice=None if told else notice,
        evict=reservation.spec.evict_on_release,
        waiting=_waiting(world, node, reservation.spec.tenant),
    )


def _orphans(world: ReservationWorld) -> list[str]:
    """Nodes with our annotation that no Reservation explains: released in the usual way."""
    return sorted(
        name
        for name, node in world.nodes.items()
        if node.reserved_by and name not in world.holders
    )


def _drain_orphan(world: ReservationWorld, name: str) -> NodeStep:
    node = world.nodes[name]
    title = orphan_title(node)
    notice = release_notice(
        world,
        node=name,
        reservation=title.reservation,
        tenant=title.tenant,
        version=node.metadata.uid,
        why="that Reservation does not exist any more",
        evict=False,
    )
    told = reservation_cordon(node) is not None
    return NodeStep(
        "drain", node, title, notice=None if told else notice, waiting=_waiting(world, node, title.tenant)
    )


def findings(world: ReservationWorld, steps: tuple[NodeStep, ...]) -> tuple[Notice, ...]:
    """What a pass found on nodes and somebody should know; release notices are not among them."""
    found: list[Notice] = []
    for step in steps:
        found += _hold_findings(world, step) if step.kind == "hold" else _drain_findings(step)
    return (*found, *_unexplained(world, frozenset(step.node.name for step in steps)))


def _notice(step: NodeStep, kind: str, message: str, next_action: str = "") -> Notice:
    return Notice(
        kind=kind,  # type: ignore[arg-type]
        node=step.node.name,
        reservation=step.title.reservation,
        tenant=step.title.tenant,
        message=f"node {step.node.name}: {message}",
        next_action=next_action,
    )


def _hold_findings(world: ReservationWorld, step: NodeStep) -> list[Notice]:
    node, title, found = step.node, step.title, []
    if step.new:
        strangers = foreign_pods(node, title.tenant, title.taint, world.placed, world.tenancies)
        if strangers:
            found.append(
                _notice(
                    step,
                    "strangers",
                    f"Pods that are not tenant {title.tenant}'s are there already: {pod_names(strangers)}",
                    "move them; a taint with effect NoSchedule evicts nobody",
                )
            )
    elif drift(node, title):
        found.append(
            _notice(
                step,
                "restored",
                f"was changed by somebody else, and is put back: {'; '.join(drift(node, title))}",
            )
        )
    if strange_taints(node, title):
        found.append(
            _notice(
                step,
                "strange-taint",
                f"taints that are not Reservation {title.reservation}'s keep the tenant off: "
                f"{', '.join(strange_taints(node, title))}",
                f"see who set them, and remove them: kubectl taint nodes {node.name} reserved-",
            )
        )
    return found


def _drain_findings(step: NodeStep) -> list[Notice]:
    node, found = step.node, []
    mark = reservation_cordon(node)
    if mark is not None and not node.spec.unschedulable:
        found.append(
            _notice(
                step,
                "uncordoned",
                "was uncordoned by somebody while it drains, and is cordoned again",
                "name the node in the Reservation again to keep it",
            )
        )
    if other_cordon(node) and not node.spec.unschedulable:
        found.append(
            _notice(step, "uncordoned", "is marked by a transition of its mode, and is not cordoned")
        )
    late = newcomers(step.waiting, mark.since if mark else "")
    if late:
        found.append(
            _notice(
                step,
                "newcomers",
                f"Pods came after it was cordoned, as they tolerate that or name the node: {pod_names(late)}",
                "see who makes them; the node is not released before they are gone",
            )
        )
    return found


def _unexplained(world: ReservationWorld, handled: frozenset[str]) -> list[Notice]:
    """Label or taint without our annotation, and no holder: reported, not touched."""
    found = []
    for name, node in sorted(world.nodes.items()):
        taints = [taint_text(taint) for taint in reserved_taints(node.spec.taints)]
        marks = ([f"label reserved.tenant={node.tenant}"] if node.tenant else []) + taints
        if marks and not node.reserved_by and name not in world.holders and name not in handled:
            found.append(
                Notice(
                    kind="unexplained",
                    node=name,
                    reservation="",
                    tenant=node.tenant,
                    message=f"node {name} has {', '.join(marks)}, and no Reservation holds it",
                    next_action="reserve the node, or see who set them and remove them",
                )
            )
    return found


def step_text(step: NodeStep) -> tuple[str, ...]:
    """What a step is going to do, one sentence each; nothing where the node is already right."""
    node, title = step.node, step.title
    if step.kind == "freeze":
        return ()
    if step.kind == "hold":
        if hold_patch(node, title) is None:
            return ()
        verb, changes = "restore", "; ".join(drift(node, title)) or "the cordon of its release is taken off"
        if step.new:
            verb, changes = (
                "take",
                f"label and {f'taint {taint_text(title.taint)}' if title.taint else 'no taint'}",
            )
        owner = f"Reservation {title.reservation} of tenant {title.tenant}"
        return (f"{verb} node {node.name} for {owner}: {changes}",)
    texts = [f"tell tenant {title.tenant} that node {node.name} is released"] if step.notice else []
    if not node.spec.unschedulable:
        texts.append(f"cordon node {node.name}")
    if not step.waiting:
        texts.append(
            f"release node {node.name} of Reservation {title.reservation}: label, taint and cordon go"
        )
    elif step.evict:
        texts.append(f"evict from node {node.name}: {pod_names(step.waiting)}")
    return tuple(texts)
