# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a reconcile tells: notices before a release, and what it found on nodes.

Runbook: Reservations and ReservationBindings, "Notify the tenant before changing reservations".
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from .reservation_objects import GROUP_VERSION, ReservationBinding
from .reservation_world import ReservationWorld

Kind = Literal[
    "release", "strangers", "newcomers", "restored", "uncordoned", "strange-taint", "unexplained", "eviction"
]
_NOTE_LENGTH: Final = 1024
REPORTER: Final = "gpuops.reservations/reconcile"
REASON: Final = "NodeRelease"


@dataclass(frozen=True)
class Notice:
    """One thing that somebody should know.

    Attributes:
        kind: ``release`` goes to the tenant before a node is cordoned; the others are for the operator.
        node: which node.
        reservation: which Reservation; empty where none explains the node.
        tenant: whose.
        message: what, with the facts.
        next_action: what to do, empty where nothing is to be done.
        id: of a release: the same at every try, another one for the next release of the node.
        bindings: of a release: the bindings that get an Event, as namespace/name.
    """

    kind: Kind
    node: str
    reservation: str
    tenant: str
    message: str
    next_action: str = ""
    id: str = ""
    bindings: tuple[str, ...] = ()

    def result(self) -> dict[str, Any]:
        """The notice as a module returns it."""
        return {**asdict(self), "bindings": list(self.bindings)}


def release_notice(
    world: ReservationWorld, *, node: str, reservation: str, tenant: str, version: str, why: str, evict: bool
) -> Notice:
    """The notice to a tenant that a node will be released.

    Args:
        world: the observation.
        node: which node.
        reservation: whose node it is.
        tenant: to be told.
        version: the Reservation's UID and generation, or the node's UID where it is gone.
        why: the cause, as part of a sentence.
        evict: whether Pods will be evicted.
    """
    digest = hashlib.sha256(f"{reservation}/{version}/{node}".encode()).hexdigest()[:16]
    fate = (
        "its Pods there are evicted, within their disruption budgets"
        if evict
        else "it is released once its Pods there are gone"
    )
    return Notice(
        kind="release",
        node=node,
        reservation=reservation,
        tenant=tenant,
        message=f"node {node} is taken out of Reservation {reservation} of tenant {tenant}, because {why}: "
        f"it is cordoned now, and {fate}",
        next_action="finish or move what runs there",
        id=f"release-{digest}",
        bindings=tuple(binding.shown for binding in bindings_to_tell(world, tenant)),
    )


def bindings_to_tell(world: ReservationWorld, tenant: str) -> tuple[ReservationBinding, ...]:
    """The tenant's bindings; in a namespace that is being deleted no Event can be made."""
    own = world.tenancies.namespaces(tenant)
    return tuple(
        binding
        for binding in world.bindings
        if binding.metadata.namespace in own
        and not world.namespaces[binding.metadata.namespace].metadata.deletion_timestamp
    )


def event_of(notice: Notice, binding: ReservationBinding, now: str) -> dict[str, Any]:
    """The Event about one binding that carries a notice; a second one of its name is refused as existing."""
    meta = binding.metadata
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"{notice.id}-{meta.name}"[:253].rstrip("-."), "namespace": meta.namespace},
        "eventTime": now.replace("Z", ".000000Z"),
        "reportingController": REPORTER,
        "reportingInstance": notice.reservation[:128],
        "action": "Release",
        "reason": REASON,
        "type": "Warning",
        "note": notice.message[:_NOTE_LENGTH],
        "regarding": {
            "apiVersion": GROUP_VERSION,
            "kind": "ReservationBinding",
            "namespace": meta.namespace,
            "name": meta.name,
            "uid": meta.uid,
            "resourceVersion": meta.resource_version,
        },
    }
