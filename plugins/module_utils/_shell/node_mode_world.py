# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a node-mode transition sees: fleet, lock document, gates, node and Pods, each with its failure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from .._adapters import api_transport
from .._adapters.api_resource import CONFIGMAPS, NODES, PODS, PROJECTS, RESOURCE_QUOTAS
from .._adapters.api_transport import Clock
from .._adapters.fleet import FleetRepository
from .._adapters.gate_objects import read_gate_copies
from .._adapters.kube import KubeClient
from .._adapters.observe import confirm_cluster
from .._core.catalogue import read_catalogue
from .._core.cluster_objects import ConfigMap, Node, Pod, Project, Quota
from .._core.document import Problem
from .._core.errors import ConflictError, GpuopsError, InputError, ObservationError
from .._core.fleet_files import FleetTree
from .._core.ledger import LedgerReading, read_ledger
from .._core.lock import LOCK_FILE, read_lock
from .._core.names import LEDGER_ROOT, lock_branch
from .._core.node_mode_facts import (
    HeldPool,
    LedgerFacts,
    LiveRecord,
    ModeFacts,
    ModeRequest,
    NodeState,
)
from .._core.node_mode_gates import CONFIG_MAP
from .._core.node_mode_smoke import SmokeFacts
from .._core.unread import Unread
from .sources import Reach

_ATTEMPTS: Final = 5
_CONFIG: Final = CONFIGMAPS.path("flux-system", "cluster-config")
T = TypeVar("T")


@dataclass(frozen=True)
class NodeModeWorld:
    """The outside of one run: API server, fleet repository, clock."""

    kube: KubeClient
    fleet: FleetRepository
    clock: Clock


def connected(reach: Reach) -> NodeModeWorld:
    """The outside that a module's options name; nothing is contacted yet.

    Raises:
        InputError: no cluster or fleet is named, or what names it cannot be used.
    """
    return NodeModeWorld(reach.client, reach.fleet, api_transport.SystemClock())


def observe(world: NodeModeWorld, request: ModeRequest) -> ModeFacts:
    """One whole look. The fleet comes first, because it says which cluster is meant.

    Raises:
        InputError: the fleet has no such cluster.
        ObservationError: the fleet cannot be read, its policy is no policy, or this is another cluster.
    """
    fleet, lock, push = _settled_fleet(world, request)
    reading = read_ledger(fleet, request.cluster)
    if reading.policy is None:
        raise _no_policy(reading)
    confirm_cluster(world.kube, reading.policy.spec.cluster_uid, request.cluster)
    return ModeFacts(
        fleet=fleet,
        ledger=_ledger_facts(reading, lock),
        push=push,
        config=_attempt(CONFIG_MAP, lambda: world.kube.get(_CONFIG, ConfigMap)),
        copies=_attempt("the gates' copies further down", lambda: read_gate_copies(world.kube)),
        state=look(world, request.node),
        smoke=_smoke(world, request.smoke),
    )


def look(world: NodeModeWorld, node: str) -> NodeState:
    """The node, then its Pods, chosen by the API server."""
    return NodeState(
        node=_attempt(f"node {node}", lambda: world.kube.get(NODES.path(name=node), Node)),
        pods=_attempt(
            f"the Pods of node {node}",
            lambda: world.kube.list(PODS.path(), Pod, field_selector=f"spec.nodeName={node}"),
        ),
    )


def _attempt(what: str, read: Callable[[], T]) -> T | Unread:
    try:
        return read()
    except ObservationError as error:
        return Unread.of(what, error)


def _smoke(world: NodeModeWorld, where: tuple[str, str] | None) -> SmokeFacts | Unread | None:
    if where is None:
        return None
    organization, name = where

    def read() -> SmokeFacts:
        project = world.kube.get(PROJECTS.path(organization, name), Project)
        namespace = project.status.namespace if project is not None else ""
        quotas = world.kube.list(RESOURCE_QUOTAS.path(namespace), Quota) if namespace else ()
        profiles = read_catalogue(None, world.kube.get(CONFIGMAPS.path("kube-dc", "gpu-profiles"), ConfigMap))
        return SmokeFacts(organization, name, project, profiles, quotas)

    return _attempt(f"project {organization}/{name} with its quota", read)


def _settled_fleet(world: NodeModeWorld, request: ModeRequest) -> tuple[FleetTree, FleetTree, Unread | None]:
    """Fleet, lock branch, and why a push upon what was read would not be tried; read again while it moves."""
    fleet, lock = _read_fleet(world, request)
    push, moved = _pushable(world, fleet)
    for _ in range(_ATTEMPTS):
        if not moved:
            break
        fleet, lock = _read_fleet(world, request)
        push, moved = _pushable(world, fleet)
    return fleet, lock, push


def _read_fleet(world: NodeModeWorld, request: ModeRequest) -> tuple[FleetTree, FleetTree]:
    folder, branch = f"clusters/{request.cluster}", lock_branch(request.cluster)
    trees = world.fleet.read_all({world.fleet.branch: [folder, LEDGER_ROOT], branch: [LOCK_FILE]})
    fleet = trees[world.fleet.branch]
    if not fleet.revision:
        raise world.fleet.branch_missing()
    if not fleet.below(folder):
        raise InputError(
            "cluster-unknown",
            f"branch {fleet.branch} of {world.fleet.shown} has no folder {folder}",
            next_action="set cluster to a folder below clusters/",
        )
    return fleet, trees[branch]


def _pushable(world: NodeModeWorld, fleet: FleetTree) -> tuple[Unread | None, bool]:
    """Why a push upon what was read would not be tried, and whether only because the branch moved."""
    what = f"branch {fleet.branch} of the fleet repository takes no push"
    try:
        world.fleet.dry_push(fleet.branch, fleet.revision)
    except ConflictError as error:
        return Unread.of(what, error), True
    except GpuopsError as error:
        return Unread.of(what, error), False
    return None, False


def _no_policy(reading: LedgerReading) -> ObservationError:
    return ObservationError(
        "ledger-invalid",
        f"without a policy it is not known which cluster is meant: {_told(reading.problems)}",
        next_action="correct the policy in the fleet repository, then run again",
    )


def _told(problems: tuple[Problem, ...]) -> str:
    return "; ".join(str(problem) for problem in problems)


def _ledger_facts(reading: LedgerReading, lock: FleetTree) -> LedgerFacts:
    pools = reading.policy.pools if reading.policy is not None else {}
    locks: Mapping[str, HeldPool] | Unread
    try:
        locks = {
            profile: HeldPool(held.ticket, held.run, held.since, held.step)
            for profile, held in read_lock(lock).pools.items()
        }
    except ObservationError as error:
        locks = Unread.of("the lock document", error)
    live: tuple[LiveRecord, ...] | Unread
    if reading.ledger is None:
        live = Unread(
            "the ledger", _told(reading.problems), "correct the files that are named, then run again"
        )
    else:
        live = tuple(
            LiveRecord(record.id, record.spec.profile_id, record.spec.organization, record.state)
            for record in reading.ledger.records.values()
            if record.holds
        )
    return LedgerFacts({profile: frozenset(pool.nodes) for profile, pool in pools.items()}, locks, live)
