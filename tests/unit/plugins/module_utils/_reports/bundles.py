# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Audit bundles of bent fixtures, for tests of what renders them."""

from __future__ import annotations

from typing import Any

from ansible_collections.gpuops.reservations.plugins.module_utils._core.audit import audit_in
from ansible_collections.gpuops.reservations.plugins.module_utils._core.audit_bundle import audit_bundle
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.fleet_builder import (
    Fleet,
    lab,
    record,
    select,
)

HOSTILE = '<script>alert("x")</script>'
DEVICE_UUID = "GPU-8f6d2a31-90c4-4d1e-b7aa-5c1f0e2d3b44"
PCI_ADDRESS = "0000:3b:00.0"


def bundle_of(fleet: Fleet, **more: Any) -> dict[str, Any]:
    world = fleet.world()
    return audit_bundle(audit_in(world, select=select), world, **more)


def failing() -> Fleet:
    """Findings of every severity, a pending record, no limit, and text that wants to be markup."""
    fleet = lab().devices("gpu-02", "7").alert(f"KubeDc{HOSTILE}").alert(f"KubeDc{DEVICE_UUID}")
    fleet.keep(record("lab-1", "borealis", 8, "pending", project="ml"))
    fleet.hrqs.pop("aurora")
    fleet.nodes["gpu-04"]["spec"]["unschedulable"] = True
    return fleet


def healthy() -> dict[str, Any]:
    return bundle_of(lab())
