# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fleet, cluster and alerts as of one moment."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.fleet import FleetRepository
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.kube import KubeClient
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.observe_snapshot import (
    Sources,
    observe_snapshot,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import (
    InputError,
    ObservationError,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.fleet_files import FleetTree
from ansible_collections.gpuops.reservations.plugins.module_utils._core.snapshot import load_snapshot

from .cluster_script import UID, script_cluster
from .scripted_server import ScriptedServer

LOCK = "gpu-lock/lab"


@pytest.fixture
def sources(server: ScriptedServer, client: KubeClient, fleet: FleetRepository) -> Sources:
    script_cluster(server)
    server.on_json("/api/v1/alerts", {"status": "success", "data": {"alerts": []}})
    server.on_json("/api/v1/rules", {"status": "success", "data": {"groups": []}})
    return Sources(connect=lambda: client, fleet=fleet, folders=["a"], lock_branch=LOCK, alerts=server.url)


def lab(tree: FleetTree) -> tuple[str, str]:
    assert tree.files[0].path == "a"
    return UID, "lab"


def moving(other: FleetRepository, change: Callable[[int], None]) -> Callable[[FleetTree], tuple[str, str]]:
    """Something is committed between the reading of the fleet and that of the cluster."""
    times: list[int] = []

    def identify(tree: FleetTree) -> tuple[str, str]:
        times.append(1)
        change(len(times))
        return lab(tree)

    return identify


def test_a_snapshot_holds_all_of_it_and_loads_again(sources: Sources, fleet: FleetRepository) -> None:
    lock = fleet.commit(LOCK, "", {"lock.yaml": b"pools: {}\n"}, "lock")
    snapshot = observe_snapshot(sources, "lab", lab)
    assert snapshot.cluster == "lab"
    assert snapshot.observed.uid == UID
    assert snapshot.fleet.files[0].content == b"1\n"
    assert (snapshot.lock.revision, snapshot.lock.files[0].content) == (lock, b"pools: {}\n")
    assert snapshot.alerts.readable
    assert load_snapshot(snapshot.to_json(), "file") == snapshot


def test_a_cluster_that_the_policy_does_not_mean_is_left_at_once(
    server: ScriptedServer, sources: Sources
) -> None:
    with pytest.raises(ObservationError) as raised:
        observe_snapshot(sources, "lab", lambda _tree: ("another", "lab"))
    assert raised.value.code == "wrong-cluster-uid"
    assert [asked.path for asked in server.asked] == ["/api/v1/namespaces/kube-system"]


def test_a_fleet_that_names_no_cluster_ends_it_before_the_cluster_is_asked(
    server: ScriptedServer, sources: Sources
) -> None:
    def unnamed(_tree: FleetTree) -> tuple[str, str]:
        raise InputError("policy-missing", "no policy", next_action="write one")

    with pytest.raises(InputError):
        observe_snapshot(sources, "lab", unnamed)
    assert server.asked == []


@pytest.mark.parametrize(("branch", "path"), [("main", "a"), (LOCK, "lock.yaml")])
def test_when_a_file_moves_meanwhile_all_is_read_again(
    server: ScriptedServer, sources: Sources, other: FleetRepository, branch: str, path: str
) -> None:
    def once(time: int) -> None:
        if time == 1:
            other.commit(branch, other.tips([branch])[branch], {path: b"2\n"}, "moved")

    snapshot = observe_snapshot(sources, "lab", moving(other, once))
    tree = snapshot.fleet if branch == "main" else snapshot.lock
    assert tree.files[0].content == b"2\n"
    assert len(server.requests("GET", "/api/v1/pods")) == 2


def test_what_moves_elsewhere_in_the_repository_is_of_no_interest(
    server: ScriptedServer, sources: Sources, other: FleetRepository
) -> None:
    def elsewhere(_time: int) -> None:
        other.commit("main", other.tips(["main"])["main"], {"elsewhere": b"2\n"}, "moved")

    snapshot = observe_snapshot(sources, "lab", moving(other, elsewhere))
    assert snapshot.fleet.revision == other.tips(["main"])["main"], "a commit can be built upon it"
    assert len(server.requests("GET", "/api/v1/pods")) == 1


def test_a_fleet_that_never_rests_stops(sources: Sources, other: FleetRepository) -> None:
    def always(time: int) -> None:
        other.commit("main", other.tips(["main"])["main"], {"a": b"%d\n" % (time + 1)}, "moved")

    with pytest.raises(ObservationError) as raised:
        observe_snapshot(sources, "lab", moving(other, always))
    assert raised.value.code == "fleet-moving"


def test_a_fleet_branch_that_is_missing_stops(sources: Sources, bare: object, tmp_path: object) -> None:
    fleet = FleetRepository(str(bare), "trunk", f"{tmp_path}/cache")
    with pytest.raises(ObservationError) as raised:
        observe_snapshot(Sources(sources.connect, fleet, ["a"], LOCK), "lab", lab)
    assert raised.value.code == "fleet-branch-missing"


def test_alerts_that_cannot_be_read_are_part_of_the_snapshot(
    server: ScriptedServer, sources: Sources
) -> None:
    server.on_json("/api/v1/alerts", {"status": "error"})
    snapshot = observe_snapshot(sources, "lab", lab)
    assert not snapshot.alerts.readable
    assert snapshot.alerts.error


def test_a_connection_that_cannot_be_made_is_told(sources: Sources) -> None:
    def refuse() -> KubeClient:
        raise InputError("connection-not-named", "none", next_action="name one")

    with pytest.raises(InputError):
        observe_snapshot(Sources(refuse, sources.fleet, ["a"], LOCK), "lab", lab)


def test_the_caller_works_on_the_fleet_while_the_cluster_answers(
    server: ScriptedServer, sources: Sources, other: FleetRepository
) -> None:
    seen: list[bytes] = []

    def once(time: int) -> None:
        if time == 1:
            other.commit("main", other.tips(["main"])["main"], {"a": b"2\n"}, "moved")

    observe_snapshot(
        sources, "lab", moving(other, once), meanwhile=lambda tree: seen.append(tree.files[0].content)
    )
    assert seen == [b"1\n", b"2\n"], "once for each reading"


@pytest.mark.parametrize("uid", [UID, "another"])
def test_the_collector_is_as_it_was_afterwards(sources: Sources, uid: str) -> None:
    def look() -> None:
        with contextlib.suppress(ObservationError):
            observe_snapshot(sources, "lab", lambda _tree: (uid, "lab"))

    look()
    assert gc.isenabled()
    gc.disable()
    try:
        look()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_caller_that_fails_meanwhile_ends_it(sources: Sources) -> None:
    def fail(_tree: FleetTree) -> None:
        raise ObservationError("ledger-invalid", "no", next_action="x")

    with pytest.raises(ObservationError, match="no"):
        observe_snapshot(sources, "lab", lab, meanwhile=fail)
