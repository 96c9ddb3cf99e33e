# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which Reservations are accepted: what each asks for, and what stands against it.

Runbook: Reservations and ReservationBindings, "A node is in two reservations".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from .reservation_objects import ReservableNode, Reservation
from .reservation_world import ReservationWorld, carries, recorded_acceptance
from .taints import reserved_taints, same_taint, taint_text
from .tenant_pods import intolerant_daemonsets

ACCEPTED: Final = "Accepted"
"""Reason of a Reservation, and of a binding, that is accepted."""
OVERLAP: Final = "Overlap"
SELECTOR_MISMATCH: Final = "SelectorMismatch"
FOREIGN_TAINT: Final = "ForeignTaint"
DAEMONSET_LOSS: Final = "DaemonSetLoss"
EVICTION_NOT_ALLOWED: Final = "EvictionNotAllowed"
CAPACITY_HOLD: Final = "CapacityHold"
DELETING: Final = "Deleting"
INVALID: Final = "Invalid"


@dataclass(frozen=True)
class Consent:
    """What the operator allows in this run.

    Attributes:
        daemonset_loss: nodes may be taken although DaemonSets do not tolerate the taint.
        eviction: taints with effect NoExecute may be set, which evict what does not tolerate them.
        holds: nodes that a capacity hold's pool needs, with why they cannot be taken; empty text: they can.
    """

    daemonset_loss: bool = False
    eviction: bool = False
    holds: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Claim:
    """What a Reservation is given in this pass.

    Attributes:
        reservation: whose.
        accepted: whether its generation is accepted.
        reason: a constant, for the condition.
        message: why, naming nodes, holders and labels.
        next_action: what to do about a refusal.
        hold: nodes that it is to hold and that exist.
        missing: named nodes that do not exist.
        release: nodes that it holds and does not want any more.
        frozen: nodes that were draining when a later generation was rejected: they stay as they are.
    """

    reservation: Reservation
    accepted: bool
    reason: str
    message: str
    next_action: str = ""
    hold: frozenset[str] = frozenset()
    missing: frozenset[str] = frozenset()
    release: frozenset[str] = frozenset()
    frozen: frozenset[str] = frozenset()


@dataclass(frozen=True)
class _Refusal:
    reason: str
    message: str
    next_action: str


def claims_of(world: ReservationWorld, consent: Consent) -> dict[str, Claim]:
    """Judge every Reservation, the earlier before the later.

    The incumbent wins: a node that another Reservation holds rejects the claim as a whole. What a rejected
    one holds already it keeps; one that holds nothing gets nothing, and blocks nobody.
    """
    taken: dict[str, str] = {}
    claims: dict[str, Claim] = {}
    for reservation in sorted(world.reservations.values(), key=_order):
        claim = _judge(world, consent, reservation, taken)
        claims[reservation.name] = claim
        taken.update(dict.fromkeys(claim.hold, reservation.name))
    return claims


def _order(reservation: Reservation) -> tuple[bool, tuple[str, str]]:
    """Generations whose acceptance is on record come first: such a run may have been killed half-way."""
    return (not recorded_acceptance(reservation), reservation.age_order)


def _judge(
    world: ReservationWorld, consent: Consent, reservation: Reservation, taken: Mapping[str, str]
) -> Claim:
    marked = world.marked(reservation)
    if reservation.deleting:
        return Claim(
            reservation,
            accepted=True,
            reason=DELETING,
            message="it is being deleted: its nodes are released",
            release=_to_release(world, reservation, marked),
        )
    wanted = wanted_nodes(world, reservation)
    existing = wanted & world.nodes.keys()
    refusal = (
        _mismatch(world, reservation)
        or _overlap(world, reservation, wanted, taken)
        or _untakable(world, consent, reservation, sorted(existing - marked))
    )
    if refusal is not None:
        draining = frozenset(node for node in marked if reservation.phase_of(node) == "Draining")
        return Claim(
            reservation,
            accepted=False,
            reason=refusal.reason,
            message=refusal.message,
            next_action=refusal.next_action,
            hold=marked - draining,
            missing=world.held_by(reservation.name) - marked,
            frozen=draining,
        )
    return Claim(
        reservation,
        accepted=True,
        reason=ACCEPTED,
        message=f"{len(wanted)} node(s) for tenant {reservation.spec.tenant}",
        hold=existing,
        missing=wanted - existing,
        release=_to_release(world, reservation, marked - wanted),
    )


def _to_release(world: ReservationWorld, reservation: Reservation, nodes: frozenset[str]) -> frozenset[str]:
    return frozenset(node for node in nodes if carries(world.nodes[node], reservation))


