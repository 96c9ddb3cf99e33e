# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which Pods are kept of a cluster's: those with a device, and those of the device plugins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from .._core.cluster_objects import Pod, Resources

PLUGIN_NAMESPACES: Final = frozenset({"gpu-operator", "hami-system"})
_NO_DEVICES: Final = ("devices.kubevirt.io/", "kubernetes.io/")


def is_kept(pod: Pod) -> bool:
    """Whether a Pod can matter: a profile may name any extended resource, so any of them counts."""
    return pod.metadata.namespace in PLUGIN_NAMESPACES or has_device(pod)


def has_device(pod: Pod) -> bool:
    """Whether any container, the Pod's overhead or its own resources name a device, or it has a claim."""
    return bool(pod.spec.resource_claims) or any(
        _is_device(name) for amounts in _amounts(pod) for name in amounts
    )


def _amounts(pod: Pod) -> Iterator[Mapping[str, Any]]:
    spec = pod.spec
    for container in (*spec.containers, *spec.init_containers, *spec.ephemeral_containers):
        yield from _sides(container.resources)
    yield from _sides(spec.resources)
    yield spec.overhead


def _sides(resources: Resources) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    return resources.requests, resources.limits


def _is_device(name: str) -> bool:
    """Devices are extended resources, which have a domain; KubeVirt's own (kvm, tun) are no devices."""
    return "/" in name and not name.startswith(_NO_DEVICES)
