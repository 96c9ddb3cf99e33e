# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What waits for a device: pending Pods, instances without a launcher, machines that start by themselves."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.claimants import (
    Claimant,
    claimants_of,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.fleet_builder import (
    H100,
    Fleet,
    lab,
)


def claimants(fleet: Fleet) -> tuple[Claimant, ...]:
    world = fleet.world()
    observed = world.snapshot.observed
    return claimants_of(H100, observed.pods, observed.vms, observed.vmis, world.tenancy)


def named(fleet: Fleet) -> list[tuple[str, int | None]]:
    return [(item.name, item.devices) for item in claimants(fleet)]


def machine(strategy: str, status: str, **more: Any) -> Fleet:
    fleet = lab()
    fleet.vms.append(
        {
            "metadata": {"name": "vm", "namespace": "borealis-ml", **more},
            "devices": [H100, H100],
            "run_strategy": strategy,
            "printable_status": status,
        }
    )
    return fleet


def test_running_machines_claim_nothing() -> None:
    assert claimants(lab()) == ()


def test_a_pending_pod_of_an_organization() -> None:
    fleet = lab().pod("borealis-ml", "p", 3, node="", phase="Pending", owner=("Job", "train"))
    (claimant,) = claimants(fleet)
    assert (claimant.name, claimant.devices, claimant.organization) == (
        "borealis-ml/Job/train",
        3,
        "borealis",
    )
    assert "waits to be scheduled" in claimant.why


@pytest.mark.parametrize(
    "fleet",
    [
        lab().pod("x", "p", node="", phase="Succeeded"),
        lab().pod("x", "p", 0, node="", phase="Pending"),
        lab().pod("x", "p", node="", phase="Pending", resource="nvidia.com/gpu"),
        lab().pod("x", "p", node="", phase="Pending", metadata={"deletionTimestamp": "2026-11-10T11:00:00Z"}),
    ],
    ids=["ended", "nothing asked", "another resource", "being deleted"],
)
def test_what_claims_nothing(fleet: Fleet) -> None:
    assert claimants(fleet) == ()


@pytest.mark.parametrize(
    ("strategy", "status", "claims"),
    [
        ("Always", "", True),
        ("Always", "Stopped", True),
        ("RerunOnFailure", "", True),
        ("RerunOnFailure", "Stopped", False),
        ("Once", "Stopped", False),
        ("Manual", "", False),
        ("Manual", "Stopped", False),
        ("Manual", "Starting", True),
        ("Halted", "Stopped", False),
        ("Halted", "ErrorUnschedulable", True),
    ],
)
def test_a_machine_that_would_start(strategy: str, status: str, claims: bool) -> None:
    expected = [("borealis-ml/VirtualMachine/vm", 2)] if claims else []
    assert named(machine(strategy, status)) == expected


def test_a_machine_that_is_being_deleted_claims_nothing() -> None:
    assert claimants(machine("Always", "", deletionTimestamp="2026-11-10T11:00:00Z")) == ()


def test_machine_instance_and_pod_of_one_owner_are_one_claimant() -> None:
    fleet = lab().machine("borealis-ml", "vm", node="")
    fleet.vmis[-1]["phase"] = "Scheduling"
    fleet.pods[-1]["status"]["phase"] = "Pending"
    assert named(fleet) == [("borealis-ml/VirtualMachine/vm", 1)]


def test_an_instance_without_a_launcher_yet() -> None:
    fleet = lab().machine("borealis-ml", "vm")
    fleet.pods.pop()
    fleet.vmis[-1]["phase"] = "Pending"
    assert named(fleet) == [("borealis-ml/VirtualMachine/vm", 1)]


def test_a_quantity_that_cannot_be_read_is_still_a_claimant() -> None:
    fleet = lab().pod("borealis-ml", "p", "many", node="", phase="Pending")
    assert named(fleet) == [("borealis-ml/Pod/p", None)]
    assert claimants(fleet)[0].result()["devices"] == "unknown"
