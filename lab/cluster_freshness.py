# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether somebody's cluster holds nothing but what a new one holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

# What kind makes besides Kubernetes' own.
NAMESPACES = frozenset({"default", "kube-system", "kube-public", "kube-node-lease", "local-path-storage"})

# Collections that are empty in a new cluster.
EMPTY = (
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies",
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    "/apis/apps/v1/namespaces/default/deployments",
    "/apis/apps/v1/namespaces/default/statefulsets",
    "/apis/apps/v1/namespaces/default/daemonsets",
    "/apis/batch/v1/namespaces/default/jobs",
    "/apis/batch/v1/namespaces/default/cronjobs",
    "/api/v1/namespaces/default/pods",
    "/api/v1/namespaces/default/secrets",
    "/api/v1/persistentvolumes",
)


def strangers(namespaces: Sequence[str], held: Mapping[str, Sequence[str]]) -> list[str]:
    """What speaks against taking the cluster. ``held`` has the names in each collection of EMPTY."""
    found = [f"namespace {name}" for name in sorted(set(namespaces) - NAMESPACES)]
    for path, names in held.items():
        found += [f"{path.rpartition('/')[2]} {name}" for name in names]
    return found


def new_enough(minor: str) -> bool:
    """Whether the minor number of a version 1.x has MutatingAdmissionPolicy as v1."""
    digits = minor.rstrip("+")
    return digits.isdigit() and int(digits) >= 36
