# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who uses a pool's devices now, named by owner and attributed to an organization."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from . import finding_ids as ids
from .amount import QuantityError
from .cluster_objects import Pod, VirtualMachineInstance
from .finding import Finding
from .pod_devices import finished, names_resource, pod_devices
from .tenancy import Tenancy


@dataclass(frozen=True)
class Holder:
    """One owner's hold on one node.

    Attributes:
        namespace: where the Pods are.
        owner: ``kind/name`` of what to ask about: the virtual machine, else the Pod's controller.
        pods: names of the Pods.
        node: the node.
        devices: how many; None where a quantity is no whole number of devices.
        organization: whom the namespace belongs to; empty for nobody.
        project: the project; empty for the organization's own namespace and for nobody.
        operator: whether the namespace is one of the operator's own.
        terminating: whether all of its Pods are on their way out; they hold devices until gone.
    """

    namespace: str
    owner: str
    pods: tuple[str, ...]
    node: str
    devices: int | None
    organization: str
    project: str
    operator: bool
    terminating: bool

    @property
    def name(self) -> str:
        """``namespace/kind/name``, as messages name it."""
        return f"{self.namespace}/{self.owner}"

    def result(self) -> dict[str, Any]:
        """The holder as a module returns it."""
        return {
            "namespace": self.namespace,
            "owner": self.owner,
            "pods": list(self.pods),
            "node": self.node,
            "devices": "unknown" if self.devices is None else self.devices,
            "organization": self.organization,
            "project": self.project,
            "operator": self.operator,
            "terminating": self.terminating,
        }


def owner_of(pod: Pod, instances: Mapping[tuple[str, str], VirtualMachineInstance]) -> str:
    """``kind/name`` of the Pod's controller; for a launcher the virtual machine behind it.

    Args:
        pod: any Pod.
        instances: virtual machine instances by (namespace, name).
    """
    controller = pod.metadata.controller
    if controller is None:
        return f"Pod/{pod.metadata.name}"
    if controller.kind == "VirtualMachineInstance":
        instance = instances.get((pod.metadata.namespace, controller.name))
        machine = instance.metadata.controller if instance else None
        if machine is not None:
            return f"{machine.kind}/{machine.name}"
    return f"{controller.kind}/{controller.name}"


def devices_or_unknown(pod: Pod, resource: str) -> int | None:
    """Devices that the Pod takes; None where a quantity is no whole number of devices."""
    try:
        return pod_devices(pod, resource)
    except QuantityError:
        return None


def _merge(pods: list[Pod], resource: str) -> int | None:
    counts = [devices_or_unknown(pod, resource) for pod in pods]
    return None if None in counts else sum(count for count in counts if count is not None)


def holders_of(
    resource: str,
    pods: Iterable[Pod],
    instances: Iterable[VirtualMachineInstance],
    tenancy: Tenancy,
    operator_namespaces: frozenset[str] = frozenset(),
) -> tuple[Holder, ...]:
    """Holders of one resource: Pods that are assigned to a node and have not ended, Terminating ones too.

    Args:
        resource: the pool's extended resource; holders of other resources do not matter here.
        pods: Pods with device resources, in any phase.
        instances: virtual machine instances, to name the machine behind a launcher.
        tenancy: who owns which namespace.
        operator_namespaces: the operator's own namespaces, from the policy.
    """
    by_name = {(item.metadata.namespace, item.metadata.name): item for item in instances}
    groups: dict[tuple[str, str, str], list[Pod]] = {}
    for pod in pods:
        if finished(pod) or not pod.spec.node_name or not names_resource(pod, resource):
            continue
        if devices_or_unknown(pod, resource) == 0:
            continue
        key = (pod.metadata.namespace, owner_of(pod, by_name), pod.spec.node_name)
        groups.setdefault(key, []).append(pod)
    found = []
    for (namespace, owner, node), members in sorted(groups.items()):
        organization, project = tenancy.owner(namespace) or ("", "")
        found.append(
            Holder(
                namespace=namespace,
                owner=owner,
                pods=tuple(sorted(pod.metadata.name for pod in members)),
                node=node,
                devices=_merge(members, resource),
                organization=organization,
                project=project,
                operator=namespace in operator_namespaces,
                terminating=all(pod.metadata.deletion_timestamp for pod in members),
            )
        )
    return tuple(found)


def operator_devices(holders: Iterable[Holder]) -> dict[str, int]:
    """Devices that the operator's own namespaces hold, by node; unreadable ones have a finding instead."""
    held: dict[str, int] = {}
    for holder in holders:
        if holder.operator:
            held[holder.node] = held.get(holder.node, 0) + (holder.devices or 0)
    return held


def holder_findings(holders: Iterable[Holder]) -> tuple[Finding, ...]:
    """Holders that belong to nobody, and holders whose quantity cannot be read ("Claims")."""
    found = []
    for holder in holders:
        if holder.devices is None:
            seen = "a quantity that is no whole number of devices"
            action = f"ask the owner of {holder.name} to correct its request"
        elif holder.organization or holder.operator:
            continue
        else:
            seen = (
                f"{holder.devices} devices in namespace {holder.namespace}, which belongs to no organization"
            )
            action = (
                f"find out whose {holder.name} is and have it stopped normally, "
                "or name the namespace under operatorNamespaces in policy.yaml by a reviewed change"
            )
        found.append(
            Finding(
                id=ids.UNATTRIBUTED_HOLDER,
                severity="error",
                object=f"holder/{holder.name}",
                message=f"holder {holder.name} on node {holder.node} cannot be attributed: {seen}",
                expected="a whole number of devices in a namespace of an organization or of the operator",
                observed=seen,
                next_action=action,
                unknown=holder.devices is None,
                transient=True,
            )
        )
    return tuple(found)
