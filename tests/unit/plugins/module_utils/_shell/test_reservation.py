# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The reconcile: what it writes, what it does not, in which order, and what a kill leaves to the next run."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import (
    PartialChange,
    PolicyBlocked,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._shell.memory_cluster import (
    Killed,
    MemoryCluster,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._shell.reconciling import (
    BAR,
    FOO,
    GROUP,
    NODES,
    RESERVATIONS,
    attempt,
    cluster_of,
    edit,
    marks,
    reconcile,
    reserve,
    run_pod,
    state,
    use,
)

FREE = ("", "", False)
HELD = (FOO, "foo", False)
DRAINING = (FOO, "foo", True)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> MemoryCluster:
    made = cluster_of("n1", "n2", "n3")
    use(monkeypatch, made)
    return made


def test_order_finalizer_acceptance_binding_nodes_status(cluster: MemoryCluster) -> None:
    reserve(cluster, "foo", FOO, "n1", "n2")
    outcome = reconcile()
    assert outcome.changed
    assert cluster.writes == [
        ("PATCH", f"{RESERVATIONS}/foo"),
        ("PATCH", f"{RESERVATIONS}/foo/status"),
        ("PATCH", f"{GROUP}/namespaces/{FOO}/reservationbindings/binding/status"),
        ("PATCH", f"{NODES}/n1"),
        ("PATCH", f"{NODES}/n2"),
        ("PATCH", f"{RESERVATIONS}/foo/status"),
    ]


def test_nodes_and_pods_are_read_once_whatever_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"n{number}" for number in range(1000)]
    cluster = cluster_of(*names)
    use(monkeypatch, cluster)
    reserve(cluster, "foo", FOO, *names)
    reconcile()
    assert cluster.reads.count(("LIST", NODES)) == 1
    assert cluster.reads.count(("LIST", "/api/v1/pods")) == 1
    assert [read for read in cluster.reads if read[1].startswith(f"{NODES}/")] == []
    assert sum(path.startswith(NODES) for _, path in cluster.writes) == 1000
    assert len(cluster.writes) == 1004


def test_the_second_run_writes_nothing(cluster: MemoryCluster) -> None:
    reserve(cluster, "foo", FOO, "n1", "n2")
    reconcile()
    cluster.writes.clear()
    assert not reconcile().changed
    assert cluster.writes == []


def test_check_mode_writes_nothing_and_plans_the_same(cluster: MemoryCluster) -> None:
    reserve(cluster, "foo", FOO, "n1", "n2")
    ahead = reconcile(check_mode=True)
    assert cluster.writes == []
    assert ahead.changed
    assert reconcile().plan == ahead.plan


def test_a_status_that_is_only_refreshed_is_no_change(cluster: MemoryCluster) -> None:
    reserve(cluster, "foo", FOO, "n1")
    reconcile()
    run_pod(cluster, "job", "n1")
    cluster.writes.clear()
    outcome = reconcile()
    assert not outcome.changed
    assert cluster.writes == [("PATCH", f"{RESERVATIONS}/foo/status")]
    assert outcome.result["reservations"][0]["nodes"] == [
        {"name": "n1", "phase": "Reserved", "tenantPods": 1}
    ]


def test_release_order_tell_cordon_look_again_free(cluster: MemoryCluster) -> None:
    reserve(cluster, "foo", FOO, "n1", "n2")
    reconcile()
    edit(cluster, "foo", reservedNodes=["n1"])
    cluster.writes.clear()
    cluster.reads.clear()
    reconcile()
    kinds = [path.split("/")[-2] if "events" in path else path for _, path in cluster.writes]
    assert kinds == [
        f"{RESERVATIONS}/foo/status",
        "events",
        f"{NODES}/n2",
        f"{NODES}/n2",
        f"{RESERVATIONS}/foo/status",
    ]
    assert cluster.reads.count(("LIST", "/api/v1/pods")) == 2
    assert marks(cluster, "n2") == FREE


