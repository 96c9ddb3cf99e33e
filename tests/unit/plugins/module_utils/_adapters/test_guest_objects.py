# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""KubeVirt's objects, made flat."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.guest_objects import (
    RawInstance,
    RawKubeVirt,
    RawMachine,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.strict_model import ValidationError

META = {"name": "vm", "namespace": "ns"}
DEVICES = {
    "gpus": [{"name": "g0", "deviceName": "nvidia.com/A"}, {"name": "g1", "deviceName": "nvidia.com/A"}],
    "hostDevices": [{"name": "h0", "deviceName": "nvidia.com/B"}],
}


def test_each_device_of_an_instance_is_named_once() -> None:
    instance = RawInstance.model_validate(
        {
            "metadata": META,
            "spec": {"domain": {"devices": DEVICES}},
            "status": {"phase": "Running", "nodeName": "n"},
        }
    ).observed()
    assert instance.devices == ("nvidia.com/A", "nvidia.com/A", "nvidia.com/B")
    assert (instance.phase, instance.node_name) == ("Running", "n")


@pytest.mark.parametrize("domain", [{}, {"devices": {}}, {"devices": {"gpus": None, "hostDevices": None}}])
def test_a_guest_without_devices(domain: dict[str, Any]) -> None:
    assert RawInstance.model_validate({"metadata": META, "spec": {"domain": domain}}).observed().devices == ()


@pytest.mark.parametrize(
    ("spec", "strategy"),
    [
        ({"runStrategy": "Manual"}, "Manual"),
        ({"running": True}, "Always"),
        ({"running": False}, "Halted"),
        ({}, ""),
        ({"running": None, "runStrategy": "Halted"}, "Halted"),
    ],
)
def test_both_spellings_of_a_run_strategy(spec: dict[str, Any], strategy: str) -> None:
    template = {"spec": {"domain": {"devices": DEVICES}}}
    machine = RawMachine.model_validate({"metadata": META, "spec": {**spec, "template": template}}).observed()
    assert machine.run_strategy == strategy
    assert len(machine.devices) == 3


def test_a_machine_without_a_template_is_no_machine() -> None:
    with pytest.raises(ValidationError):
        RawMachine.model_validate({"metadata": META, "spec": {}})


@pytest.mark.parametrize(
    ("configuration", "count"),
    [
        ({}, 0),
        ({"permittedHostDevices": None}, 0),
        ({"permittedHostDevices": {"pciHostDevices": None}}, 0),
        (
            {
                "permittedHostDevices": {
                    "pciHostDevices": [{"resourceName": "r", "pciVendorSelector": "10DE:2330"}]
                }
            },
            1,
        ),
    ],
)
def test_permitted_devices(configuration: dict[str, Any], count: int) -> None:
    raw = {"metadata": META, "spec": {"configuration": configuration}, "status": {"phase": "Deployed"}}
    kubevirt = RawKubeVirt.model_validate(raw).observed()
    assert len(kubevirt.host_devices) == count
    assert kubevirt.phase == "Deployed"
