# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Nodes that a hold's pool declares: taken only when its equation holds without them, under its lock."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.fleet import FleetRepository
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import (
    PartialChange,
    PolicyBlocked,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.lock import LOCK_FILE, read_lock, take
from ansible_collections.gpuops.reservations.tests.integration.reservations.stage import RESERVATIONS, Stage
from lab.environment import exports

Json = dict[str, Any]
FOO, BRANCH, POOL = "tenant-foo", "gpu-lock/lab", "h100-vm"


@pytest.fixture
def fleet(stage: Stage) -> FleetRepository:
    return FleetRepository(exports(stage.lab)["GPUOPS_FLEET_REPO"])


@pytest.fixture
def pooled(stage: Stage) -> Iterator[Stage]:
    yield stage
    stage.clear()
    for name in ("gpu-02", "gpu-03", "gpu-04"):
        stage.wipe(name)


def locked(fleet: FleetRepository) -> dict[str, str]:
    document = read_lock(fleet.read_branch(BRANCH, (LOCK_FILE,)))
    return {pool: lock.ticket for pool, lock in document.pools.items()}


def lock_for(fleet: FleetRepository, holder: str) -> None:
    tree = fleet.read_branch(BRANCH, (LOCK_FILE,))
    made = take(read_lock(tree), (POOL,), holder, "01RUN", now="2026-12-01T00:00:00Z", step="test").document
    fleet.commit(BRANCH, tree.revision, {LOCK_FILE: made.to_yaml().encode()}, "Lock for a test")


def unlock(fleet: FleetRepository) -> None:
    tree = fleet.read_branch(BRANCH, (LOCK_FILE,))
    document = read_lock(tree)
    bare = document.model_copy(update={"pools": {}})
    fleet.commit(BRANCH, tree.revision, {LOCK_FILE: bare.to_yaml().encode()}, "Unlock after a test")


def claim(stage: Stage, *nodes: str) -> None:
    stage.reserve("foo", FOO, list(nodes))


def given(stage: Stage) -> Json:
    """The options of a run whose proof can be made: the plugin's DaemonSet is not what is tested here."""
    return {"allow_daemonset_loss": True, "alerts_url": exports(stage.lab)["GPUOPS_ALERTS_URL"]}


def test_a_node_that_can_be_spared_is_taken_and_the_lock_let_go(
    pooled: Stage, fleet: FleetRepository
) -> None:
    claim(pooled, "gpu-04")
    ahead = pooled.reconcile(**given(pooled), check_mode=True)
    assert ahead.changed
    assert locked(fleet) == {}
    pooled.reconcile(**given(pooled))
    assert pooled.node("gpu-04")["metadata"]["labels"]["reserved.tenant"] == FOO
    assert locked(fleet) == {}
    messages = [entry.message for entry in fleet.history(BRANCH, LOCK_FILE)]
    assert messages[:2] == ["Let go of h100-vm for reservation:foo", "Lock h100-vm for reservation:foo"]


def test_nodes_without_which_the_equation_fails_are_refused(pooled: Stage, fleet: FleetRepository) -> None:
    claim(pooled, "gpu-02", "gpu-03", "gpu-04")
    with pytest.raises(PolicyBlocked) as caught:
        pooled.reconcile(**given(pooled))
    [shown] = caught.value.report["reservations"]
    assert (shown["accepted"], shown["reason"]) == (False, "CapacityHold")
    assert "pool h100-vm" in shown["message"]
    assert "reserved.tenant" not in pooled.node("gpu-04")["metadata"]["labels"]
    assert locked(fleet) == {}


def test_what_was_taken_counts_no_more_for_the_next_proof(pooled: Stage, fleet: FleetRepository) -> None:
    claim(pooled, "gpu-04")
    pooled.reconcile(**given(pooled))
    pooled.edit_reservation("foo", reservedNodes=["gpu-04", "gpu-03"])
    pooled.reconcile(**given(pooled))
    pooled.edit_reservation("foo", reservedNodes=["gpu-04", "gpu-03", "gpu-02"])
    with pytest.raises(PolicyBlocked) as caught:
        pooled.reconcile(**given(pooled))
    assert caught.value.report["reservations"][0]["reason"] == "CapacityHold"
    marked = {
        name: "reserved.tenant" in pooled.node(name)["metadata"]["labels"]
        for name in ("gpu-02", "gpu-03", "gpu-04")
    }
    assert marked == {"gpu-02": False, "gpu-03": True, "gpu-04": True}
    assert locked(fleet) == {}


def test_two_reservations_of_one_pool_never_share_a_lock_nor_a_proof(
    pooled: Stage, fleet: FleetRepository
) -> None:
    """Whoever comes second to a pool is proved without what the first one took."""
    pooled.reserve("a", FOO, ["gpu-04", "train-01"])
    pooled.reserve("b", FOO, ["gpu-03", "train-02"])
    for _ in range(2):
        with contextlib.suppress(PolicyBlocked, PartialChange):
            pooled.reconcile(**given(pooled))
    taken = {
        node["metadata"]["name"]: node["metadata"]["annotations"]["gpuops.reservations/reserved-by"]
        for node in pooled.items("/api/v1/nodes?labelSelector=reserved.tenant")
    }
    assert taken == {"gpu-03": "b", "gpu-04": "a", "train-01": "a", "train-02": "b"}
    assert locked(fleet) == {}


def test_a_node_is_given_back_without_lock_or_proof(pooled: Stage, fleet: FleetRepository) -> None:
    claim(pooled, "gpu-04")
    pooled.reconcile(**given(pooled))
    before = len(fleet.history(BRANCH, LOCK_FILE))
    pooled.admin.delete(f"{RESERVATIONS}/foo")
    pooled.reconcile(alerts_url="http://127.0.0.1:9")
    assert "reserved.tenant" not in pooled.node("gpu-04")["metadata"]["labels"]
    assert len(fleet.history(BRANCH, LOCK_FILE)) == before


def test_a_pool_that_somebody_else_has_locked_is_left_alone(pooled: Stage, fleet: FleetRepository) -> None:
    lock_for(fleet, "lab-1")
    try:
        claim(pooled, "gpu-04")
        with pytest.raises(PolicyBlocked) as caught:
            pooled.reconcile(**given(pooled))
        assert "lab-1" in caught.value.message
        assert "reserved.tenant" not in pooled.node("gpu-04")["metadata"]["labels"]
        assert locked(fleet) == {POOL: "lab-1"}
    finally:
        unlock(fleet)


def test_what_a_killed_run_left_locked_is_let_go(pooled: Stage, fleet: FleetRepository) -> None:
    pooled.reserve("foo", FOO, ["train-01"])
    lock_for(fleet, "reservation:foo")
    pooled.reconcile()
    assert locked(fleet) == {}


def test_a_proof_that_cannot_be_made_refuses(pooled: Stage, fleet: FleetRepository) -> None:
    claim(pooled, "gpu-04")
    with pytest.raises(PolicyBlocked) as caught:
        pooled.reconcile(**{**given(pooled), "alerts_url": "http://127.0.0.1:9"})
    assert caught.value.report["reservations"][0]["reason"] == "CapacityHold"
    assert locked(fleet) == {}
    assert json.dumps(pooled.get(f"{RESERVATIONS}/foo")["status"]["nodes"]) == "[]"
