# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the played nodes are Ready, with heartbeats that are not older than their leases allow."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .api import Api, ApiError
from .components import NODE_ANNOTATION

_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"


def unfit(
    nodes: Sequence[Mapping[str, Any]], leases: Sequence[Mapping[str, Any]], now: datetime.datetime
) -> list[str]:
    """Names of played nodes that are not Ready, or whose lease is missing or has run out, with the reason."""
    renewed = {lease["metadata"]["name"]: lease["spec"] for lease in leases}
    found = []
    for node in nodes:
        name = node["metadata"]["name"]
        if not _is_played(node):
            continue
        if not _is_ready(node):
            found.append(f"{name} is not Ready")
        elif name not in renewed:
            found.append(f"{name} has no lease")
        elif _has_run_out(renewed[name], now):
            found.append(f"{name} has an old lease")
    return found


def beat(api: Api) -> Callable[[], str | None]:
    """The condition that every played node is fit."""

    def condition() -> str | None:
        try:
            nodes = api.get("/api/v1/nodes")["items"]
            leases = api.get(_LEASES)["items"]
        except ApiError as error:
            return f"{error.status} {error}"
        return ", ".join(unfit(nodes, leases, datetime.datetime.now(datetime.UTC))) or None

    return condition


def _is_played(node: Mapping[str, Any]) -> bool:
    key, _, value = NODE_ANNOTATION.partition("=")
    return bool(node["metadata"].get("annotations", {}).get(key) == value)


def _is_ready(node: Mapping[str, Any]) -> bool:
    conditions = node.get("status", {}).get("conditions", [])
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


def _has_run_out(lease: Mapping[str, Any], now: datetime.datetime) -> bool:
    if "renewTime" not in lease or "leaseDurationSeconds" not in lease:
        return True
    until = datetime.datetime.fromisoformat(lease["renewTime"]) + datetime.timedelta(
        seconds=lease["leaseDurationSeconds"]
    )
    return until < now
