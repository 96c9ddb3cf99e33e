# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plugins: which nodes each DaemonSet is for, and which of its Pods advertise devices."""

from __future__ import annotations

from typing import Any

import pytest

from lab.platform import devices


def pod(owner: str, *, ready: bool = True, node: str = "n", **meta: Any) -> dict[str, Any]:
    return {
        "metadata": {"ownerReferences": [{"kind": "DaemonSet", "name": owner, "controller": True}], **meta},
        "spec": {"nodeName": node},
        "status": {"conditions": [{"type": "Ready", "status": str(ready)}]},
    }


def test_only_ready_pods_of_the_node_advertise() -> None:
    pods = [
        pod("a"),
        pod("b", ready=False),
        pod("c", node="other"),
        pod("d", deletionTimestamp="2026-01-01T00:00:00Z"),
    ]
    assert devices.running_plugins(pods, "n") == {"a"}


def _fits(daemonset: dict[str, Any], labels: dict[str, str]) -> bool:
    affinity = daemonset["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    terms = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    return any(
        all(
            (labels.get(entry["key"]) in entry["values"]) is (entry["operator"] == "In")
            for entry in term["matchExpressions"]
        )
        for term in terms
    )


@pytest.mark.parametrize("name", sorted(devices.PLUGINS))
def test_each_plugin_follows_its_mode_and_its_overrides(name: str) -> None:
    daemonset = next(item for item in devices.daemonsets() if item["metadata"]["name"] == name)
    mode = devices.PLUGINS[name][1]
    for other in ("pod-hami", "pod-hami-dra", "vm-passthrough"):
        assert _fits(daemonset, {devices.MODE: other}) is (other == mode)
    override = devices.OVERRIDE + name
    assert not _fits(daemonset, {})
    assert _fits(daemonset, {override: "present"})
    assert not _fits(daemonset, {devices.MODE: mode or "pod-hami", override: "absent"})
