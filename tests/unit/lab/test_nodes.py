# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Played nodes: Ready, and with a lease that has not run out."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from lab.nodes import unfit

NOW = datetime.datetime(2026, 1, 1, 12, 0, 0, tzinfo=datetime.UTC)


def node(ready: str = "True", annotation: str = "fake") -> dict[str, Any]:
    return {
        "metadata": {"name": "gpu-01", "annotations": {"kwok.x-k8s.io/node": annotation}},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }


def lease(age: float) -> dict[str, Any]:
    renewed = (NOW - datetime.timedelta(seconds=age)).isoformat().replace("+00:00", "Z")
    return {
        "metadata": {"name": "gpu-01"},
        "spec": {"renewTime": renewed, "leaseDurationSeconds": 40, "holderIdentity": "kwok"},
    }


@pytest.mark.parametrize(
    ("nodes", "leases", "found"),
    [
        ([node()], [lease(1)], []),
        ([node()], [lease(40)], []),
        ([node()], [lease(41)], ["gpu-01 has an old lease"]),
        ([node()], [], ["gpu-01 has no lease"]),
        ([node()], [{"metadata": {"name": "gpu-01"}, "spec": {}}], ["gpu-01 has an old lease"]),
        ([node("Unknown")], [lease(1)], ["gpu-01 is not Ready"]),
        ([{"metadata": node()["metadata"]}], [lease(1)], ["gpu-01 is not Ready"]),
        ([node(annotation="other")], [], []),
        ([{"metadata": {"name": "control-plane"}, "status": {}}], [], []),
        ([], [], []),
    ],
)
def test_unfit(nodes: list[dict[str, Any]], leases: list[dict[str, Any]], found: list[str]) -> None:
    assert unfit(nodes, leases, NOW) == found
