# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Asks the Eviction API about a tenant's Pods, and says what each refusal means."""

from __future__ import annotations

from collections.abc import Iterable

from .._adapters.kube import KubeClient
from .._core.cluster_objects import Pod
from .._core.errors import ConflictError, GpuopsError


def evict_pods(client: KubeClient, pods: Iterable[Pod]) -> tuple[list[str], list[str]]:
    """Evict Pods, each with its UID as precondition; disruption budgets hold.

    Returns:
        Names of Pods whose eviction was accepted, and one sentence for each that stays for now.
    """
    evicted, staying = [], []
    for pod in pods:
        meta = pod.metadata
        name = f"{meta.namespace}/{meta.name}"
        if meta.deletion_timestamp:
            continue
        try:
            answer = client.evict(meta.namespace, meta.name, uid=meta.uid)
        except ConflictError:
            staying.append(
                f"{name}: another Pod has taken its name meanwhile; the next pass looks at that one"
            )
        except GpuopsError as error:
            staying.append(f"{name}: {_unresolved(error)}")
        else:
            if answer == "evicted":
                evicted.append(name)
            if answer == "budget":
                staying.append(
                    f"{name}: its PodDisruptionBudget allows no eviction now; the next pass asks again"
                )
    return evicted, staying


def _unresolved(error: GpuopsError) -> str:
    if "more than one PodDisruptionBudget" in error.message:
        return (
            "more than one PodDisruptionBudget covers it, which the Eviction API never resolves; "
            "its owner has to narrow one of them, or delete the Pod"
        )
    return f"it could not be evicted: {error.message}"
