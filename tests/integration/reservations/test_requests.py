# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the API server saw, by its audit log: who wrote what, and how often lists were read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.reservation_access import (
    CREATES,
    DELETES,
    READS,
    WRITES,
)
from ansible_collections.gpuops.reservations.tests.integration.reservations.stage import (
    NODES,
    RESERVATIONS,
    Stage,
    pods,
    refusal,
    until,
)

Json = dict[str, Any]
FOO, BAR = "tenant-foo", "tenant-bar"
CANARY = "/api/v1/namespaces/gpuops-reservation-canary/pods"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
MUTATING = ("create", "update", "patch", "delete", "deletecollection")


class Seen:
    """The requests of the operator's identity since this was made."""

    def __init__(self, stage: Stage) -> None:
        self._log = stage.lab.audit_log
        self._from = self._log.stat().st_size

    def requests(self) -> list[Json]:
        with self._log.open("rb") as file:
            file.seek(self._from)
            found = [json.loads(line) for line in file if line.endswith(b"\n")]
        return [one for one in found if one["user"]["username"] == "gpuops"]

    def writes(self) -> list[str]:
        """What could change something: neither access reviews nor dry runs of the canary."""
        return [
            f"{one['verb']} {one['requestURI']}"
            for one in self.requests()
            if one["verb"] in MUTATING
            and not one["requestURI"].startswith(REVIEWS)
            and "dryRun=All" not in one["requestURI"]
        ]

    def reads(self, path: str) -> list[str]:
        """Lists of a path, first pages only: the next ones continue the same read."""
        return [
            one["requestURI"]
            for one in self.requests()
            if one["verb"] == "list"
            and one["requestURI"].partition("?")[0] == path
            and "continue=" not in one["requestURI"]
        ]


@pytest.fixture
def much_to_do(stage: Stage) -> Stage:
    """Nodes to take, to restore, to drain, to evict from, a Reservation to let go of, one to reject."""
    stage.reserve("foo", FOO, ["train-01", "train-02"], evictOnRelease=True)
    stage.reserve("bar", BAR, ["train-03"])
    stage.bind(FOO, "foo")
    stage.bind(BAR, "bar")
    stage.reconcile()
    stage.injected(FOO)
    stage.run_pod("job", FOO, nodeSelector={"kubernetes.io/hostname": "train-02"})
    stage.edit_reservation("foo", reservedNodes=["train-01", "train-04"])
    stage.admin.patch(f"{NODES}/train-01", {"spec": {"taints": None}})
    stage.admin.delete(f"{RESERVATIONS}/bar")
    stage.reserve("late", BAR, ["train-01"])
    return stage


def test_check_mode_makes_no_mutating_call(much_to_do: Stage) -> None:
    seen = Seen(much_to_do)
    said = refusal(lambda: much_to_do.reconcile(check_mode=True))
    assert "Reservation late" in said
    assert seen.writes() == []
    for given in (
        {"state": "present", "name": "new", "tenant": BAR, "reserved_nodes": ["train-05"]},
        {"state": "present", "name": "foo", "evict_on_release": False},
        {"state": "absent", "name": "foo"},
    ):
        much_to_do.reconcile(check_mode=True, **given)
    assert seen.writes() == []
    assert len(seen.reads("/api/v1/nodes")) == 4


def test_the_playbook_s_check_mode_makes_no_mutating_call(much_to_do: Stage) -> None:
    seen = Seen(much_to_do)
    done = much_to_do.play("reservations", "--check", "--diff", check=False)
    assert "take node train-04 for Reservation foo" in done.stdout
    assert "Reservation late" in done.stdout
    assert seen.writes() == []
    assert seen.reads("/api/v1/nodes")


def test_a_diagnosis_writes_nothing(much_to_do: Stage) -> None:
    seen = Seen(much_to_do)
    much_to_do.diagnose(namespace=FOO, pod="job")
    assert seen.writes() == []
    assert seen.requests()


def test_a_second_run_writes_nothing(stage: Stage) -> None:
    stage.reserve("foo", FOO, ["train-01", "train-02"])
    stage.bind(FOO, "foo")
    stage.reconcile()
    seen = Seen(stage)
    assert not stage.reconcile().changed
    assert seen.writes() == []


