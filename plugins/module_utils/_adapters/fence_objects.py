# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads the fences' admission policies and their bindings."""

from __future__ import annotations

from typing import Any

from .._core.errors import ObservationError
from .._core.fence_objects import FENCE_POLICIES, FencePolicy, FencesInstalled
from .._core.strict_model import Field, ObservedModel
from .api_resource import ADMISSION_BINDINGS, ADMISSION_POLICIES
from .kube import KubeClient


class _PolicySpec(ObservedModel):
    failure_policy: str = Field(default="Fail", alias="failurePolicy")


class _Policy(ObservedModel):
    spec: _PolicySpec = _PolicySpec()


class _Parameters(ObservedModel):
    name: str = ""
    namespace: str = ""
    without: str = Field(default="", alias="parameterNotFoundAction")


class _BindingSpec(ObservedModel):
    policy_name: str = Field(default="", alias="policyName")
    actions: tuple[str, ...] = Field(default=(), alias="validationActions")
    match_resources: dict[str, Any] | None = Field(default=None, alias="matchResources")
    parameters: _Parameters = Field(default=_Parameters(), alias="paramRef")


class _Binding(ObservedModel):
    spec: _BindingSpec = _BindingSpec()


def read_fences(client: KubeClient) -> FencesInstalled:
    """The policies that exist; none where the API server has no such policies at all.

    They are not readable where this identity lacks the permission.

    Raises:
        ObservationError: as :class:`KubeClient` says, a missing permission aside.
    """
    try:
        found = [_read(client, name) for name in FENCE_POLICIES]
    except ObservationError as error:
        if error.code == "permission-missing":
            return FencesInstalled()
        if error.code == "api-not-served" and not client.serves_group(ADMISSION_POLICIES.group):
            return FencesInstalled(readable=True)
        raise
    return FencesInstalled(readable=True, policies=tuple(policy for policy in found if policy is not None))


def _read(client: KubeClient, name: str) -> FencePolicy | None:
    policy = client.get(ADMISSION_POLICIES.path(name=name), _Policy)
    if policy is None:
        return None
    binding = client.get(ADMISSION_BINDINGS.path(name=name), _Binding)
    if binding is None:
        return FencePolicy(name=name, failure_policy=policy.spec.failure_policy)
    spec = binding.spec
    return FencePolicy(
        name=name,
        failure_policy=policy.spec.failure_policy,
        bound_to=spec.policy_name,
        actions=spec.actions,
        narrowed=any(value for key, value in (spec.match_resources or {}).items() if key != "matchPolicy"),
        parameters=f"{spec.parameters.namespace}/{spec.parameters.name}",
        without_parameters=spec.parameters.without,
    )