def test_a_release_reads_no_node_again_and_one_that_goes_is_released(cluster: MemoryCluster) -> None:
    reserve(cluster, "foo", FOO, "n1", "n2", "n3")
    reconcile()
    edit(cluster, "foo", reservedNodes=["n1"])
    cluster.reads.clear()
    written: list[str] = []

    def go(path: str) -> None:
        written.append(path)
        if written.count(f"{NODES}/n3") == 2:  # cordoned, and about to be freed
            cluster.on_write = None
            cluster.remove(f"{NODES}/n3")

    cluster.on_write = go
    outcome = reconcile()
    assert [path for _, path in cluster.reads if path.startswith(f"{NODES}/")] == []
    assert marks(cluster, "n2") == FREE
    assert [node["name"] for node in outcome.result["reservations"][0]["nodes"]] == ["n1"]


def test_a_pod_that_comes_between_look_and_cordon_is_waited_for(cluster: MemoryCluster) -> None:
    reserve(cluster, "foo", FOO, "n1", "n2")
    reconcile()
    edit(cluster, "foo", reservedNodes=["n1"])

    def arrive(path: str) -> None:
        if path == f"{NODES}/n2":
            cluster.on_write = None
            run_pod(cluster, "late", "n2")

    cluster.on_write = arrive
    outcome = reconcile()
    assert marks(cluster, "n2") == DRAINING
    assert {"name": "n2", "phase": "Draining", "tenantPods": 1} in outcome.result["reservations"][0]["nodes"]


def test_an_event_that_cannot_be_made_cordons_nothing_and_the_others_go_on(cluster: MemoryCluster) -> None:
    reserve(cluster, "foo", FOO, "n1", "n2")
    reconcile()
    edit(cluster, "foo", reservedNodes=["n1", "n3"])

    def refuse(path: str) -> None:
        if "/events/" in path:
            raise PolicyBlocked("request-refused", "no Events here", next_action="see why")

    cluster.on_write = refuse
    error = attempt()
    assert isinstance(error, PartialChange)
    assert error.code == "request-refused"
    assert error.remaining == ("node n2",)
    assert marks(cluster, "n2") == HELD
    assert marks(cluster, "n3") == HELD


def test_a_namespace_that_is_being_deleted_is_told_nothing(cluster: MemoryCluster) -> None:
    reserve(cluster, "foo", FOO, "n1", "n2")
    reconcile()
    cluster.change(f"/api/v1/namespaces/{FOO}", {"metadata": {"deletionTimestamp": "2026-11-30T11:59:00Z"}})
    edit(cluster, "foo", reservedNodes=["n1"])
    reconcile()
    assert not [path for _, path in cluster.writes if "/events/" in path]
    assert marks(cluster, "n2") == FREE


def test_conflicts_are_normal_and_judged_again(cluster: MemoryCluster) -> None:
    reserve(cluster, "foo", FOO, "n1", "n2")
    left = {"n1": 5, "n2": 1}

    def race(path: str) -> None:
        name = path.rpartition("/")[2]
        if path.startswith(f"{NODES}/") and left[name]:
            left[name] -= 1
            other = {"key": f"other-{left[name]}", "value": "x", "effect": "NoSchedule"}
            there = cluster.objects[path]["spec"].get("taints", [])
            cluster.change(path, {"spec": {"taints": [*there, other]}})

    cluster.on_write = race
    reconcile()
    taints = [one["key"] for one in cluster.objects[f"{NODES}/n1"]["spec"]["taints"]]
    assert taints == ["other-4", "other-3", "other-2", "other-1", "other-0", "reserved"]


def test_a_node_that_somebody_changes_for_ever_is_named_and_the_others_go_on(cluster: MemoryCluster) -> None:
    reserve(cluster, "foo", FOO, "n1", "n2")

    def race(path: str) -> None:
        if path == f"{NODES}/n1":
            cluster.change(path, {"metadata": {"labels": {"tick": str(cluster.version_number)}}})

    cluster.on_write = race
    error = attempt()
    assert isinstance(error, PartialChange)
    assert error.code == "node-contested"
    assert marks(cluster, "n1") == FREE
    assert marks(cluster, "n2") == HELD
    status = cluster.objects[f"{RESERVATIONS}/foo"]["status"]
    assert [node["name"] for node in status["nodes"]] == ["n2"]
    assert [(c["type"], c["status"], c["reason"]) for c in status["conditions"]] == [
        ("Accepted", "True", "Accepted"),
        ("Ready", "False", "NodesPending"),
    ]


