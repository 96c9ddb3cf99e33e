# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pods with devices that no binding of their namespace selects.

Runbook: Reservations and ReservationBindings, Common failure modes: the binding should match every
workload-bearing Pod in the namespace.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from .placement_objects import PlacementPod
from .pod_requests import number, pod_requests
from .reservation_objects import ReservationBinding

_ENDED: Final = ("Succeeded", "Failed")


def uncovered_pods(pods: Iterable[PlacementPod], bindings: Iterable[ReservationBinding]) -> tuple[str, ...]:
    """The Pods that ask for devices and that no binding selects, each with what it asks for, by name.

    Args:
        pods: of one namespace, which is a tenant's.
        bindings: of the same namespace.
    """
    selectors = [one.spec.pod_selector for one in bindings]
    found = []
    for pod in pods:
        devices = _devices(pod)
        if not devices or pod.status.phase in _ENDED:
            continue
        if not any(selector.matches(pod.metadata.labels) for selector in selectors):
            found.append(f"{pod.metadata.name}: {', '.join(devices)}")
    return tuple(sorted(found))


def _devices(pod: PlacementPod) -> list[str]:
    """What a Pod asks of extended resources: those with a domain that is not Kubernetes' own."""
    return [
        f"{name} {number(amount)}"
        for name, amount in sorted(pod_requests(pod.spec).items())
        if amount and "/" in name and not name.partition("/")[0].endswith("kubernetes.io")
    ]
