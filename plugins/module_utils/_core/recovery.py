# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the platform is back in service after a change ("4. Create the hold and entitlement", last)."""

from __future__ import annotations

from . import finding_ids as ids
from .finding import Finding
from .snapshot import ClusterObserved


def recovery_findings(observed: ClusterObserved) -> tuple[Finding, ...]:
    """The product's backend has to be rolled out and available, and KubeVirt deployed.

    A Deployment that does not exist is another platform's matter; one that cannot be told is not available.

    Args:
        observed: the cluster's objects.
    """
    found = []
    copies = observed.gate_copies
    if copies.deployment is not None and not (copies.deployment_rolled_out and copies.deployment_available):
        seen = f"rolled out {copies.deployment_rolled_out}, available {copies.deployment_available}"
        found.append(
            _unrecovered(
                ids.BACKEND_UNAVAILABLE,
                "deployment/kube-dc/kube-dc-backend",
                f"the product's backend is not in service: {seen}",
                seen,
                "wait for the roll-out of kube-dc-backend, or find out why it does not become available",
            )
        )
    for kubevirt in observed.kubevirts:
        if kubevirt.phase != "Deployed":
            seen = kubevirt.phase or "no phase"
            found.append(
                _unrecovered(
                    ids.KUBEVIRT_NOT_DEPLOYED,
                    f"kubevirt/{kubevirt.metadata.namespace}/{kubevirt.metadata.name}",
                    f"KubeVirt {kubevirt.metadata.name} is in phase {seen}",
                    seen,
                    "find out from the operator's log why KubeVirt is not deployed",
                )
            )
    return tuple(found)


def _unrecovered(finding_id: str, where: str, message: str, observed: str, next_action: str) -> Finding:
    return Finding(
        id=finding_id,
        severity="error",
        object=where,
        message=message,
        expected="in service",
        observed=observed,
        next_action=next_action,
        transient=True,
    )