def test_a_node_that_another_run_took_meanwhile_is_left_to_it(cluster: MemoryCluster) -> None:
    reserve(cluster, "foo", FOO, "n1")

    def steal(path: str) -> None:
        if path == f"{NODES}/n1":
            cluster.on_write = None
            cluster.change(path, {"metadata": {"annotations": {"gpuops.reservations/reserved-by": "bar"}}})

    cluster.on_write = steal
    error = attempt()
    assert error is not None
    assert error.code == "node-taken"
    assert marks(cluster, "n1") == ("", "bar", False)


def test_a_node_that_goes_meanwhile_is_named(cluster: MemoryCluster) -> None:
    reserve(cluster, "foo", FOO, "n1")
    cluster.on_write = lambda path: cluster.remove(path) if path == f"{NODES}/n1" else None
    error = attempt()
    assert error is not None
    assert error.code == "object-gone"


def test_a_lost_no_execute_taint_comes_back_with_consent_only(cluster: MemoryCluster) -> None:
    reserve(cluster, "foo", FOO, "n1", taintEffect="NoExecute")
    reconcile(allow_eviction=True)
    cluster.change(f"{NODES}/n1", {"spec": {"taints": None}})
    error = attempt()
    assert error is not None
    assert error.code == "eviction-not-allowed"
    assert "taints" not in cluster.objects[f"{NODES}/n1"]["spec"]
    status = cluster.objects[f"{RESERVATIONS}/foo"]["status"]
    assert [node["name"] for node in status["nodes"]] == ["n1"]
    reconcile(allow_eviction=True)
    assert cluster.objects[f"{NODES}/n1"]["spec"]["taints"][0]["effect"] == "NoExecute"


def test_eviction_leaves_what_a_budget_holds_and_skips_what_leaves(cluster: MemoryCluster) -> None:
    reserve(cluster, "foo", FOO, "n1", evictOnRelease=True)
    reconcile()
    kept, leaving = run_pod(cluster, "kept", "n1"), run_pod(cluster, "leaving", "n1")
    gone = run_pod(cluster, "gone", "n1")
    cluster.change(leaving, {"metadata": {"deletionTimestamp": "2026-11-30T11:59:00Z", "finalizers": ["x"]}})
    cluster.budgets = {f"{FOO}/kept"}
    edit(cluster, "foo", reservedNodes=["n2"])
    outcome = reconcile()
    assert gone not in cluster.objects
    assert kept in cluster.objects
    assert leaving in cluster.objects
    assert [one["kind"] for one in outcome.result["notices"]] == ["eviction", "release"][::-1]
    assert marks(cluster, "n1") == DRAINING


def test_one_reservation_alone_leaves_the_others(cluster: MemoryCluster) -> None:
    reserve(cluster, "foo", FOO, "n1")
    reserve(cluster, "bar", BAR, "n2")
    outcome = reconcile(name="bar")
    assert marks(cluster, "n1") == FREE
    assert marks(cluster, "n2") == (BAR, "bar", False)
    assert [one["name"] for one in outcome.result["reservations"]] == ["bar"]


def test_the_same_name_made_anew_for_another_tenant_inherits_no_node(cluster: MemoryCluster) -> None:
    """The tenant cannot be changed, so that people delete and create: what still runs there is not yanked."""
    reserve(cluster, "foo", FOO, "n1", "n2")
    reconcile()
    job = run_pod(cluster, "job", "n1")
    cluster.remove(f"{RESERVATIONS}/foo")
    reserve(cluster, "foo", BAR, "n1")
    error = attempt()
    assert error is not None
    assert "of tenant tenant-foo, an earlier one of that name" in error.message
    assert marks(cluster, "n1") == DRAINING
    assert marks(cluster, "n2") == FREE
    assert [path for _, path in cluster.writes if "/events/" in path]
    cluster.remove(job)
    attempt()
    reconcile()
    assert marks(cluster, "n1") == (BAR, "foo", False)


def test_an_unknown_name_is_an_input_error(cluster: MemoryCluster) -> None:
    error = attempt(name="nobody")
    assert error is not None
    assert error.code == "reservation-not-found"
    assert cluster.writes == []


