# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who gets which node: overlap, and what has to be true before a node is taken."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import (
    GpuopsError,
    PartialChange,
    PolicyBlocked,
)
from ansible_collections.gpuops.reservations.tests.integration.reservations.stage import (
    NODES,
    RESERVATIONS,
    TRAINING,
    Stage,
    client_of,
    pods,
    refusal,
    shown_taints,
    until,
)

Json = dict[str, Any]
FOO, BAR = "tenant-foo", "tenant-bar"


def condition(stage: Stage, name: str, kind: str = "Accepted") -> Json:
    conditions = stage.get(f"{RESERVATIONS}/{name}")["status"]["conditions"]
    return next(one for one in conditions if one["type"] == kind)


def owners(stage: Stage) -> dict[str, str]:
    labels = {node["metadata"]["name"]: node["metadata"]["labels"] for node in stage.items(NODES)}
    return {name: labels[name]["reserved.tenant"] for name in TRAINING if "reserved.tenant" in labels[name]}


def test_a_new_claim_on_a_held_node_is_rejected_as_a_whole(stage: Stage) -> None:
    stage.reserve("foo", FOO, ["train-01", "train-02"])
    stage.reconcile()
    before = stage.node("train-02")
    stage.reserve("bar", BAR, ["train-02", "train-03"])
    with pytest.raises(PolicyBlocked) as caught:
        stage.reconcile()
    assert caught.value.code == "reservation-rejected"
    assert "train-02 is held by Reservation foo of tenant tenant-foo" in caught.value.message
    assert [(one["name"], one["accepted"]) for one in caught.value.report["reservations"]] == [
        ("bar", False),
        ("foo", True),
    ]
    assert owners(stage) == {"train-01": FOO, "train-02": FOO}
    assert stage.node("train-02")["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    accepted = condition(stage, "bar")
    assert (accepted["status"], accepted["reason"]) == ("False", "Overlap")
    assert "train-02" in accepted["message"]
    assert stage.get(f"{RESERVATIONS}/bar")["status"]["nodes"] == []


def test_an_older_one_that_is_edited_keeps_what_it_has(stage: Stage) -> None:
    """Even though it is older than the incumbent of the node that it now claims."""
    stage.reserve("old", FOO, ["train-01"])
    stage.reconcile()
    stage.reserve("new", BAR, ["train-02"])
    stage.reconcile()
    stage.edit_reservation("old", reservedNodes=["train-02", "train-03"])
    with pytest.raises(PolicyBlocked):
        stage.reconcile()
    assert owners(stage) == {"train-01": FOO, "train-02": BAR}
    status = stage.get(f"{RESERVATIONS}/old")["status"]
    assert status["observedGeneration"] == 2
    assert [node["name"] for node in status["nodes"]] == ["train-01"]
    assert condition(stage, "old")["status"] == "False"
    assert not stage.node("train-01")["spec"].get("unschedulable")


def test_deleting_the_incumbent_lets_the_other_in(stage: Stage) -> None:
    stage.reserve("foo", FOO, ["train-01"])
    stage.reconcile()
    stage.reserve("bar", BAR, ["train-01"])
    with pytest.raises(PolicyBlocked):
        stage.reconcile()
    stage.admin.delete(f"{RESERVATIONS}/foo")
    with pytest.raises(PartialChange) as caught:
        stage.reconcile()
    assert "which is releasing it" in caught.value.message
    assert stage.reconcile().changed
    assert owners(stage) == {"train-01": BAR}
    assert condition(stage, "bar")["status"] == "True"


def test_of_two_new_ones_the_earlier_wins(stage: Stage) -> None:
    stage.reserve("b-second", FOO, ["train-01", "train-02"])
    stage.reserve("a-third", BAR, ["train-02"])
    with pytest.raises(PartialChange):
        stage.reconcile()
    created = {
        one["metadata"]["name"]: one["metadata"]["creationTimestamp"] for one in stage.items(RESERVATIONS)
    }
    earlier = min(created, key=lambda name: (created[name], name))
    assert owners(stage)["train-02"] == (FOO if earlier == "b-second" else BAR)


def test_two_reservations_of_one_tenant_may_not_share_a_node(stage: Stage) -> None:
    stage.reserve("one", FOO, ["train-01"])
    stage.reconcile()
    stage.reserve("two", FOO, ["train-01", "train-02"])
    with pytest.raises(PolicyBlocked):
        stage.reconcile()
    assert owners(stage) == {"train-01": FOO}


def test_the_others_go_on_beside_a_rejected_one(stage: Stage) -> None:
    stage.reserve("foo", FOO, ["train-01"])
    stage.reconcile()
    stage.reserve("bad", BAR, ["train-01"])
    stage.reserve("good", BAR, ["train-02"])
    with pytest.raises(PartialChange) as caught:
        stage.reconcile()
    assert "Reservation bad" in caught.value.message
    assert owners(stage) == {"train-01": FOO, "train-02": BAR}


def test_a_selector_alone_is_its_matches_and_both_have_to_agree(stage: Stage) -> None:
    rack = {"matchLabels": {"hardware-pool": "gpu-h100-rack-b"}}
    stage.create_reservation("rack", {"tenant": FOO, "nodeSelector": rack})
    stage.reconcile()
    assert owners(stage) == {"train-06": FOO}
    stage.create_reservation("both", {"tenant": BAR, "nodeSelector": rack, "reservedNodes": ["train-01"]})
    with pytest.raises(PolicyBlocked) as caught:
        stage.reconcile()
    assert "hardware-pool is gpu-h100-rack-a" in caught.value.message
    assert condition(stage, "both")["reason"] == "SelectorMismatch"


def test_a_named_node_that_stops_matching_rejects_and_releases_nothing(stage: Stage) -> None:
    rack = {"matchLabels": {"hardware-pool": "gpu-h100-rack-a"}}
    stage.create_reservation("foo", {"tenant": FOO, "nodeSelector": rack, "reservedNodes": ["train-01"]})
    stage.reconcile()
    stage.admin.patch(f"{NODES}/train-01", {"metadata": {"labels": {"hardware-pool": "elsewhere"}}})
    try:
        with pytest.raises(PolicyBlocked):
            stage.reconcile()
        assert owners(stage) == {"train-01": FOO}
        assert not stage.node("train-01")["spec"].get("unschedulable")
    finally:
        stage.admin.patch(f"{NODES}/train-01", {"metadata": {"labels": {"hardware-pool": "gpu-h100-rack-a"}}})


def test_a_missing_node_is_missing_and_the_others_go_on(stage: Stage) -> None:
    stage.reserve("foo", FOO, ["train-01", "train-99"])
    outcome = stage.reconcile()
    nodes = {one["name"]: one["phase"] for one in outcome.result["reservations"][0]["nodes"]}
    assert nodes == {"train-01": "Reserved", "train-99": "Missing"}
    assert condition(stage, "foo")["status"] == "True"
    ready = condition(stage, "foo", "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "NodesMissing")
    assert stage.get(f"{RESERVATIONS}/foo")["status"]["reserved"] == 1


def test_a_daemonset_that_does_not_tolerate_the_taint_stops_it_by_name(stage: Stage) -> None:
    document = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "exporter", "namespace": "default"},
        "spec": {
            "selector": {"matchLabels": {"app": "exporter"}},
            "template": {
                "metadata": {"labels": {"app": "exporter"}},
                "spec": {
                    "nodeSelector": {"kubernetes.io/hostname": "train-01"},
                    "containers": [{"name": "exporter", "image": "example.com/exporter"}],
                },
            },
        },
    }
    path = "/apis/apps/v1/namespaces/default/daemonsets"
    stage.admin.create(path, document)
    try:
        until("it has its Pod", lambda: stage.get(f"{path}/exporter")["status"].get("numberReady") == 1)
        stage.reserve("foo", FOO, ["train-01"])
        with pytest.raises(PolicyBlocked) as caught:
            stage.reconcile()
        assert "default/exporter" in caught.value.message
        assert "allow_daemonset_loss" in caught.value.next_action
        assert owners(stage) == {}
        stage.reconcile(allow_daemonset_loss=True)
        assert owners(stage) == {"train-01": FOO}
        assert not stage.reconcile().changed
    finally:
        stage.admin.delete(f"{path}/exporter")


