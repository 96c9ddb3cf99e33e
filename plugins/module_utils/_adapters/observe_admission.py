# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads what of the admission policies is installed, and the workloads that they would judge."""

from __future__ import annotations

import json
from typing import Any, Final

from .._core.admission_installed import (
    DEFINITIONS,
    MUTATING,
    VALIDATING,
    Installation,
    PolicyBindingSpec,
    Workload,
    mutation_version,
)
from .._core.cluster_objects import Meta
from .._core.reservation_objects import PodTemplate
from .._core.strict_model import Field, ObservedModel
from .api_resource import CUSTOM_RESOURCE_DEFINITIONS, ApiResource
from .kube import KubeClient

_GROUP: Final = "admissionregistration.k8s.io"
_WORKLOADS: Final = (
    ("DaemonSet", ApiResource("apps", "v1", "daemonsets")),
    ("Deployment", ApiResource("apps", "v1", "deployments")),
    ("StatefulSet", ApiResource("apps", "v1", "statefulsets")),
)


class _Managed(ObservedModel):
    manager: str = ""
    subresource: str = ""


class _ManagedMeta(ObservedModel):
    managed_fields: tuple[_Managed, ...] = Field(default=(), alias="managedFields")


class _Definition(ObservedModel):
    metadata: _ManagedMeta = _ManagedMeta()


class _Named(ObservedModel):
    metadata: Meta


class _PolicyStatus(ObservedModel):
    observed_generation: int = Field(default=0, alias="observedGeneration")


class _Policy(ObservedModel):
    metadata: Meta
    status: _PolicyStatus = _PolicyStatus()

    @property
    def pending(self) -> bool:
        """Whether the controller's status is of an earlier generation."""
        return self.status.observed_generation != self.metadata.generation


class _Binding(ObservedModel):
    spec: PolicyBindingSpec = PolicyBindingSpec()


class _Template(ObservedModel):
    template: PodTemplate = PodTemplate()


class _Workload(ObservedModel):
    metadata: Meta
    spec: _Template = _Template()


def observe_installation(client: KubeClient) -> Installation:
    """Definitions, policies and their bindings.

    Raises:
        ObservationError: what reading raises.
    """
    versions = frozenset(version for version in ("v1", "v1beta1") if _serves_mutation(client, version))
    found, bindings = _policies(client, "validating", "v1", VALIDATING)
    pending = frozenset(one.metadata.name for one in found if one.pending)
    version = mutation_version(versions)
    if version:
        mutating, more = _policies(client, "mutating", version, MUTATING)
        found, bindings = found + mutating, bindings + more
    names = frozenset(one.metadata.name for one in found)
    return Installation(_managers(client), names, bindings, versions, pending)


def observe_workloads(client: KubeClient) -> tuple[Workload, ...]:
    """DaemonSets, Deployments and StatefulSets of all namespaces, with what their templates say."""
    return tuple(
        Workload(
            kind,
            one.metadata.namespace,
            one.metadata.name,
            one.spec.template.spec.tolerations,
            one.spec.template.spec.node_name,
        )
        for kind, resource in _WORKLOADS
        for one in client.list(resource.path(), _Workload)
    )


def observe_namespaces(client: KubeClient) -> tuple[str, ...]:
    """The names of all namespaces."""
    return tuple(one.metadata.name for one in client.list("/api/v1/namespaces", _Named))


def observe_reservation_names(client: KubeClient) -> tuple[str, ...]:
    """The names of all Reservations; empty where there is no such definition."""
    if not client.serves_group("scheduling.coreweave.cloud"):
        return ()
    path = "/apis/scheduling.coreweave.cloud/v1alpha1/reservations"
    return tuple(one.metadata.name for one in client.list(path, _Named))


def _managers(client: KubeClient) -> dict[str, frozenset[str]]:
    found = {}
    for name in DEFINITIONS:
        definition = client.get(CUSTOM_RESOURCE_DEFINITIONS.path(name=name), _Definition)
        if definition is not None:
            fields = definition.metadata.managed_fields
            found[name] = frozenset(one.manager for one in fields if not one.subresource)
    return found


def _serves_mutation(client: KubeClient, version: str) -> bool:
    groups: dict[str, Any] = json.loads(client.get_bytes("/apis"))
    served = {(group["name"], one["version"]) for group in groups["groups"] for one in group["versions"]}
    if (_GROUP, version) not in served:
        return False
    resources: dict[str, Any] = json.loads(client.get_bytes(f"/apis/{_GROUP}/{version}"))
    return any(one["name"] == "mutatingadmissionpolicies" for one in resources["resources"])


def _policies(
    client: KubeClient, kind: str, version: str, ours: tuple[str, ...]
) -> tuple[tuple[_Policy, ...], tuple[PolicyBindingSpec, ...]]:
    policies = client.list(ApiResource(_GROUP, version, f"{kind}admissionpolicies").path(), _Policy)
    bindings = client.list(ApiResource(_GROUP, version, f"{kind}admissionpolicybindings").path(), _Binding)
    found = tuple(one for one in policies if one.metadata.name in ours)
    return found, tuple(one.spec for one in bindings if one.spec.policy_name in ours)