def test_a_missing_permission_stops_before_the_first_write(cluster: MemoryCluster) -> None:
    reserve(cluster, "foo", FOO, "n1")
    cluster.denied = {"patch nodes", "create pods/eviction"}
    error = attempt()
    assert error is not None
    assert error.code == "permission-missing"
    assert "patch nodes" in error.message
    assert "create pods/eviction" in error.message
    assert "kubectl auth can-i patch nodes" in error.next_action
    assert cluster.writes == []
    assert reconcile(check_mode=True).changed


@pytest.mark.parametrize("what", ["injects", "refuses"])
def test_admission_that_does_not_work_stops_before_the_first_write(cluster: MemoryCluster, what: str) -> None:
    reserve(cluster, "foo", FOO, "n1")
    setattr(cluster, what, False)
    error = attempt()
    assert error is not None
    assert error.code == "admission-not-working"
    assert cluster.writes == []


def test_waiting_out_of_time_fails_and_says_what_drains(cluster: MemoryCluster) -> None:
    reserve(cluster, "foo", FOO, "n1")
    reconcile()
    run_pod(cluster, "job", "n1")
    edit(cluster, "foo", reservedNodes=["n2"])
    error = attempt(wait=True, wait_timeout=0)
    assert isinstance(error, PartialChange)
    assert error.code == "drain-timeout"
    assert "n1" in error.message
    assert marks(cluster, "n1") == DRAINING


# Killed anywhere, run again: right


def scenario_take(cluster: MemoryCluster) -> None:
    reserve(cluster, "foo", FOO, "n1", "n2")


def scenario_release(cluster: MemoryCluster) -> None:
    scenario_take(cluster)
    reconcile()
    edit(cluster, "foo", reservedNodes=["n1", "n3"])


def scenario_delete(cluster: MemoryCluster) -> None:
    scenario_take(cluster)
    reconcile()
    cluster.start_deletion(f"{RESERVATIONS}/foo")


def scenario_evict(cluster: MemoryCluster) -> None:
    scenario_take(cluster)
    reconcile()
    run_pod(cluster, "job", "n2")
    edit(cluster, "foo", reservedNodes=["n1"], evictOnRelease=True)


def scenario_back(cluster: MemoryCluster) -> None:
    scenario_take(cluster)
    reconcile()
    run_pod(cluster, "job", "n2")
    edit(cluster, "foo", reservedNodes=["n1"])
    reconcile()
    edit(cluster, "foo", reservedNodes=["n1", "n2"])


def scenario_two(cluster: MemoryCluster) -> None:
    scenario_take(cluster)
    reserve(cluster, "bar", BAR, "n3", "n2")


SCENARIOS: tuple[Callable[[MemoryCluster], None], ...] = (
    scenario_take,
    scenario_release,
    scenario_delete,
    scenario_evict,
    scenario_back,
    scenario_two,
)


def settle(cluster: MemoryCluster) -> None:
    """Passes until one writes nothing."""
    for _ in range(10):
        cluster.writes.clear()
        attempt()
        if not cluster.writes:
            return
    raise AssertionError(f"ten passes, and still something to do: {cluster.writes}")


