# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What of the admission policies is installed, whose the definitions are, and who would be refused.

Runbook: Reservations and ReservationBindings, Common failure modes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from .checks import Check
from .cluster_objects import Toleration
from .reservation_objects import TAINT_KEY
from .strict_model import Field, ObservedModel
from .taints import REPELLING

FIELD_MANAGER: Final = "gpuops.reservations"
DEFINITIONS: Final = (
    "reservations.scheduling.coreweave.cloud",
    "reservationbindings.scheduling.coreweave.cloud",
)
MUTATING: Final = ("gpuops-reservation-injection", "gpuops-reservation-reapply")
VALIDATING: Final = (
    "gpuops-reservation-tolerations",
    "gpuops-reservation-node-names",
    "gpuops-reservation-pod-bindings",
    "gpuops-reservation-tenant-label",
    "gpuops-reservation-platform-namespaces",
    "gpuops-reservation-bindings",
    "gpuops-reservation-injected",
)
INSTALL: Final = "run playbooks/install.yml with an administrator's identity"


class PolicyBindingSpec(ObservedModel):
    """How a policy is bound; matchResources narrow it, which ours never do."""

    policy_name: str = Field(default="", alias="policyName")
    validation_actions: tuple[str, ...] = Field(default=(), alias="validationActions")
    match_resources: dict[str, object] | None = Field(default=None, alias="matchResources")


@dataclass(frozen=True)
class Workload:
    """What a controller makes Pods from.

    Attributes:
        kind: DaemonSet, Deployment, StatefulSet and so on.
        namespace: where.
        name: its name.
        tolerations: of its template.
        node_name: that its template names; empty where it names none.
    """

    kind: str
    namespace: str
    name: str
    tolerations: tuple[Toleration, ...]
    node_name: str = ""


@dataclass(frozen=True)
class Installation:
    """What was read of an installation.

    Attributes:
        managers: field managers of each definition of ours that exists, by its name.
        policies: names of the admission policies of ours that exist, of both kinds.
        bindings: every binding of an admission policy, of both kinds.
        mutation_versions: versions in which the API server has MutatingAdmissionPolicy.
        pending: validating policies of ours whose status is of an earlier generation than they are.
    """

    managers: Mapping[str, frozenset[str]]
    policies: frozenset[str]
    bindings: tuple[PolicyBindingSpec, ...]
    mutation_versions: frozenset[str]
    pending: frozenset[str] = frozenset()


def mutation_version(served: Iterable[str]) -> str:
    """The version to install MutatingAdmissionPolicy in; empty where the API server has none."""
    return next((version for version in ("v1", "v1beta1") if version in set(served)), "")


def definition_checks(installation: Installation) -> tuple[Check, ...]:
    """Whether each definition is absent or ours: over a vendor's own nothing is installed, nor removed."""
    return tuple(_definition_check(name, installation.managers.get(name)) for name in DEFINITIONS)


def _definition_check(name: str, managers: frozenset[str] | None) -> Check:
    subject = f"customresourcedefinition/{name}"
    if managers is None:
        return Check(
            id="definition-owner", status="not_applicable", message=f"{name} does not exist", object=subject
        )
    if FIELD_MANAGER in managers:
        return Check(id="definition-owner", status="pass", message=f"{name} is ours", object=subject)
    return Check(
        id="definition-owner",
        status="fail",
        message=f"{name} is there and not ours: it is managed by {', '.join(sorted(managers)) or 'nobody'}",
        next_action="a vendor's own Reservations are served here: use those, or remove them first; this role "
        "touches neither",
        object=subject,
    )


def mutation_check(installation: Installation) -> Check:
    """Whether Pods can be injected at all: the API server has to serve MutatingAdmissionPolicy."""
    version = mutation_version(installation.mutation_versions)
    if version:
        return Check(
            id="mutation-served", status="pass", message=f"MutatingAdmissionPolicy is served in {version}"
        )
    return Check(
        id="mutation-served",
        status="fail",
        message="the API server has no MutatingAdmissionPolicy in v1 or v1beta1",
        next_action="use Kubernetes 1.36, or enable it in 1.34 and 1.35: feature gate "
        "MutatingAdmissionPolicy and --runtime-config=admissionregistration.k8s.io/v1beta1=true",
    )


