# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""KubeVirt's objects as its API gives them, made into the flat ones that are judged."""

from __future__ import annotations

from typing import Any

from .._core.cluster_objects import (
    Condition,
    HostDevice,
    KubeVirt,
    Meta,
    VirtualMachine,
    VirtualMachineInstance,
)
from .._core.strict_model import Field, ObservedModel


class _Device(ObservedModel):
    device_name: str = Field(default="", alias="deviceName")


class _Devices(ObservedModel):
    gpus: tuple[_Device, ...] | None = ()
    host_devices: tuple[_Device, ...] | None = Field(default=(), alias="hostDevices")


class _Domain(ObservedModel):
    devices: _Devices = _Devices()


class _InstanceSpec(ObservedModel):
    domain: _Domain = _Domain()

    def device_names(self) -> tuple[str, ...]:
        """One resource name for each device, graphics devices first."""
        devices = self.domain.devices
        return tuple(device.device_name for device in (*(devices.gpus or ()), *(devices.host_devices or ())))


class _InstanceStatus(ObservedModel):
    phase: str = ""
    node_name: str = Field(default="", alias="nodeName")
    conditions: tuple[Condition, ...] = ()


class RawInstance(ObservedModel):
    """A VirtualMachineInstance."""

    metadata: Meta
    spec: _InstanceSpec
    status: _InstanceStatus = _InstanceStatus()

    def observed(self) -> VirtualMachineInstance:
        """The instance as it is judged."""
        return VirtualMachineInstance(
            metadata=self.metadata,
            devices=self.spec.device_names(),
            phase=self.status.phase,
            node_name=self.status.node_name,
            conditions=self.status.conditions,
        )


class _Template(ObservedModel):
    spec: _InstanceSpec


class _MachineSpec(ObservedModel):
    running: bool | None = None
    run_strategy: str = Field(default="", alias="runStrategy")
    template: _Template


class _MachineStatus(ObservedModel):
    printable_status: str = Field(default="", alias="printableStatus")


class RawMachine(ObservedModel):
    """A VirtualMachine; ``running`` is the older spelling of its run strategy."""

    metadata: Meta
    spec: _MachineSpec
    status: _MachineStatus = _MachineStatus()

    def observed(self) -> VirtualMachine:
        """The machine as it is judged."""
        older = {True: "Always", False: "Halted", None: ""}[self.spec.running]
        return VirtualMachine(
            metadata=self.metadata,
            devices=self.spec.template.spec.device_names(),
            run_strategy=self.spec.run_strategy or older,
            printable_status=self.status.printable_status,
        )


class _PermittedHostDevices(ObservedModel):
    pci_host_devices: tuple[HostDevice, ...] | None = Field(default=(), alias="pciHostDevices")


class _KubeVirtConfiguration(ObservedModel):
    permitted: _PermittedHostDevices | None = Field(default=None, alias="permittedHostDevices")


class _KubeVirtSpec(ObservedModel):
    configuration: _KubeVirtConfiguration = _KubeVirtConfiguration()


class RawKubeVirt(ObservedModel):
    """The KubeVirt installation."""

    metadata: Meta
    spec: _KubeVirtSpec = _KubeVirtSpec()
    status: dict[str, Any] = Field(default={})

    def observed(self) -> KubeVirt:
        """The installation as it is judged."""
        permitted = self.spec.configuration.permitted
        return KubeVirt(
            metadata=self.metadata,
            host_devices=(permitted.pci_host_devices or ()) if permitted else (),
            phase=str(self.status.get("phase", "")),
        )
