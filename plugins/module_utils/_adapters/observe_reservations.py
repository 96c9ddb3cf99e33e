# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads what Reservations are judged by: each kind once, nodes and Pods whole, in parallel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from .._core.cluster_objects import Namespace, Pod
from .._core.errors import ObservationError
from .._core.reservation_objects import (
    TENANT_LABEL,
    DaemonSet,
    ReservableNode,
    Reservation,
    ReservationBinding,
)
from .._core.reservation_world import ReservationWorld
from .._core.tenant_pods import PlacedPods, Tenancies, placed_pods
from .api_resource import DAEMONSETS, NAMESPACES, NODES, PODS, RESERVATION_BINDINGS, RESERVATIONS, ApiResource
from .kube import KubeClient
from .observe import in_parallel

_READ: Final[dict[str, tuple[ApiResource, type[Any]]]] = {
    "pods": (PODS, Pod),
    "nodes": (NODES, ReservableNode),
    "daemonsets": (DAEMONSETS, DaemonSet),
    "namespaces": (NAMESPACES, Namespace),
    "bindings": (RESERVATION_BINDINGS, ReservationBinding),
    "reservations": (RESERVATIONS, Reservation),
}


def observe_reservations(client: KubeClient) -> ReservationWorld:
    """Everything of one pass.

    Raises:
        ObservationError: definitions-missing where Reservations are not installed; what lists raise.
    """

    def reader(resource: ApiResource, model: type[Any]) -> Callable[[], tuple[Any, ...]]:
        return lambda: _list(client, resource, model)

    found = in_parallel({name: reader(*what) for name, what in _READ.items()})
    namespaces = {one.metadata.name: one for one in found["namespaces"]}
    return ReservationWorld(
        reservations={one.name: one for one in found["reservations"]},
        bindings=found["bindings"],
        namespaces=namespaces,
        nodes={one.name: one for one in found["nodes"]},
        placed=placed_pods(found["pods"], found["daemonsets"]),
        tenancies=Tenancies(
            {
                name: tenant
                for name, one in namespaces.items()
                if (tenant := one.metadata.labels.get(TENANT_LABEL))
            }
        ),
    )


def observe_placed_pods(client: KubeClient) -> PlacedPods:
    """Pods on nodes as they are now, for the second look of a pass that has cordoned."""
    return placed_pods(client.list(PODS.path(), Pod), client.list(DAEMONSETS.path(), DaemonSet))


def _list(client: KubeClient, resource: ApiResource, model: type[Any]) -> tuple[Any, ...]:
    try:
        return client.list(resource.path(), model)
    except ObservationError as error:
        if error.code == "api-not-served" and resource in (RESERVATIONS, RESERVATION_BINDINGS):
            raise ObservationError(
                "definitions-missing",
                f"the cluster has no {resource.plural}.{resource.group}: Reservations are not installed",
                next_action="run playbooks/install.yml with an administrator's identity",
            ) from error
        raise
