# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The downstream copies of the creation gates: HelmRelease kube-dc and Deployment kube-dc-backend."""

from __future__ import annotations

import json
from typing import Any, Final

from .._core.cluster_objects import Condition, GateCopies, JsonValues, Meta
from .._core.strict_model import Field, ObservedModel
from .api_resource import DEPLOYMENTS, HELM_RELEASES
from .kube import KubeClient

_NAMESPACE: Final = "kube-dc"
_BACKEND: Final = "kube-dc-backend"
_HELM_KEYS: Final = {
    "GPU_SHARED_CREATION_ENABLED": "sharedCreation",
    "GPU_VM_CREATION_ENABLED": "vmCreation",
}


class _HelmSpec(ObservedModel):
    values: JsonValues = Field(default={})


class _HelmRelease(ObservedModel):
    metadata: Meta
    spec: _HelmSpec = _HelmSpec()


class _Variable(ObservedModel):
    name: str
    value: str | None = None
    value_from: Any = Field(default=None, alias="valueFrom")


class _Container(ObservedModel):
    name: str
    env: tuple[_Variable, ...] | None = ()


class _PodSpec(ObservedModel):
    containers: tuple[_Container, ...]


class _Template(ObservedModel):
    spec: _PodSpec


class _DeploymentSpec(ObservedModel):
    replicas: int = 1
    template: _Template


class _DeploymentStatus(ObservedModel):
    observed_generation: int = Field(default=0, alias="observedGeneration")
    replicas: int = 0
    updated_replicas: int = Field(default=0, alias="updatedReplicas")
    available_replicas: int = Field(default=0, alias="availableReplicas")
    conditions: tuple[Condition, ...] = ()


class _Deployment(ObservedModel):
    metadata: Meta
    spec: _DeploymentSpec
    status: _DeploymentStatus = _DeploymentStatus()


def read_gate_copies(client: KubeClient) -> GateCopies:
    """The gates as HelmRelease and Deployment have them, and whether the Deployment is rolled out.

    A HelmRelease is absent where the cluster has no Helm controller at all, or no release of this name.

    Raises:
        ObservationError: as :class:`KubeClient` says; an object that cannot be read is not absent.
    """
    release = None
    if client.serves_group(HELM_RELEASES.group):
        release = client.get(HELM_RELEASES.path(_NAMESPACE, "kube-dc"), _HelmRelease)
    deployment = client.get(DEPLOYMENTS.path(_NAMESPACE, _BACKEND), _Deployment)
    return GateCopies(
        helmrelease=None if release is None else _of_values(release.spec.values),
        deployment=None if deployment is None else _of_containers(deployment.spec.template.spec.containers),
        deployment_rolled_out=None if deployment is None else _rolled_out(deployment),
        deployment_available=None if deployment is None else deployment.status.available_replicas > 0,
    )


def _of_values(values: JsonValues) -> dict[str, str]:
    gpu = values.get("gpu")
    found = {}
    for key, part in _HELM_KEYS.items():
        section = gpu.get(part) if isinstance(gpu, dict) else None
        if isinstance(section, dict) and "enabled" in section:
            value = section["enabled"]
            found[key] = value if isinstance(value, str) else json.dumps(value)
    return found


def _of_containers(containers: tuple[_Container, ...]) -> dict[str, str]:
    """The variables' values; what containers disagree on is shown with every value, so it is not "false".

    A variable that takes its value from another object has no value here.
    """
    found: dict[str, list[str]] = {}
    for container in containers:
        for variable in container.env or ():
            if variable.name in _HELM_KEYS and variable.value_from is None:
                found.setdefault(variable.name, []).append(variable.value or "")
    return {name: " | ".join(sorted(set(values))) for name, values in found.items()}


def _rolled_out(deployment: _Deployment) -> bool:
    """Whether every replica runs the present template, and none of an older one is left."""
    status = deployment.status
    wanted = deployment.spec.replicas
    return (
        status.observed_generation >= deployment.metadata.generation
        and status.updated_replicas == wanted
        and status.replicas == wanted
        and status.available_replicas == wanted
    )
