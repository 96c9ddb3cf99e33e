# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a Pod takes, by quota's own rule."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.amount import QuantityError
from ansible_collections.gpuops.reservations.plugins.module_utils._core.cluster_objects import Pod
from ansible_collections.gpuops.reservations.plugins.module_utils._core.pod_devices import (
    counts_for_quota,
    names_resource,
    pod_devices,
)

GPU = "nvidia.com/GH100"


def ask(count: Any, kind: str = "requests") -> dict[str, Any]:
    return {"resources": {kind: {GPU: count}}}


def pod(spec: dict[str, Any], phase: str = "Running", **metadata: Any) -> Pod:
    return Pod.model_validate(
        {"metadata": {"name": "p", "namespace": "n", **metadata}, "spec": spec, "status": {"phase": phase}}
    )


@pytest.mark.parametrize(
    ("spec", "devices"),
    [
        ({"containers": [ask("2"), ask("1")]}, 3),
        ({"containers": [ask("2", "limits")]}, 2),
        ({"containers": [{"resources": {"requests": {GPU: "1"}, "limits": {GPU: "4"}}}]}, 1),
        ({"containers": [ask("1")], "initContainers": [ask("4")]}, 4),
        ({"containers": [ask("3")], "initContainers": [ask("2"), ask("1")]}, 3),
        ({"containers": [ask("1")], "initContainers": [{**ask("2"), "restartPolicy": "Always"}]}, 3),
        (
            {
                "containers": [ask("1")],
                "initContainers": [{**ask("2"), "restartPolicy": "Always"}, ask("3")],
            },
            5,
        ),
        (
            {
                "containers": [ask("1")],
                "initContainers": [ask("3"), {**ask("2"), "restartPolicy": "Always"}],
            },
            3,
        ),
        ({"containers": [ask("1")], "overhead": {GPU: "1"}}, 2),
        ({"containers": [{}], "resources": {"requests": {GPU: "2"}}}, 2),
        ({"containers": [{}], "ephemeralContainers": [ask("1")]}, 1),
        ({"containers": [{"resources": {"requests": {"nvidia.com/gpu": "8"}}}]}, 0),
        ({"containers": [ask("2k")]}, 2000),
    ],
    ids=[
        "containers add up",
        "a limit stands for a request",
        "a request before a limit",
        "an init container that needs more",
        "init containers that need less",
        "a sidecar runs beside",
        "an init container beside an earlier sidecar",
        "an init container before a later sidecar",
        "overhead on top",
        "for the whole Pod",
        "ephemeral",
        "another resource",
        "with a suffix",
    ],
)
def test_devices(spec: dict[str, Any], devices: int) -> None:
    assert pod_devices(pod(spec), GPU) == devices
    assert names_resource(pod(spec), GPU) is (devices > 0)


@pytest.mark.parametrize("count", ["0x1", "1.5", "-1", "", "one", None, True, [1]], ids=str)
def test_a_quantity_that_is_no_number_of_devices(count: Any) -> None:
    with pytest.raises(QuantityError):
        pod_devices(pod({"containers": [ask(count)]}), GPU)


NOW = datetime(2026, 11, 10, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("phase", "deleted", "grace", "counts"),
    [
        ("Running", "", None, True),
        ("Pending", "", None, True),
        ("", "", None, True),
        ("Succeeded", "", None, False),
        ("Failed", "", None, False),
        ("Running", "2026-11-10T11:59:30Z", 30, True),
        ("Running", "2026-11-10T11:59:29Z", 30, False),
        ("Running", "2026-11-10T11:00:00Z", None, True),
        ("Running", "not a time", 30, True),
    ],
)
def test_quota_counts_what_has_not_ended_and_is_not_past_its_grace(
    phase: str, deleted: str, grace: int | None, counts: bool
) -> None:
    seen = pod({}, phase, deletionTimestamp=deleted, deletionGracePeriodSeconds=grace)
    assert counts_for_quota(seen, NOW) is counts
