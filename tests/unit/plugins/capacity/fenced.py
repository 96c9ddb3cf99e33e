# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A world whose policy uses fences, with their parameters as role platform installs them."""

from __future__ import annotations

from typing import Any

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.api_resource import (
    ADMISSION_BINDINGS,
    ADMISSION_POLICIES,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.fence_objects import FENCE_POLICIES
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.api_server import RESOURCES
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.capacity_world import CapacityWorld

CONFIGMAPS = "/api/v1/namespaces/gpuops-system/configmaps"
FENCE = f"{CONFIGMAPS}/capacity-fence"
INSTALLED = {"operators": "group:gpuops", "observers": ""}


def fenced(world: CapacityWorld, control: str = "both", *, installed: bool = True) -> CapacityWorld:
    """The policy uses fences; ``installed`` says whether their ConfigMap is there."""
    world.edit_policy(creationControl=control)
    meta = {"name": "capacity-fence", "namespace": "gpuops-system", "resourceVersion": "1"}
    items = [{"metadata": meta, "data": dict(INSTALLED)}] if installed else []
    world.server.lists[CONFIGMAPS] = {"items": items}
    policies = [_policy(name) for name in FENCE_POLICIES] if installed else []
    bindings = [_binding(name) for name in FENCE_POLICIES] if installed else []
    world.server.lists[ADMISSION_POLICIES.path()] = {"items": policies}
    world.server.lists[ADMISSION_BINDINGS.path()] = {"items": bindings}
    return world


def _policy(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"failurePolicy": "Fail"}}


def _binding(name: str) -> dict[str, Any]:
    parameters = {
        "name": "capacity-fence",
        "namespace": "gpuops-system",
        "parameterNotFoundAction": "Deny",
    }
    spec = {"policyName": name, "validationActions": ["Deny"], "paramRef": parameters}
    return {"metadata": {"name": name}, "spec": spec}


def fences(world: CapacityWorld) -> dict[str, str]:
    """The fences that stand."""
    [config] = world.server.items(CONFIGMAPS)
    return {key: value for key, value in config["data"].items() if key not in INSTALLED}


def standing(*pools: str, may_start: str = "-") -> dict[str, str]:
    """The fences' parameters where these pools are fenced."""
    add_ons = {"h100-vm": "gpu-h100-reserved", "v100-vm": "gpu-v100-reserved"}
    found = {f"creation.{pool}": f"{RESOURCES[pool]} {may_start}" for pool in pools}
    return found | {f"entitlement.{pool}": add_ons[pool] for pool in pools}
