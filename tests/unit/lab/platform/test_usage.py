# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Usage: which Pods a quota counts, and what each of them uses."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest

from lab.platform import usage

NOW = datetime.datetime(2026, 1, 1, 12, 0, 0, tzinfo=datetime.UTC)


def pod(uid: str = "u", phase: str = "Running", **meta: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": uid, "namespace": "ns", "uid": uid, "resourceVersion": "1", **meta},
        "spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/X": "1", "cpu": "2"}}}]},
        "status": {"phase": phase},
    }


@pytest.mark.parametrize(
    ("phase", "counted"), [("Pending", True), ("Running", True), ("Failed", False), ("Succeeded", False)]
)
def test_finished_pods_do_not_count(phase: str, counted: bool) -> None:
    assert usage.counts(pod(phase=phase), NOW) is counted


@pytest.mark.parametrize(
    ("deleted", "counted"), [("2026-01-01T11:59:45Z", True), ("2026-01-01T11:59:15Z", False)]
)
def test_terminating_pods_count_until_their_grace_is_over(deleted: str, counted: bool) -> None:
    terminating = pod(deletionTimestamp=deleted, deletionGracePeriodSeconds=30)
    assert usage.counts(terminating, NOW) is counted


def test_requests_default_to_limits_and_native_limits_count_apart() -> None:
    amounts = usage.of_pod(pod())
    assert amounts == {
        "requests.nvidia.com/X": Decimal(1),
        "requests.cpu": Decimal(2),
        "limits.cpu": Decimal(2),
        "pods": Decimal(1),
    }


def test_init_containers_count_when_greedier_and_sidecars_add() -> None:
    item = pod()
    item["spec"]["initContainers"] = [
        {"name": "i", "resources": {"limits": {"nvidia.com/X": "3"}}},
        {"name": "s", "restartPolicy": "Always", "resources": {"limits": {"cpu": "500m"}}},
    ]
    amounts = usage.of_pod(item)
    assert (amounts["requests.nvidia.com/X"], amounts["requests.cpu"]) == (Decimal(3), Decimal("2.5"))


def test_a_recount_follows_changed_and_vanished_pods() -> None:
    book = usage.UsageBook()
    first, second = pod("a"), pod("b")
    assert book.by_namespace([first, second], NOW)["ns"]["requests.nvidia.com/X"] == 2
    grown = {**second, "metadata": {**second["metadata"], "resourceVersion": "2"}}
    grown["spec"] = {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/X": "4"}}}]}
    assert book.by_namespace([first, grown], NOW)["ns"]["requests.nvidia.com/X"] == 5
    assert book.by_namespace([], NOW) == {}


def test_texts_are_for_the_keys_of_the_quota_alone() -> None:
    amounts = {"requests.memory": Decimal(2**30), "requests.nvidia.com/X": Decimal(2), "pods": Decimal(1)}
    keys = ["requests.memory", "requests.nvidia.com/X", "requests.nvidia.com/Y"]
    assert usage.texts(amounts, keys) == {
        "requests.memory": "1Gi",
        "requests.nvidia.com/X": "2",
        "requests.nvidia.com/Y": "0",
    }
