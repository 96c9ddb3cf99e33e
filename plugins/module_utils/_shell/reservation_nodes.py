# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Writes to nodes: patched with the version that was read, judged again after every conflict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._adapters.api_resource import NODES
from .._adapters.kube import KubeClient
from .._core.errors import ConflictError, ObservationError
from .._core.reservation_objects import ReservableNode

ATTEMPTS = 40
"""Somebody else may change a node all the time; each try reads it again."""

MakePatch = Callable[[ReservableNode], "dict[str, Any] | None"]
"""The patch that a node needs as it is; None where it is right."""


def settle_node(
    client: KubeClient, node: ReservableNode, make: MakePatch, *, check_mode: bool = False
) -> tuple[ReservableNode, bool]:
    """Patch a node until it is right; the node as it is then, and whether anything was written.

    Raises:
        ConflictError: ``node-contested`` after bounded tries.
        ObservationError: ``object-gone``; whatever a write raises.
    """
    path = NODES.path(name=node.name)
    for _ in range(ATTEMPTS):
        patch = make(node)
        if patch is None or check_mode:
            return node, patch is not None
        try:
            body = client.patch(path, patch, resource_version=node.metadata.resource_version)
        except ConflictError:
            node = _again(client, path, node.name)
        else:
            return ReservableNode.model_validate(body), True
    raise ConflictError(
        "node-contested",
        f"node {node.name} was changed by somebody else {ATTEMPTS} times while it was being written",
        next_action=f"see who keeps changing node {node.name}, and run again",
    )


def _again(client: KubeClient, path: str, name: str) -> ReservableNode:
    node = client.get(path, ReservableNode)
    if node is None:
        raise ObservationError(
            "object-gone", f"node {name} is gone", next_action="run again: it counts as Missing then"
        )
    return node
