# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which Pods are kept."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.device_pods import (
    has_device,
    is_kept,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.cluster_objects import Pod


def pod(namespace: str = "ns", phase: str = "Running", **spec: Any) -> Pod:
    return Pod.model_validate(
        {"metadata": {"name": "p", "namespace": namespace}, "spec": spec, "status": {"phase": phase}}
    )


def asking(name: str, side: str = "requests") -> list[dict[str, Any]]:
    return [{"name": "a"}, {"name": "b", "resources": {side: {"cpu": "1", name: "1"}}}]


@pytest.mark.parametrize(
    "resource",
    [
        "nvidia.com/gpu",
        "requests.nvidia.com/gpu",
        "amd.com/gpu",
        "gpu.intel.com/i915",
        "example.com/anything",
    ],
)
@pytest.mark.parametrize("side", ["requests", "limits"])
@pytest.mark.parametrize("where", ["containers", "initContainers", "ephemeralContainers"])
def test_a_device_in_any_container_on_either_side(resource: str, side: str, where: str) -> None:
    spec: dict[str, Any] = {where: asking(resource, side)}
    assert has_device(pod(**spec))


@pytest.mark.parametrize("phase", ["Pending", "Running", "Succeeded", "Failed", ""])
def test_any_phase(phase: str) -> None:
    assert has_device(pod(phase=phase, containers=asking("nvidia.com/gpu")))


@pytest.mark.parametrize(
    "spec",
    [
        {"overhead": {"nvidia.com/gpu": "1"}},
        {"resources": {"limits": {"nvidia.com/gpu": "1"}}},
        {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}]},
    ],
)
def test_overhead_the_pods_own_resources_and_claims(spec: dict[str, Any]) -> None:
    assert has_device(pod(**spec))


@pytest.mark.parametrize(
    "resource", ["cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "devices.kubevirt.io/kvm"]
)
def test_what_is_no_device(resource: str) -> None:
    assert not has_device(pod(containers=asking(resource)))


def test_pods_of_the_device_plugins_are_kept_without_a_device() -> None:
    assert is_kept(pod("gpu-operator"))
    assert is_kept(pod("hami-system"))
    assert not is_kept(pod("ns"))