def test_every_reconcile_asks_for_its_permissions_and_sends_the_canary(stage: Stage) -> None:
    stage.reserve("foo", FOO, ["train-01"])
    for _ in range(2):
        seen = Seen(stage)
        stage.reconcile()
        asked = [one for one in seen.requests() if one["requestURI"].startswith(REVIEWS)]
        sent = [one for one in seen.requests() if one["requestURI"].startswith(CANARY)]
        assert len(asked) > 10
        assert [one["responseStatus"]["code"] for one in sent] == [201, 403, 403]
        assert all("dryRun=All" in one["requestURI"] for one in sent)
        first_list = next(i for i, one in enumerate(seen.requests()) if one["verb"] == "list")
        assert all(seen.requests().index(one) < first_list for one in sent)


def test_whatever_a_reconcile_does_it_has_asked_whether_it_may(much_to_do: Stage) -> None:
    seen = Seen(much_to_do)
    assert "Reservation late" in refusal(much_to_do.reconcile)
    much_to_do.reconcile(name="foo", state="present", reserved_nodes=["train-01"])
    much_to_do.admin.delete(f"{RESERVATIONS}/late")
    until("the Pod is gone", lambda: not much_to_do.exists(f"{pods(FOO)}/job"))
    much_to_do.reconcile(name="foo", state="absent")
    asked = {
        (one.verb, one.group, f"{one.resource}/{one.subresource}".rstrip("/"))
        for one in (*READS, *WRITES, *CREATES, *DELETES)
    }
    done = {_done(one) for one in seen.requests() if "objectRef" in one}
    identity = {("get", "", "namespaces"), ("get", "", "configmaps")}
    reviews = {("create", "authorization.k8s.io", "selfsubjectaccessreviews")}
    assert done - asked == identity | reviews
    assert {
        ("patch", "", "nodes"),
        ("create", "", "pods/eviction"),
        ("create", "events.k8s.io", "events"),
    } <= done


def _done(request: Json) -> tuple[str, str, str]:
    what = request["objectRef"]
    resource = f"{what['resource']}/{what.get('subresource', '')}".rstrip("/")
    return request["verb"], what.get("apiGroup", ""), resource


SCALE = 1000


@pytest.fixture
def thousand(stage: Stage) -> Iterator[list[str]]:
    """Nodes that nobody plays: they are there, which is all that a Reservation needs."""
    names = [f"scale-{number:04d}" for number in range(SCALE)]

    def make(name: str) -> None:
        labels = {"hardware-pool": "scale", "kubernetes.io/hostname": name}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
        stage.admin.create(NODES, node)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(make, names))
    yield names
    stage.admin.delete(f"{NODES}?labelSelector=hardware-pool%3Dscale")
    until("the nodes are gone", lambda: not stage.items(f"{NODES}?labelSelector=hardware-pool%3Dscale"))


@pytest.mark.slow
def test_a_thousand_nodes_take_one_run_two_reads_and_the_writes_that_are_needed(
    stage: Stage, thousand: list[str]
) -> None:
    stage.create_reservation(
        "scale", {"tenant": FOO, "nodeSelector": {"matchLabels": {"hardware-pool": "scale"}}}
    )
    seen = Seen(stage)
    outcome = stage.reconcile()
    assert outcome.result["reservations"][0]["message"].startswith(f"{SCALE} node(s)")
    assert len(seen.reads("/api/v1/nodes")) == 1
    assert len(seen.reads("/api/v1/pods")) == 1
    written = Counter(
        one["objectRef"]["name"]
        for one in seen.requests()
        if one["verb"] == "patch"
        and one["objectRef"]["resource"] == "nodes"
        and one["responseStatus"]["code"] == 200
    )
    assert written == Counter(thousand)
    own = f"patch {RESERVATIONS}/scale"
    others = [one.partition("?")[0] for one in seen.writes() if "/nodes/" not in one]
    assert others == [own, f"{own}/status", f"{own}/status"]
    again = Seen(stage)
    assert not stage.reconcile().changed
    assert again.writes() == []