def observed_check(installation: Installation) -> Check:
    """Whether the cluster's controller has checked each policy as it is now; it says so in its status."""
    if not installation.pending:
        return Check(id="policy-observed", status="pass", message="every policy has been looked at")
    return Check(
        id="policy-observed",
        status="unknown",
        message=f"not looked at yet by the controller manager: {', '.join(sorted(installation.pending))}",
        next_action="wait a moment; see whether the controller manager runs",
    )


def policy_checks(installation: Installation) -> tuple[Check, ...]:
    """Whether each policy is there, and bound without being narrowed or softened."""
    return tuple(
        _policy_check(installation, name, denies=name in VALIDATING) for name in (*MUTATING, *VALIDATING)
    )


def _policy_check(installation: Installation, name: str, *, denies: bool) -> Check:
    subject = f"{'validating' if denies else 'mutating'}admissionpolicy/{name}"
    bound = [one for one in installation.bindings if one.policy_name == name]
    whole = [
        one
        for one in bound
        if one.match_resources is None and ("Deny" in one.validation_actions or not denies)
    ]
    if name not in installation.policies:
        message = f"the admission policy {name} is missing"
    elif not bound:
        message = f"the admission policy {name} is not bound, so it does nothing"
    elif not whole:
        message = f"the binding of admission policy {name} narrows it, or does not deny"
    else:
        return Check(id="policy-bound", status="pass", message=f"{name} is bound", object=subject)
    return Check(id="policy-bound", status="fail", message=message, next_action=INSTALL, object=subject)


def namespace_checks(platform: Iterable[str], existing: Iterable[str]) -> tuple[Check, ...]:
    """Whether each of the platform's namespaces exists: who creates one later would be left out of all."""
    there = set(existing)
    return tuple(
        Check(
            id="platform-namespace",
            status="fail",
            message=f"platform_namespaces names {name}, which does not exist: whoever creates it is left out "
            "of every policy",
            next_action=f"take {name} out of platform_namespaces, or create it first",
            object=f"namespace/{name}",
        )
        for name in platform
        if name not in there
    )


def refused_workloads(workloads: Iterable[Workload], platform: Iterable[str]) -> tuple[str, ...]:
    """Workloads outside the platform's namespaces whose next Pods would be refused, with the reason."""
    left_out = set(platform)
    found = []
    for one in workloads:
        reasons = _refusals(one)
        if one.namespace not in left_out and reasons:
            found.append(f"{one.kind} {one.namespace}/{one.name} ({'; '.join(reasons)})")
    return tuple(sorted(found))


def _refusals(workload: Workload) -> list[str]:
    reasons = [f"names node {workload.node_name}"] if workload.node_name else []
    for one in workload.tolerations:
        if one.effect and one.effect not in REPELLING:
            continue
        if not one.key:
            reasons.append("tolerates every taint")
        elif one.key == TAINT_KEY and one.operator == "Exists":
            reasons.append(f"tolerates every taint with the key {TAINT_KEY}")
    return reasons


def workload_check(refused: tuple[str, ...], *, accepted: bool, installed: bool) -> Check:
    """Whether the operator knows who would be refused; once installed it is too late to ask."""
    if not refused:
        return Check(id="refused-workloads", status="pass", message="no workload would be refused")
    stops = not accepted and not installed
    return Check(
        id="refused-workloads",
        status="fail" if stops else "not_applicable",
        message=f"Pods of these workloads are refused at their next restart: {', '.join(refused)}",
        next_action="name their namespaces in platform_namespaces, narrow their tolerations, or accept it: "
        "platform_accept_refused_workloads=true",
    )