def test_a_foreign_taint_of_our_key_rejects_the_claim_by_name(stage: Stage) -> None:
    taint = {"key": "reserved", "value": FOO, "effect": "NoExecute"}
    stage.admin.patch(f"{NODES}/train-01", {"spec": {"taints": [taint]}})
    stage.reserve("foo", FOO, ["train-01"])
    with pytest.raises(PolicyBlocked) as caught:
        stage.reconcile()
    assert "train-01 (reserved=tenant-foo:NoExecute)" in caught.value.message
    assert shown_taints(stage.node("train-01")) == ["reserved=tenant-foo:NoExecute"]


def test_what_was_changed_by_hand_is_put_back_and_said(stage: Stage) -> None:
    stage.reserve("foo", FOO, ["train-01", "train-02", "train-03"])
    stage.reconcile()
    stage.admin.patch(f"{NODES}/train-01", {"spec": {"taints": None}})
    stage.admin.patch(f"{NODES}/train-02", {"metadata": {"labels": {"reserved.tenant": BAR}}})
    marks = {"gpuops.reservations/reserved-by": None}
    stage.admin.patch(
        f"{NODES}/train-03", {"metadata": {"labels": {"reserved.tenant": None}, "annotations": marks}}
    )
    outcome = stage.reconcile()
    restored = [one["node"] for one in outcome.result["notices"] if one["kind"] == "restored"]
    assert restored == ["train-01", "train-02", "train-03"]
    assert owners(stage) == {"train-01": FOO, "train-02": FOO, "train-03": FOO}
    assert not stage.reconcile().changed


