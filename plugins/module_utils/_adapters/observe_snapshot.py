# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""One observation of fleet, cluster and alerts together: the fleet did not move while the rest was read."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from .._core.errors import ObservationError
from .._core.fleet_files import FleetTree
from .._core.snapshot import FORMAT, Snapshot
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


def observe_snapshot(
    sources: Sources,
    cluster: str,
    identify: Identify,
    *,
    meanwhile: Callable[[FleetTree], object] | None = None,
) -> Snapshot:
    """Everything, at one moment as far as that can be had.

    The fleet is read first, because it says which cluster is meant, and once more at the end: where a
    file that was read has changed meanwhile, all is read again.

    Args:
        sources: where from.
        cluster: the folder below clusters/.
        identify: which cluster the fleet means.
        meanwhile: what the caller can do with the fleet's files while the cluster's answers are waited for.

    Raises:
        ObservationError: fleet-moving, where that never came to rest, and whatever could not be read
            (unreadable alerts are part of the answer).
        InputError: from connecting, or from ``identify``.
    """
    with _no_collection(), ThreadPoolExecutor(3, thread_name_prefix="snapshot") as pool:
        connecting = pool.submit(sources.connect)
        fleet, lock = _read_fleet(sources)
        client = connecting.result()
        for _ in range(_ATTEMPTS):
            uid, name = identify(fleet)
            confirm_cluster(client, uid, name)
            reading = pool.submit(read_confirmed, client, uid)
            alerting = pool.submit(read_alerts, sources.alerts, client)
            if meanwhile is not None:
                meanwhile(fleet)
            observed, alerts = reading.result(), alerting.result()
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


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Puts the garbage collector off: everything that is read is kept, and nothing of it is a cycle."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _read_fleet(sources: Sources) -> tuple[FleetTree, FleetTree]:
    trees = sources.fleet.read_all(
        {sources.fleet.branch: sources.folders, sources.lock_branch: sources.lock_folders}
    )
    if not trees[sources.fleet.branch].revision:
        raise sources.fleet.branch_missing()
    return trees[sources.fleet.branch], trees[sources.lock_branch]
