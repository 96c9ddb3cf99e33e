# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Claimants: pending Pods and virtual machines that would take a device as soon as one is free."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from .cluster_objects import Pod, VirtualMachine, VirtualMachineInstance
from .holders import devices_or_unknown, owner_of
from .pod_devices import finished, names_resource
from .tenancy import Tenancy

_WAITING_PHASES: Final = frozenset({"", "Pending", "Scheduling"})
_AT_REST: Final = frozenset({"Stopped", "Paused"})
_STARTING: Final = frozenset(
    {
        "Starting",
        "Provisioning",
        "WaitingForVolumeBinding",
        "DataVolumeError",
        "ErrorUnschedulable",
        "ErrImagePull",
        "ImagePullBackOff",
        "ErrorPvcNotFound",
        "CrashLoopBackOff",
    }
)


@dataclass(frozen=True)
class Claimant:
    """One thing that waits for devices.

    Attributes:
        namespace: where it is.
        owner: ``kind/name`` of what to ask about.
        devices: how many it would take; None where a quantity is no whole number of devices.
        organization: whom the namespace belongs to; empty for nobody.
        why: what shows that it waits.
    """

    namespace: str
    owner: str
    devices: int | None
    organization: str
    why: str

    @property
    def name(self) -> str:
        """``namespace/kind/name``."""
        return f"{self.namespace}/{self.owner}"

    def result(self) -> dict[str, Any]:
        """The claimant as a module returns it."""
        return {
            "namespace": self.namespace,
            "owner": self.owner,
            "devices": "unknown" if self.devices is None else self.devices,
            "organization": self.organization,
            "why": self.why,
        }


def _starts_by_itself(machine: VirtualMachine) -> bool:
    """Whether a machine without an instance would get one without anybody asking."""
    if machine.metadata.deletion_timestamp:
        return False
    if machine.printable_status in _STARTING:
        return True
    if machine.run_strategy == "Always":
        return True
    return machine.run_strategy in {"RerunOnFailure", "Once"} and machine.printable_status not in _AT_REST


def claimants_of(
    resource: str,
    pods: Iterable[Pod],
    machines: Iterable[VirtualMachine],
    instances: Iterable[VirtualMachineInstance],
    tenancy: Tenancy,
) -> tuple[Claimant, ...]:
    """Everything that waits for devices of a resource, once for each owner.

    Args:
        resource: the pool's extended resource.
        pods: Pods with device resources, in any phase.
        machines: virtual machine definitions.
        instances: virtual machine instances.
        tenancy: who owns which namespace.
    """
    instance_list = tuple(instances)
    by_name = {(item.metadata.namespace, item.metadata.name): item for item in instance_list}
    found: dict[tuple[str, str], Claimant] = {}
    placed: set[tuple[str, str]] = set()

    def add(namespace: str, owner: str, devices: int | None, why: str) -> None:
        organization = (tenancy.owner(namespace) or ("", ""))[0]
        found.setdefault((namespace, owner), Claimant(namespace, owner, devices, organization, why))

    for pod in pods:
        if finished(pod) or not names_resource(pod, resource):
            continue
        devices = devices_or_unknown(pod, resource)
        owner = owner_of(pod, by_name)
        if pod.spec.node_name:
            placed.add((pod.metadata.namespace, owner))
        elif devices != 0 and not pod.metadata.deletion_timestamp:
            add(pod.metadata.namespace, owner, devices, f"Pod {pod.metadata.name} waits to be scheduled")
    for instance in instance_list:
        devices = instance.devices.count(resource)
        controller = instance.metadata.controller
        owner = (
            f"{controller.kind}/{controller.name}"
            if controller
            else f"VirtualMachineInstance/{instance.metadata.name}"
        )
        key = (instance.metadata.namespace, owner)
        if devices and instance.phase in _WAITING_PHASES and key not in placed:
            add(*key, devices, f"its instance is in phase {instance.phase or 'unset'}")
    for machine in machines:
        key = (machine.metadata.namespace, f"VirtualMachine/{machine.metadata.name}")
        devices = machine.devices.count(resource)
        has_instance = (machine.metadata.namespace, machine.metadata.name) in by_name
        if devices and not has_instance and key not in placed and _starts_by_itself(machine):
            add(*key, devices, f"run strategy {machine.run_strategy or 'unset'} starts it by itself")
    return tuple(found[key] for key in sorted(found))