def test_marks_that_nothing_explains_are_only_reported(stage: Stage) -> None:
    stage.admin.patch(f"{NODES}/train-05", {"metadata": {"labels": {"reserved.tenant": BAR}}})
    outcome = stage.reconcile()
    assert not outcome.changed
    assert [(one["kind"], one["node"]) for one in outcome.result["notices"]] == [("unexplained", "train-05")]
    assert owners(stage) == {"train-05": BAR}


def test_strangers_on_a_taken_node_are_reported_and_left(stage: Stage) -> None:
    stage.admin.create(
        pods(BAR), stage.pod("stranger", BAR, nodeSelector={"kubernetes.io/hostname": "train-01"})
    )
    until("it runs", lambda: stage.node_of("stranger", BAR))
    stage.reserve("foo", FOO, ["train-01"])
    outcome = stage.reconcile()
    assert [one["kind"] for one in outcome.result["notices"]] == ["strangers"]
    assert f"{BAR}/stranger" in outcome.result["notices"][0]["message"]
    assert stage.exists(f"{pods(BAR)}/stranger")


def test_no_taint_of_anybody_else_is_lost_beside_a_second_writer(stage: Stage) -> None:
    """It changes other taints of the same nodes 500 times while Reservations come and go."""
    stage.reserve("foo", FOO, ["train-01", "train-02"])
    writer = client_of(stage.lab, "admin")
    written: dict[str, int] = {"train-01": 0, "train-02": 0}
    problems: list[str] = []
    done = threading.Event()

    def write_taints() -> None:
        try:
            for number in range(500):
                name = "train-01" if number % 2 else "train-02"
                _add_taint(stage, writer, name, number)
                written[name] += 1
        except AssertionError as error:
            problems.append(str(error))
        finally:
            done.set()

    thread = threading.Thread(target=write_taints)
    thread.start()
    passes = 0
    while not done.is_set():
        names = ["train-01", "train-02"] if passes % 2 == 0 else ["train-03"]
        stage.edit_reservation("foo", reservedNodes=names)
        said = refusal(stage.reconcile)
        assert not said or "was changed by somebody else" in said
        passes += 1
    thread.join()
    assert problems == []
    assert written == {"train-01": 250, "train-02": 250}
    assert passes >= 2
    for name in ("train-01", "train-02"):
        others = [one for one in shown_taints(stage.node(name)) if one.startswith("other-")]
        assert len(others) == 25, others


def _add_taint(stage: Stage, writer: Any, name: str, number: int) -> None:
    """A careful second writer: what it wrote before has to be there still, beside whatever is ours."""
    while True:
        node = stage.node(name)
        there = node["spec"].get("taints", [])
        own = [taint for taint in there if taint["key"].startswith("other-")]
        expected = min(number // 2, 25)
        assert len(own) == expected, f"{name} lost taints of others: {shown_taints(node)}"
        kept = own if len(own) < 25 else own[1:]
        added = {"key": f"other-{number}", "value": "x", "effect": "PreferNoSchedule"}
        ours = [taint for taint in there if not taint["key"].startswith("other-")]
        version = node["metadata"]["resourceVersion"]
        patch = {"spec": {"taints": [*ours, *kept, added]}}
        said = refusal(lambda p=patch, v=version: writer.patch(f"{NODES}/{name}", p, resource_version=v))  # type: ignore[misc]
        if not said:
            return
        assert "the object has been modified" in said


def test_two_runs_at_once_end_as_one_does(stage: Stage) -> None:
    stage.reserve("foo", FOO, ["train-01", "train-02", "train-03"])
    stage.bind(FOO, "foo")
    failures: list[str] = []

    def run() -> None:
        try:
            stage.reconcile()
        except GpuopsError as error:
            failures.append(error.message)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stage.reconcile()
    assert owners(stage) == {"train-01": FOO, "train-02": FOO, "train-03": FOO}
    assert not stage.reconcile().changed
    assert condition(stage, "foo", "Ready")["status"] == "True"
