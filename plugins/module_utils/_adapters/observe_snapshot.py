# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""One observation of fleet, cluster and alerts together: the fleet did not move while the rest was read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from .._core.errors import ObservationError
from .._core.fleet_files import FleetTree
from .._core.snapshot import FORMAT, AlertsObserved, ClusterObserved, Snapshot
from .alerts import read_alerts
from .fleet import FleetRepository
from .kube import KubeClient
from .observe import confirm_cluster, read_confirmed

_ATTEMPTS: Final = 5

Identify = Callable[[FleetTree], tuple[str, str]]
"""From the fleet's files to the UID and the name that the cluster has to have; may raise."""


@dataclass(frozen=True)
class Sources:
    """Where an observation comes from.

    Attributes:
        connect: makes the client; called once, while the fleet is being fetched.
        fleet: the fleet repository.
        folders: what is read of the fleet branch.
        lock_branch: the branch of lock.yaml.
        lock_folders: what is read of it.
        alerts: as for :func:`read_alerts`.
    """

    connect: Callable[[], KubeClient]
    fleet: FleetRepository
    folders: Sequence[str]
    lock_branch: str
    lock_folders: Sequence[str] = ("lock.yaml",)
    alerts: str = ""


def observe_snapshot(sources: Sources, cluster: str, identify: Identify) -> Snapshot:
    """Everything, at one moment as far as that can be had.

    The fleet is read first, because it says which cluster is meant, and once more at the end: where a
    file that was read has changed meanwhile, all is read again.

    Raises:
        ObservationError: fleet-moving, where that never came to rest, and whatever could not be read
            (unreadable alerts are part of the answer).
        InputError: from connecting, or from ``identify``.
    """
    with ThreadPoolExecutor(2, thread_name_prefix="snapshot") as pool:
        connecting = pool.submit(sources.connect)
        fleet, lock = _read_fleet(sources)
        client = connecting.result()
        for _ in range(_ATTEMPTS):
            uid, name = identify(fleet)
            observed, alerts = _read_cluster(pool, client, sources, (uid, name))
            fleet_after, lock_after = _read_fleet(sources)
            if fleet_after.files == fleet.files and lock_after.files == lock.files:
                return Snapshot(
                    format=FORMAT,
                    cluster=cluster,
                    observed=observed,
                    fleet=fleet_after,
                    lock=lock_after,
                    alerts=alerts,
                )
            fleet, lock = fleet_after, lock_after
    raise ObservationError(
        "fleet-moving",
        f"the fleet repository changed each of the {_ATTEMPTS} times that the cluster was read, so the two "
        "could not be compared",
        next_action="see what commits to it, then run again",
    )


def _read_cluster(
    pool: ThreadPoolExecutor, client: KubeClient, sources: Sources, identity: tuple[str, str]
) -> tuple[ClusterObserved, AlertsObserved]:
    confirm_cluster(client, *identity)
    alerting = pool.submit(read_alerts, sources.alerts, client)
    observed = read_confirmed(client, identity[0])
    return observed, alerting.result()


def _read_fleet(sources: Sources) -> tuple[FleetTree, FleetTree]:
    trees = sources.fleet.read_all(
        {sources.fleet.branch: sources.folders, sources.lock_branch: sources.lock_folders}
    )
    if not trees[sources.fleet.branch].revision:
        raise sources.fleet.branch_missing()
    return trees[sources.fleet.branch], trees[sources.lock_branch]
