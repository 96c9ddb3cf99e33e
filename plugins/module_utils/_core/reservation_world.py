# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Everything that one pass of the reconcile has read, and who holds which node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from .cluster_objects import Namespace
from .reservation_objects import ReservableNode, Reservation, ReservationBinding
from .taints import same_taint
from .tenant_pods import PlacedPods, Tenancies

ACCEPTED: Final = "Accepted"
"""Condition of a Reservation and of a binding."""
READY: Final = "Ready"
"""Condition of a Reservation: every node is Reserved."""


@dataclass(frozen=True)
class ReservationWorld:
    """One observation.

    Attributes:
        reservations: by name.
        bindings: of all namespaces.
        namespaces: by name.
        nodes: by name.
        placed: Pods on nodes, and the DaemonSets.
        tenancies: which namespace is whose.
    """

    reservations: Mapping[str, Reservation]
    bindings: tuple[ReservationBinding, ...]
    namespaces: Mapping[str, Namespace]
    nodes: Mapping[str, ReservableNode]
    placed: PlacedPods
    tenancies: Tenancies

    @cached_property
    def holders(self) -> Mapping[str, str]:
        """Which Reservation holds which node: the incumbents, which win.

        What a Reservation's status records counts before a node's annotation, which a kubelet could write;
        after a run that was killed between the two, the annotation alone says it.
        """
        return _holders(self)

    def held_by(self, reservation: str) -> frozenset[str]:
        """The nodes that a Reservation holds, missing ones among them."""
        return frozenset(node for node, holder in self.holders.items() if holder == reservation)

    def marked(self, reservation: Reservation) -> frozenset[str]:
        """The existing nodes that it has already taken: recorded as such, or with its annotation."""
        missing = {entry.name for entry in reservation.status.nodes if entry.phase == "Missing"}
        return frozenset(
            node
            for node in self.held_by(reservation.name) & self.nodes.keys()
            if node not in missing or self.nodes[node].reserved_by == reservation.name
        )


def carries(node: ReservableNode | None, reservation: Reservation) -> bool:
    """Whether a node has anything of a Reservation; one that does not exist counts as if it had."""
    if node is None or node.reserved_by == reservation.name:
        return True
    if node.reserved_by:
        return False
    taint = reservation.taint
    return node.tenant == reservation.spec.tenant or (
        taint is not None and any(same_taint(one, taint) for one in node.spec.taints)
    )


def recorded_acceptance(reservation: Reservation) -> bool:
    """Whether the status says that this very generation was accepted."""
    return reservation.status.observed_generation == reservation.metadata.generation and any(
        condition.type == ACCEPTED and condition.status == "True"
        for condition in reservation.status.conditions
    )


def _holders(world: ReservationWorld) -> dict[str, str]:
    listed: dict[str, list[str]] = {}
    for reservation in sorted(world.reservations.values(), key=lambda one: one.age_order):
        for entry in reservation.status.nodes:
            # Released, and killed before that was recorded: the node is nobody's any more.
            if entry.phase != "Draining" or carries(world.nodes.get(entry.name), reservation):
                listed.setdefault(entry.name, []).append(reservation.name)
    holders = {node: _of_several(world, node, names) for node, names in listed.items()}
    for name, node in world.nodes.items():
        if explains(world.reservations.get(node.reserved_by), node):
            holders.setdefault(name, node.reserved_by)
    return holders


def explains(reservation: Reservation | None, node: ReservableNode) -> bool:
    """Whether the Reservation that a node's annotation names can have taken it.

    One of the same name may have been made anew for another tenant: the node is still the earlier tenant's,
    and is drained of its Pods like that of a Reservation that is gone.
    """
    return reservation is not None and node.tenant in ("", reservation.spec.tenant)


def _of_several(world: ReservationWorld, node: str, names: list[str]) -> str:
    marked = world.nodes[node].reserved_by if node in world.nodes else ""
    return marked if marked in names else names[0]
