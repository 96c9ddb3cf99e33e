# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which Pods with devices no binding covers."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.placement_coverage import (
    uncovered_pods,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.placement_objects import PlacementPod
from ansible_collections.gpuops.reservations.plugins.module_utils._core.reservation_objects import (
    ReservationBinding,
)

GPU = "nvidia.com/gpu"


def pod(name: str, labels: dict[str, str], phase: str = "Running", **limits: str) -> PlacementPod:
    return PlacementPod.model_validate(
        {
            "metadata": {"name": name, "namespace": "ns", "uid": name, "labels": labels},
            "spec": {"containers": [{"name": "main", "resources": {"limits": limits}}]},
            "status": {"phase": phase},
        }
    )


def binding(selector: dict[str, Any]) -> ReservationBinding:
    return ReservationBinding.model_validate(
        {
            "metadata": {"name": "b", "namespace": "ns"},
            "spec": {"reservationName": "foo", "podSelector": selector},
        }
    )


APP = binding({"matchLabels": {"app": "train"}})
OTHER = binding({"matchExpressions": [{"key": "team", "operator": "Exists"}]})


@pytest.mark.parametrize(
    ("labels", "bindings", "covered"),
    [
        ({"app": "train"}, (APP,), True),
        ({"app": "debug"}, (APP,), False),
        ({}, (), False),
        ({"team": "x"}, (APP, OTHER), True),
        ({"app": "debug"}, (binding({}),), True),
    ],
)
def test_one_binding_that_selects_it_is_enough(
    labels: dict[str, str], bindings: tuple[ReservationBinding, ...], covered: bool
) -> None:
    found = uncovered_pods([pod("job", labels, **{GPU: "8"})], bindings)
    assert found == (() if covered else ("job: nvidia.com/gpu 8",))


def test_only_devices_count_and_only_of_what_has_not_ended() -> None:
    pods = [
        pod("c", {}, **{"cpu": "4", "memory": "1Gi", "ephemeral-storage": "1Gi", "hugepages-2Mi": "2Mi"}),
        pod("b", {}, **{"attachable-volumes.kubernetes.io/x": "1"}),
        pod("z", {}, "Pending", **{GPU: "1", "rdma/hca": "2"}),
        pod("a", {}, **{GPU: "1"}),
        pod("zero", {}, **{GPU: "0"}),
        pod("done", {}, "Succeeded", **{GPU: "1"}),
        pod("failed", {}, "Failed", **{GPU: "1"}),
    ]
    assert uncovered_pods(pods, (APP,)) == ("a: nvidia.com/gpu 1", "z: nvidia.com/gpu 1, rdma/hca 2")
