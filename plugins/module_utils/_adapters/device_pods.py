# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which Pods are kept of a cluster's: those with a device, and those of the device plugins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from .._core.cluster_objects import JsonValues, Pod, Resources
from .._core.strict_model import Field, ObservedModel

PLUGIN_NAMESPACES: Final = frozenset({"gpu-operator", "hami-system"})
_NO_DEVICES: Final = ("devices.kubevirt.io/", "kubernetes.io/")


class AskingContainer(ObservedModel):
    """A container, as far as devices go."""

    resources: Resources | None = None


class AskingSpec(ObservedModel):
    """A Pod's specification, as far as devices go."""

    containers: tuple[AskingContainer, ...] = ()
    init_containers: tuple[AskingContainer, ...] = Field(default=(), alias="initContainers")
    ephemeral_containers: tuple[AskingContainer, ...] = Field(default=(), alias="ephemeralContainers")
    overhead: JsonValues | None = None
    resources: Resources | None = None
    resource_claims: tuple[JsonValues, ...] = Field(default=(), alias="resourceClaims")


class PodName(ObservedModel):
    """Which Pod it is."""

    name: str
    namespace: str = ""
    uid: str = ""


class AskingPod(ObservedModel):
    """A Pod, as far as it takes to see whether it is kept: of most Pods nothing else is ever looked at."""

    metadata: PodName
    spec: AskingSpec = AskingSpec()


def is_kept(pod: AskingPod | Pod) -> bool:
    """Whether a Pod can matter: a profile may name any extended resource, so any of them counts."""
    return pod.metadata.namespace in PLUGIN_NAMESPACES or has_device(pod)


def has_device(pod: AskingPod | Pod) -> bool:
    """Whether any container, the Pod's overhead or its own resources name a device, or it has a claim."""
    return bool(pod.spec.resource_claims) or any(
        _is_device(name) for amounts in _amounts(pod) for name in amounts
    )


def _amounts(pod: AskingPod | Pod) -> Iterator[Mapping[str, Any]]:
    spec = pod.spec
    for container in (*spec.containers, *spec.init_containers, *spec.ephemeral_containers):
        yield from _sides(container.resources)
    yield from _sides(spec.resources)
    if spec.overhead:
        yield spec.overhead


def _sides(resources: Resources | None) -> tuple[Mapping[str, Any], ...]:
    return (resources.requests, resources.limits) if resources else ()


def _is_device(name: str) -> bool:
    """Devices are extended resources, which have a domain; KubeVirt's own (kvm, tun) are no devices."""
    return "/" in name and not name.startswith(_NO_DEVICES)
