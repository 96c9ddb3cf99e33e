# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Claimants: pending Pods and virtual machines that would take a device as soon as one is free."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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


Key = tuple[str, str]
Instances = Mapping[Key, VirtualMachineInstance]
"""Virtual machine instances by (namespace, name)."""


def _waiting_pods(
    resource: str, pods: Iterable[Pod], instances: Instances
) -> tuple[dict[Key, tuple[int | None, str]], set[Key]]:
    """Owners of Pods that wait to be scheduled, and owners that have a Pod on a node."""
    waiting: dict[Key, tuple[int | None, str]] = {}
    placed: set[Key] = set()
    for pod in pods:
        if finished(pod) or not names_resource(pod, resource):
            continue
        devices = devices_or_unknown(pod, resource)
        key = (pod.metadata.namespace, owner_of(pod, instances))
        if pod.spec.node_name:
            placed.add(key)
        elif devices != 0 and not pod.metadata.deletion_timestamp:
            before, _why = waiting.get(key, (0, ""))
            why = f"Pod {pod.metadata.name} waits to be scheduled"
            waiting[key] = (None if before is None or devices is None else before + devices, why)
    return waiting, placed


def _waiting_instances(resource: str, instances: Instances) -> dict[Key, tuple[int | None, str]]:
    """Owners of instances without a launcher yet."""
    found: dict[Key, tuple[int | None, str]] = {}
    for (namespace, name), instance in instances.items():
        devices = instance.devices.count(resource)
        controller = instance.metadata.controller
        owner = f"{controller.kind}/{controller.name}" if controller else f"VirtualMachineInstance/{name}"
        if devices and instance.phase in _WAITING_PHASES:
            found[namespace, owner] = (devices, f"its instance is in phase {instance.phase or 'unset'}")
    return found


def _waiting_machines(
    resource: str, machines: Iterable[VirtualMachine], instances: Instances
) -> dict[Key, tuple[int | None, str]]:
    """Machines without an instance that would get one by themselves."""
    found: dict[Key, tuple[int | None, str]] = {}
    for machine in machines:
        namespace, name = machine.metadata.namespace, machine.metadata.name
        devices = machine.devices.count(resource)
        if devices and (namespace, name) not in instances and _starts_by_itself(machine):
            why = f"run strategy {machine.run_strategy or 'unset'} starts it by itself"
            found[namespace, f"VirtualMachine/{name}"] = (devices, why)
    return found


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
    by_name = {(item.metadata.namespace, item.metadata.name): item for item in instances}
    waiting, placed = _waiting_pods(resource, pods, by_name)
    later = {**_waiting_machines(resource, machines, by_name), **_waiting_instances(resource, by_name)}
    found = {**{key: value for key, value in later.items() if key not in placed}, **waiting}
    return tuple(
        Claimant(namespace, owner, devices, (tenancy.owner(namespace) or ("", ""))[0], why)
        for (namespace, owner), (devices, why) in sorted(found.items())
    )