def wanted_nodes(world: ReservationWorld, reservation: Reservation) -> frozenset[str]:
    """The reserved set that a spec defines; names that do not exist are in it."""
    if reservation.spec.reserved_nodes is not None:
        return frozenset(reservation.spec.reserved_nodes)
    selector = reservation.spec.node_selector
    if selector is None or selector.empty:
        return frozenset()
    return frozenset(name for name, node in world.nodes.items() if selector.matches(node.metadata.labels))


def _mismatch(world: ReservationWorld, reservation: Reservation) -> _Refusal | None:
    """With both selector and names, every name must match the selector."""
    spec = reservation.spec
    if spec.reserved_nodes is None and (spec.node_selector is None or spec.node_selector.empty):
        return _Refusal(
            INVALID,
            "it names no nodes: neither reservedNodes nor a nodeSelector with a requirement",
            "set reservedNodes, or a nodeSelector; nothing ever means every node",
        )
    if spec.reserved_nodes is None or spec.node_selector is None:
        return None
    wrong = [
        f"{name} ({'; '.join(found)})"
        for name in sorted(spec.reserved_nodes)
        if name in world.nodes and (found := spec.node_selector.mismatches(world.nodes[name].metadata.labels))
    ]
    if not wrong:
        return None
    return _Refusal(
        SELECTOR_MISMATCH,
        f"named nodes do not match nodeSelector: {', '.join(wrong)}; nothing is released",
        "take these nodes out of reservedNodes, correct their labels, or correct nodeSelector",
    )


def _overlap(
    world: ReservationWorld, reservation: Reservation, wanted: frozenset[str], taken: Mapping[str, str]
) -> _Refusal | None:
    named = [
        f"{node} is held by {text}"
        for node in sorted(wanted)
        if (text := _other_holder(world, reservation, node, taken))
    ]
    if not named:
        return None
    return _Refusal(
        OVERLAP,
        f"the claim is rejected as a whole: {', '.join(named)}",
        "take these nodes out of this Reservation, or out of the other one and wait until it has released "
        "them",
    )


def _other_holder(
    world: ReservationWorld, reservation: Reservation, node: str, taken: Mapping[str, str]
) -> str:
    """Who holds a node instead of this Reservation, in words; empty where nobody does."""
    holder = world.holders.get(node) or taken.get(node, "")
    if holder == reservation.name:
        return ""
    if holder:
        other = world.reservations[holder]
        leaving = other.deleting or other.phase_of(node) == "Draining"
        text = f"Reservation {holder} of tenant {other.spec.tenant}"
        return f"{text}, which is releasing it" if leaving else text
    mark = world.nodes[node].reserved_by if node in world.nodes else ""
    if mark == reservation.name:
        mark = f"{mark} of tenant {world.nodes[node].tenant}, an earlier one of that name"
    return f"Reservation {mark}, which does not exist any more: the node is being released" if mark else ""


def _untakable(
    world: ReservationWorld, consent: Consent, reservation: Reservation, new: list[str]
) -> _Refusal | None:
    """What has to be true before a node is taken."""
    taint = reservation.taint
    foreign = [text for name in new if (text := foreign_taint(world.nodes[name], taint))]
    if foreign:
        return _Refusal(
            FOREIGN_TAINT,
            f"taints with the key reserved that are not this Reservation's: {', '.join(foreign)}",
            "see who set them, remove them from the nodes, or take the nodes out of the Reservation",
        )
    lost = {name: intolerant_daemonsets(name, taint, world.placed) for name in new}
    if any(lost.values()) and not consent.daemonset_loss:
        listed = ", ".join(f"{name}: {', '.join(sets)}" for name, sets in lost.items() if sets)
        return _Refusal(
            DAEMONSET_LOSS,
            f"DaemonSets with Pods there do not tolerate {taint_text(taint or {})} and would lose the nodes "
            f"at their next rollout: {listed}",
            "give the DaemonSets the toleration, or run with allow_daemonset_loss: true",
        )
    if new and taint and taint["effect"] == "NoExecute" and not consent.eviction:
        return _Refusal(
            EVICTION_NOT_ALLOWED,
            f"the taint {taint_text(taint)} evicts every Pod that does not tolerate it from {', '.join(new)}",
            "run with allow_eviction: true, or make a Reservation with taintEffect: NoSchedule",
        )
    held = [f"{name}: {consent.holds[name]}" for name in new if consent.holds.get(name)]
    if held:
        return _Refusal(
            CAPACITY_HOLD,
            f"nodes that a capacity hold's pool needs: {', '.join(held)}",
            "take these nodes out of the Reservation, or add capacity to the pool first",
        )
    return None


def foreign_taint(node: ReservableNode, taint: Mapping[str, str] | None) -> str:
    """Taints with our key that this Reservation would not set; empty where there are none."""
    found = [one for one in reserved_taints(node.spec.taints) if taint is None or not same_taint(one, taint)]
    return f"{node.name} ({', '.join(taint_text(one) for one in found)})" if found else ""
