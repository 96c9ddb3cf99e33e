# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_reservation as Ansible runs it: results, failures with their report, check mode, diff."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args

from ansible_collections.gpuops.reservations.plugins.modules import gpu_reservation
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._shell.memory_cluster import (
    MemoryCluster,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._shell.reconciling import (
    BAR,
    FOO,
    NODES,
    RESERVATIONS,
    cluster_of,
    edit,
    marks,
    reserve,
    run_pod,
    use,
)

Json = dict[str, Any]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> MemoryCluster:
    made = cluster_of("n1", "n2")
    use(monkeypatch, made)
    return made


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    def called(**params: Any) -> Json:
        with patch_module_args(params), pytest.raises(SystemExit):
            gpu_reservation.main()
        result: Json = json.loads(capsys.readouterr().out)
        return result

    return called


def test_reconciled_then_unchanged(cluster: MemoryCluster, run: Any) -> None:
    reserve(cluster, "foo", FOO, "n1")
    first = run(_ansible_diff=True)
    assert first["changed"]
    assert first["reservations"] == [
        {
            "name": "foo",
            "tenant": FOO,
            "accepted": True,
            "reason": "Accepted",
            "message": "1 node(s) for tenant tenant-foo",
            "deleted": False,
            "nodes": [{"name": "n1", "phase": "Reserved", "tenantPods": 0}],
        }
    ]
    assert first["plan_digest"].startswith("sha256:")
    assert "n1: reserved.tenant=tenant-foo by=foo" in first["diff"][0]["after"]
    assert {check["id"] for check in first["checks"]} == {
        "permission",
        "admission-injects",
        "admission-refuses",
        "reservation-accepted",
    }
    again = run()
    assert (again["changed"], again["plan"]) == (False, [])


def test_check_mode_makes_the_plan_and_no_write(cluster: MemoryCluster, run: Any) -> None:
    reserve(cluster, "foo", FOO, "n1")
    ahead = run(_ansible_check_mode=True)
    assert ahead["changed"]
    assert cluster.writes == []
    assert run()["plan"] == ahead["plan"]


def test_a_rejection_fails_with_the_whole_result(cluster: MemoryCluster, run: Any) -> None:
    reserve(cluster, "foo", FOO, "n1")
    run()
    reserve(cluster, "bar", BAR, "n1")
    failed = run()
    assert failed["failed"]
    assert failed["error"]["code"] == "reservation-rejected"
    assert [(one["name"], one["accepted"]) for one in failed["reservations"]] == [
        ("bar", False),
        ("foo", True),
    ]
    assert "n1 is held by Reservation foo" in failed["msg"]
    assert not failed["changed"]


def test_a_rejection_beside_a_change_says_what_was_done(cluster: MemoryCluster, run: Any) -> None:
    reserve(cluster, "foo", FOO, "n1")
    run()
    reserve(cluster, "bad", BAR, "n1")
    reserve(cluster, "good", BAR, "n2")
    failed = run()
    assert failed["failed"]
    assert failed["changed"]
    assert failed["error"]["class"] == "PartialChange"
    assert any("take node n2" in text for text in failed["done"])


def test_present_and_absent(cluster: MemoryCluster, run: Any) -> None:
    wish = {"state": "present", "name": "foo", "tenant": FOO, "reservedNodes": ["n1"]}
    assert run(**wish, _ansible_check_mode=True)["plan"][0] == "create Reservation foo"
    assert cluster.writes == []
    assert run(**wish)["changed"]
    assert not run(**wish)["changed"]
    assert marks(cluster, "n1") == (FOO, "foo", False)
    ahead = run(state="absent", name="foo", _ansible_check_mode=True)
    assert ahead["plan"][0] == "delete Reservation foo"
    assert f"{RESERVATIONS}/foo" in cluster.objects
    run(state="absent", name="foo")
    assert f"{RESERVATIONS}/foo" not in cluster.objects
    assert marks(cluster, "n1") == ("", "", False)


@pytest.mark.parametrize("state", ["present", "absent"])
def test_which_one_has_to_be_said(cluster: MemoryCluster, run: Any, state: str) -> None:
    assert "name" in run(state=state)["msg"]
    assert cluster.reads == []


def test_hooks_come_before_a_cordon(cluster: MemoryCluster, run: Any) -> None:
    reserve(cluster, "foo", FOO, "n1", "n2")
    run()
    run_pod(cluster, "job", "n2")
    edit(cluster, "foo", reservedNodes=["n1"])
    ahead = run(_ansible_check_mode=True)
    assert [one["node"] for one in ahead["releases"]] == ["n2"]
    assert run(notified=[])["error"]["code"] == "notice-not-given"
    assert marks(cluster, "n2") == (FOO, "foo", False)
    assert run(notified=ahead["release_ids"])["changed"]
    assert marks(cluster, "n2") == (FOO, "foo", True)


def test_an_unreadable_list_is_a_failure_and_no_empty_list(
    cluster: MemoryCluster, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import ObservationError

    reserve(cluster, "foo", FOO, "n1")
    run()
    honest = cluster.list

    def deny(path: str, *given: Any, **named: Any) -> Any:
        if path == RESERVATIONS:
            raise ObservationError("api-failed", "the API server answered 500", next_action="run again")
        return honest(path, *given, **named)

    monkeypatch.setattr(cluster, "list", deny)
    cluster.writes.clear()
    failed = run()
    assert failed["error"]["code"] == "api-failed"
    assert cluster.writes == []
    assert cluster.objects[f"{NODES}/n1"]["metadata"]["labels"]["reserved.tenant"] == FOO
