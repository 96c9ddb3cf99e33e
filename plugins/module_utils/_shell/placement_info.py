# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_placement_info: why a Pod is not where it should be."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from .._adapters.kube import KubeClient
from .._adapters.observe_admission import observe_installation
from .._adapters.observe_placement import (
    Target,
    observe_marked_at,
    observe_owner,
    observe_pod,
    observe_pods,
    observe_quotas,
)
from .._adapters.observe_reservations import observe_reservations
from .._core.admission_installed import Installation
from .._core.errors import InputError
from .._core.placement import diagnose
from .._core.placement_coverage import uncovered_pods
from .._core.placement_world import PlacementWorld
from .._core.reservation_access import WRITES
from .._core.reservation_world import ReservationWorld
from .._core.tenant_pods import PlacedPods, Tenancies
from .outcome import Outcome
from .reservation_gate import access_checks, confirm
from .run import Invocation
from .sources import Reach


def inspect_placement(invocation: Invocation) -> Outcome:
    """The module's work."""
    params, reach = invocation.params, Reach(invocation.params)
    confirm(reach)
    world = _observe(reach.client, params["namespace"], _target(reach.client, params))
    first, *others = diagnose(world)
    return Outcome(
        changed=False,
        msg=f"{first.diagnosis}: {first.message}. Next: {first.fix}",
        checks=world.permissions,
        result={
            "diagnosis": first.diagnosis,
            "message": first.message,
            "facts": list(first.facts),
            "fix": first.fix,
            "uncovered": list(_uncovered(reach.client, world)),
            "others": [dataclasses.asdict(one) for one in others],
            "target": world.target,
            "tenant": world.tenant,
        },
    )


def _target(client: KubeClient, params: Mapping[str, Any]) -> Target:
    if params["pod"]:
        return observe_pod(client, params["namespace"], params["pod"])
    kind, slash, name = params["owner"].partition("/")
    if not slash or not kind or not name:
        raise InputError(
            "owner-invalid",
            f"owner: {params['owner']!r} is no kind/name",
            next_action="give owner as kind/name, for example deployment/training",
        )
    return observe_owner(client, params["namespace"], kind, name)


def _observe(client: KubeClient, namespace: str, target: Target) -> PlacementWorld:
    installation = observe_installation(client)
    reservations = _reservations(client, installation)
    node = target.pod.spec.node_name if target.pod else ""
    return PlacementWorld(
        pod=target.pod,
        created=target.created,
        owner=target.owner,
        target=target.text,
        namespace=namespace,
        installation=installation,
        permissions=access_checks(client, WRITES),
        reservations=reservations,
        quotas=observe_quotas(client, namespace),
        events=target.events,
        node_marked={node: observe_marked_at(client, node)} if node else {},
    )


def _uncovered(client: KubeClient, world: PlacementWorld) -> tuple[str, ...]:
    if not world.tenant:
        return ()
    return uncovered_pods(observe_pods(client, world.namespace), world.bindings)


def _reservations(client: KubeClient, installation: Installation) -> ReservationWorld:
    """Without definitions there is nothing to list, and that is the diagnosis."""
    if installation.managers:
        return observe_reservations(client)
    return ReservationWorld({}, (), {}, {}, PlacedPods({}, {}), Tenancies())
