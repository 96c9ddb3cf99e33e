# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a Pod asks of one device resource, by the rule that quota counts with."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from .amount import device_count
from .cluster_objects import Container, Pod
from .instants import instant

FINISHED: Final = frozenset({"Succeeded", "Failed"})


def _of(requests: dict[str, object], limits: dict[str, object], resource: str) -> int:
    """One container's devices; an extended resource's request defaults to its limit."""
    if resource in requests:
        return device_count(requests[resource])
    return device_count(limits[resource]) if resource in limits else 0


def _containers(containers: Iterable[Container], resource: str) -> int:
    return sum(_of(item.resources.requests, item.resources.limits, resource) for item in containers)


def pod_devices(pod: Pod, resource: str) -> int:
    """Devices of a resource that a Pod takes, whatever its phase.

    The larger of what runs together (containers and sidecars) and what each init container needs
    beside the sidecars started before it, and the overhead on top.

    Args:
        pod: any Pod.
        resource: the extended resource's name.

    Raises:
        QuantityError: a quantity that is no whole number of devices.
    """
    spec = pod.spec
    sidecars = peak = 0
    for container in spec.init_containers:
        own = _of(container.resources.requests, container.resources.limits, resource)
        if container.restart_policy == "Always":
            sidecars += own
            peak = max(peak, sidecars)
        else:
            peak = max(peak, sidecars + own)
    together = sidecars + _containers(spec.containers, resource)
    ephemeral = _containers(spec.ephemeral_containers, resource)
    whole_pod = _of(spec.resources.requests, spec.resources.limits, resource)
    overhead = device_count(spec.overhead.get(resource, 0))
    return max(together, peak, ephemeral, whole_pod) + overhead


def names_resource(pod: Pod, resource: str) -> bool:
    """Whether the Pod mentions the resource anywhere, with a readable quantity or without."""
    spec = pod.spec
    every = (*spec.containers, *spec.init_containers, *spec.ephemeral_containers)
    return (
        resource in spec.overhead
        or resource in spec.resources.requests
        or resource in spec.resources.limits
        or any(resource in item.resources.requests or resource in item.resources.limits for item in every)
    )


def finished(pod: Pod) -> bool:
    """Whether the Pod has ended: it holds nothing and counts for nothing."""
    return pod.status.phase in FINISHED


def counts_for_quota(pod: Pod, now: datetime) -> bool:
    """Whether quota counts the Pod: not ended, and not Terminating past its grace.

    Args:
        pod: any Pod.
        now: the API server's time.
    """
    if finished(pod):
        return False
    meta = pod.metadata
    if not meta.deletion_timestamp or meta.deletion_grace_period_seconds is None:
        return True
    deletion = instant(meta.deletion_timestamp)
    if deletion is None:
        return True
    return now <= deletion + timedelta(seconds=meta.deletion_grace_period_seconds)