@pytest.mark.parametrize("after", [False, True], ids=["before a write", "after a write"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_killed_at_any_write_and_run_again_is_right(
    monkeypatch: pytest.MonkeyPatch, scenario: Callable[[MemoryCluster], None], *, after: bool
) -> None:
    def begun() -> MemoryCluster:
        made = cluster_of("n1", "n2", "n3")
        use(monkeypatch, made)
        scenario(made)
        made.writes.clear()
        return made

    undisturbed = begun()
    settle(undisturbed)
    wanted = state(undisturbed)
    count = begun()
    attempt()
    total = len(count.writes)
    assert total >= 2
    for number in range(1, total + 1):
        cluster = begun()
        cluster.kill_at, cluster.killed_after = number, after
        with pytest.raises(Killed):
            attempt()
        cluster.kill_at = 0
        settle(cluster)
        assert state(cluster) == wanted, f"killed at write {number} of {total}"


# Any history


class Story:
    """Random edits, Pods that come and go, hands on nodes, kills: invariants hold after every pass."""

    def __init__(self, cluster: MemoryCluster) -> None:
        self.cluster = cluster

    def holders(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path, document in self.cluster.objects.items():
            if path.startswith(f"{RESERVATIONS}/"):
                for node in document.get("status", {}).get("nodes", []):
                    if node["phase"] != "Missing":
                        found.setdefault(node["name"], []).append(path.rpartition("/")[2])
        return found

    def check(self) -> None:
        for node, names in self.holders().items():
            assert len(names) == 1, f"{node} is in {names}"
        for name in ("n1", "n2", "n3"):
            stored = self.cluster.objects[f"{NODES}/{name}"]
            stranger = [one for one in stored["spec"].get("taints", []) if one["key"] == "stranger"]
            assert len(stranger) == 1, f"{name} lost a taint of somebody else"


NAMES = st.lists(st.sampled_from(("n1", "n2", "n3")), min_size=1, unique=True)
ACTIONS = st.one_of(
    st.tuples(st.just("edit"), st.sampled_from(("foo", "bar")), NAMES),
    st.tuples(st.just("delete"), st.sampled_from(("foo", "bar")), st.none()),
    st.tuples(st.just("pod"), st.sampled_from((FOO, BAR)), st.sampled_from(("n1", "n2", "n3"))),
    st.tuples(st.just("pods go"), st.none(), st.none()),
    st.tuples(st.just("label"), st.sampled_from(("n1", "n2", "n3")), st.sampled_from((None, FOO, BAR))),
    st.tuples(st.just("uncordon"), st.sampled_from(("n1", "n2", "n3")), st.none()),
    st.tuples(st.just("pass"), st.integers(0, 12), st.booleans()),
)


def act(cluster: MemoryCluster, action: tuple[str, Any, Any]) -> None:
    what, subject, argument = action
    if what == "edit":
        if f"{RESERVATIONS}/{subject}" in cluster.objects:
            edit(cluster, subject, reservedNodes=argument)
        else:
            reserve(cluster, subject, FOO if subject == "foo" else BAR, *argument)
    elif what == "delete" and f"{RESERVATIONS}/{subject}" in cluster.objects:
        cluster.start_deletion(f"{RESERVATIONS}/{subject}")
    elif what == "pod":
        if marks(cluster, argument)[0] == subject:
            run_pod(cluster, f"job-{argument}", argument, subject)
    elif what == "pods go":
        for path in [one for one in cluster.objects if "/pods/" in one]:
            cluster.remove(path)
    elif what == "label":
        cluster.change(f"{NODES}/{subject}", {"metadata": {"labels": {"reserved.tenant": argument}}})
    elif what == "uncordon":
        cluster.change(f"{NODES}/{subject}", {"spec": {"unschedulable": None}})
    elif what == "pass":
        cluster.kill_at, cluster.killed_after = (len(cluster.writes) + subject if subject else 0), argument
        with contextlib.suppress(Killed):
            attempt()
        cluster.kill_at = 0


@given(st.lists(ACTIONS, max_size=14))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=60)
def test_any_history_keeps_nodes_apart_and_comes_to_rest(
    monkeypatch: pytest.MonkeyPatch, history: list[tuple[str, Any, Any]]
) -> None:
    cluster = cluster_of("n1", "n2", "n3")
    use(monkeypatch, cluster)
    stranger = {"key": "stranger", "value": "x", "effect": "PreferNoSchedule"}
    for name in ("n1", "n2", "n3"):
        cluster.change(f"{NODES}/{name}", {"spec": {"taints": [stranger]}})
    story = Story(cluster)
    for action in history:
        act(cluster, action)
        attempt()
        story.check()
    for path in [one for one in cluster.objects if "/pods/" in one]:
        cluster.remove(path)
    settle(cluster)
    rest = copy.deepcopy(state(cluster))
    attempt()
    assert state(cluster) == rest
    story.check()
    wanted = {
        node
        for path, document in cluster.objects.items()
        if path.startswith(f"{RESERVATIONS}/")
        for node in [entry["name"] for entry in document["status"]["nodes"]]
    }
    for name in ("n1", "n2", "n3"):
        assert (marks(cluster, name)[1] != "") is (name in wanted)
        assert not marks(cluster, name)[2]
