# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who holds a device of a node, whatever the device is: what a change of the node's mode would break."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from .amount import QuantityError, quantity
from .cluster_objects import Pod

CLAIM: Final = "resource.k8s.io/claim"
"""Stands for a claim of dynamic resource allocation, which names no extended resource."""

_PREFIXES: Final = ("nvidia.com/", "requests.nvidia.com/", "amd.com/gpu", "gpu.intel.com/")
_FINISHED: Final = ("Succeeded", "Failed")
# A CronJob names its Jobs after itself and the scheduled time in minutes since 1970.
_CRON_JOB: Final = re.compile(r"(?P<cron>.+)-[0-9]{8,10}")
_PLATFORM: Final = ("gpu-operator", "hami-system", "kube-dc", "monitoring")


@dataclass(frozen=True, order=True)
class NodeHolder:
    """What keeps devices of a node: the controller of its Pods, or a Pod without one.

    Attributes:
        namespace: its namespace.
        kind: the controller's kind, or Pod.
        name: its name.
        resources: what its Pods ask for, sorted.
        terminating: whether all of its Pods are Terminating; they hold devices until they are gone.
    """

    namespace: str
    kind: str
    name: str
    resources: tuple[str, ...]
    terminating: bool = False

    def result(self) -> dict[str, Any]:
        """The holder as a module returns it."""
        return {
            "namespace": self.namespace,
            "kind": self.kind,
            "name": self.name,
            "resources": list(self.resources),
        }

    @property
    def sentence(self) -> str:
        """namespace/kind/name with its resources, and what an operator has to know of it."""
        note = ", Terminating and not gone yet" if self.terminating else ""
        return f"{self.namespace}/{self.kind}/{self.name} ({', '.join(self.resources)}{note})"

    @property
    def next_action(self) -> str:
        """What to do about this holder."""
        made_by = _CRON_JOB.fullmatch(self.name) if self.kind == "Job" else None
        if made_by is not None:
            cron = f"CronJob {self.namespace}/{made_by['cron']}"
            return f"suspend {cron}, and wait until its Job {self.name} has ended"
        if self.kind == "Job" and (self.namespace in _PLATFORM or "canary" in self.name):
            return (
                f"suspend the CronJob in namespace {self.namespace} that owns Job {self.name}, "
                "and wait until the Job has ended"
            )
        if self.terminating:
            return f"wait until the Pods of {self.namespace}/{self.kind}/{self.name} are gone"
        return f"ask the owner of {self.namespace}/{self.kind}/{self.name} to stop it"


def node_holders(node: str, pods: Iterable[Pod]) -> tuple[NodeHolder, ...]:
    """The holders on a node ("Holders"), sorted by namespace, kind and name.

    Pods that have not finished count, Terminating ones too, with a positive request or limit of a GPU
    resource in any kind of container or in the overhead, or with any resource claim. A quantity that
    cannot be read counts as positive.

    Args:
        node: the node's name; Pods of other nodes are left out.
        pods: Pods in any phase.
    """
    resources: dict[tuple[str, str, str], set[str]] = {}
    staying: set[tuple[str, str, str]] = set()
    for pod in pods:
        if pod.spec.node_name != node or pod.status.phase in _FINISHED:
            continue
        held = held_resources(pod)
        if held:
            key = _owner(pod)
            resources.setdefault(key, set()).update(held)
            if not pod.metadata.deletion_timestamp:
                staying.add(key)
    return tuple(
        NodeHolder(*key, resources=tuple(sorted(names)), terminating=key not in staying)
        for key, names in sorted(resources.items())
    )


def held_resources(pod: Pod) -> frozenset[str]:
    """The GPU resources that a Pod asks for, by any kind of container, its overhead or a claim."""
    spec = pod.spec
    every = (*spec.containers, *spec.init_containers, *spec.ephemeral_containers)
    lists: list[Mapping[str, Any]] = [spec.overhead, spec.resources.requests, spec.resources.limits]
    for container in every:
        lists += [container.resources.requests, container.resources.limits]
    names = {
        name for amounts in lists for name, amount in amounts.items() if _is_gpu(name) and _positive(amount)
    }
    return frozenset(names | ({CLAIM} if spec.resource_claims else set()))


def _owner(pod: Pod) -> tuple[str, str, str]:
    controller = pod.metadata.controller
    if controller is None:
        return pod.metadata.namespace, "Pod", pod.metadata.name
    return pod.metadata.namespace, controller.kind, controller.name


def _is_gpu(name: str) -> bool:
    return name.startswith(_PREFIXES)


def _positive(amount: object) -> bool:
    try:
        return quantity(str(amount)) > 0
    except QuantityError:
        return True
