# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""One observation for a module: live, or from a saved snapshot, with ledger and lock read from it."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from .._adapters.observe import confirm_cluster, read_confirmed
from .._adapters.observe_snapshot import Identify, observe_snapshot
from .._core.errors import InputError
from .._core.fleet_files import FleetTree
from .._core.ledger import Ledger, load_ledger, load_policy, read_ledger
from .._core.ledger_view import LedgerView, view_of
from .._core.lock import LockDocument, read_lock
from .._core.snapshot import FORMAT, AlertsObserved, Snapshot, load_snapshot
from .run import Invocation
from .sources import Reach


@dataclass(frozen=True)
class Observation:
    """What one look at the world showed.

    Attributes:
        snapshot: everything that was read.
        ledger: the valid ledger.
        lock: the lock document.
        view: both, as a proof takes them.
    """

    snapshot: Snapshot
    ledger: Ledger
    lock: LockDocument
    view: LedgerView

    @property
    def now(self) -> str:
        """The API server's time, RFC 3339."""
        return self.snapshot.observed.server_time


def observation_of(snapshot: Snapshot) -> Observation:
    """A snapshot with ledger and lock read from it.

    Raises:
        ObservationError: ledger-invalid, duplicate-reservation-id.
    """
    ledger = load_ledger(snapshot.fleet, snapshot.cluster)
    return Observation(snapshot, ledger, read_lock(snapshot.lock), view_of(ledger, snapshot.lock))


def observe(invocation: Invocation, reach: Reach | None = None) -> Observation:
    """Look once: at the saved snapshot where one is given, else at the world.

    Raises:
        InputError: an option is missing, or the snapshot is of another cluster.
        ObservationError: something could not be read, or is not the cluster that the policy names.
    """
    if invocation.params.get("snapshot"):
        return observation_of(load_saved(invocation))
    reach = reach or Reach(invocation.params)
    cluster = reach.cluster
    return observation_of(
        observe_snapshot(
            reach.sources(),
            cluster,
            identity_by(cluster),
            meanwhile=lambda fleet: read_ledger(fleet, cluster),
        )
    )


def identity_by(cluster: str) -> Identify:
    """Which cluster the fleet's policy means: a function from the fleet's files to UID and name."""

    def identify(tree: FleetTree) -> tuple[str, str]:
        return load_policy(tree, cluster).spec.cluster_uid, cluster

    return identify


def look_again(invocation: Invocation, reach: Reach, earlier: Observation) -> Observation:
    """Look once more, keeping the earlier leases: a skewed clock can then be told from a dead node."""
    again = observe(invocation, reach)
    before = earlier.snapshot.observed
    observed = again.snapshot.observed.model_copy(
        update={"earlier_leases": before.leases, "earlier_server_time": before.server_time}
    )
    return replace(again, snapshot=again.snapshot.model_copy(update={"observed": observed}))


def save_snapshot(observation: Observation, path: str) -> None:
    """Write the observation to a file; see :func:`save_text`."""
    save_text(path, observation.snapshot.to_json())


def save_text(path: str, text: str) -> None:
    """Write a file of mode 0600, whole or not at all.

    Raises:
        InputError: the file cannot be written.
    """
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            Path(name).replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise
    except OSError as error:
        raise InputError(
            "file-not-saved",
            f"{target} cannot be written: {error.strerror}",
            next_action="name a file in a folder that exists and can be written",
        ) from error


def load_saved(invocation: Invocation) -> Snapshot:
    """The snapshot of option ``snapshot``.

    Raises:
        InputError: it cannot be read, or is of another cluster.
        ObservationError: it is no snapshot.
    """
    path = invocation.params["snapshot"]
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InputError(
            "snapshot-unreadable",
            f"snapshot: {path} cannot be read: {error.strerror}",
            next_action="name a file that gpu_invariant saved with save_snapshot",
        ) from error
    snapshot = load_snapshot(content, path)
    cluster = invocation.params.get("cluster")
    if cluster and cluster != snapshot.cluster:
        raise InputError(
            "snapshot-of-another-cluster",
            f"snapshot: {path} shows cluster {snapshot.cluster}, and cluster {cluster} was asked for",
            next_action="leave cluster out, or name the right snapshot",
        )
    return snapshot


def observe_parts(reach: Reach, parts: Collection[str]) -> Observation:
    """Look at the fleet and only these parts of the cluster; what was not read must not be judged.

    Args:
        reach: how the invocation reaches the world.
        parts: fields of ClusterObserved.

    Raises:
        ObservationError: as for :func:`observe`.
    """
    sources = reach.sources()
    trees = sources.fleet.read_all(
        {sources.fleet.branch: sources.folders, sources.lock_branch: sources.lock_folders}
    )
    fleet = trees[sources.fleet.branch]
    if not fleet.revision:
        raise sources.fleet.branch_missing()
    uid, cluster = identity_by(reach.cluster)(fleet)
    confirm_cluster(reach.client, uid, cluster)
    return observation_of(
        Snapshot(
            format=FORMAT,
            cluster=cluster,
            observed=read_confirmed(reach.client, uid, parts),
            fleet=fleet,
            lock=trees[sources.lock_branch],
            alerts=AlertsObserved(error="not read"),
        )
    )
