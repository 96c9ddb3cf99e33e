# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Machines: when one is to run, what its launcher asks for, and the word that is shown."""

from __future__ import annotations

from typing import Any

import pytest

from lab.fixture import catalogue
from lab.fixture.cluster import machine
from lab.platform import machines

UID = "11111111-0000-4000-8000-000000000000"


def instance(**status: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {
            "name": "m",
            "namespace": "ns",
            "uid": UID,
            "labels": {"kube-dc.com/gpu-profile": "h100-vm"},
        },
        "spec": machine("m", "ns")["spec"]["template"]["spec"],
        "status": status,
    }


@pytest.mark.parametrize(
    ("spec", "status", "phase", "runs"),
    [
        ({"runStrategy": "Always"}, {}, None, True),
        ({"runStrategy": "Always"}, {}, "Failed", True),
        ({"runStrategy": "Halted"}, {}, "Running", False),
        ({"running": True}, {}, None, True),
        ({"running": False}, {}, "Running", False),
        ({}, {}, None, False),
        ({"runStrategy": "RerunOnFailure"}, {}, "Failed", True),
        ({"runStrategy": "RerunOnFailure"}, {}, "Succeeded", False),
        ({"runStrategy": "Manual"}, {}, None, False),
        ({"runStrategy": "Manual"}, {}, "Running", True),
        ({"runStrategy": "Manual"}, {}, "Succeeded", False),
        ({"runStrategy": "Manual"}, {"stateChangeRequests": [{"action": "Start"}]}, None, True),
        (
            {"runStrategy": "Manual"},
            {"stateChangeRequests": [{"action": "Stop", "uid": UID}]},
            "Running",
            False,
        ),
        (
            {"runStrategy": "Manual"},
            {"stateChangeRequests": [{"action": "Stop", "uid": "old"}]},
            "Running",
            True,
        ),
    ],
)
def test_when_a_machine_is_to_run(
    spec: dict[str, Any], status: dict[str, Any], phase: str | None, *, runs: bool
) -> None:
    present = instance(phase=phase) if phase else None
    assert machines.wants_to_run({"spec": spec, "status": status}, present) is runs


def test_the_launcher_asks_for_exactly_the_device_and_is_owned_by_its_instance() -> None:
    pod = machines.launcher(instance(), "m", "abcde")
    resources = pod["spec"]["containers"][0]["resources"]
    assert resources["requests"] == resources["limits"] == {"cpu": "8", "memory": "64Gi", catalogue.H100: "1"}
    owner = pod["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("VirtualMachineInstance", UID, True)
    assert pod["metadata"]["labels"]["kubevirt.io"] == "virt-launcher"
    assert pod["metadata"]["labels"]["kubevirt.io/created-by"] == UID
    assert pod["spec"]["nodeSelector"] == {"kube-dc.com/gpu.workload-mode": "vm-passthrough"}


def test_devices_of_one_kind_add_up() -> None:
    devices = {"gpus": [{"deviceName": "x"}, {"deviceName": "x"}], "hostDevices": [{"deviceName": "y"}]}
    assert machines.devices_of({"domain": {"devices": devices}}) == {"x": 2, "y": 1}
    assert machines.devices_of({}) == {}


@pytest.mark.parametrize(
    ("present", "wanted", "word"),
    [
        (None, False, "Stopped"),
        (None, True, "Starting"),
        (instance(phase="Scheduling"), True, "Starting"),
        (instance(phase="Running"), True, "Running"),
        (
            instance(phase="Scheduling", conditions=[{"type": "PodScheduled", "status": "False"}]),
            True,
            "ErrorUnschedulable",
        ),
    ],
)
def test_the_word_that_is_shown(present: dict[str, Any] | None, word: str, *, wanted: bool) -> None:
    assert machines.printable(machine("m", "ns"), present, wanted=wanted) == word


def test_on_its_way_out() -> None:
    leaving = instance(phase="Running")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert machines.printable(machine("m", "ns"), leaving, wanted=False) == "Stopping"
    gone = machine("m", "ns")
    gone["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert machines.printable(gone, leaving, wanted=False) == "Terminating"
