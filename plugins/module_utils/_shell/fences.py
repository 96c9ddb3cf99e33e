# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keeps the fences' ConfigMap in step with locks and freezes."""

from __future__ import annotations

from collections.abc import Mapping

from .._adapters.api_resource import CONFIGMAPS
from .._core.catalogue import read_catalogue
from .._core.errors import ConflictError, PolicyBlocked
from .._core.fence import is_fenced, parameter_patch, wanted_parameters
from .._core.profile_fit import profile_fit
from .observation import Observation, observe_parts
from .sources import Reach

PARTS = ("capacity_fence", "billing_plans", "gpu_profiles", "kubevirts")
FENCE = CONFIGMAPS.path("gpuops-system", "capacity-fence")
ATTEMPTS = 8


def keep_fences(
    reach: Reach, smoke: Mapping[str, str] | None = None, *, frozen: frozenset[str] = frozenset()
) -> dict[str, str | None]:
    """Bring the fences to what locks and freezes ask for; nothing to do where the policy uses none.

    Args:
        reach: fleet and API server.
        smoke: the namespace in which a ticket's smoke VM may start, by ticket.
        frozen: pools that are about to be frozen.

    Returns:
        What was changed: key to new value, None for a key that was taken away.

    Raises:
        PolicyBlocked: ``fence-missing``: the policy uses fences, and they are not installed.
        ConflictError: ``object-changed`` after bounded attempts.
    """
    for attempt in range(ATTEMPTS):
        seen = observe_parts(reach, PARTS)
        if seen.ledger.policy.spec.creation_control == "gate":
            return {}
        config = seen.snapshot.observed.capacity_fence
        if config is None:
            raise fence_missing()
        resources = _resources(seen)
        wanted = wanted_parameters(seen.ledger, seen.lock, resources, config.data, smoke or {}, frozen=frozen)
        patch = parameter_patch(config.data, wanted)
        if not patch:
            return {}
        try:
            reach.client.patch(FENCE, {"data": patch}, resource_version=config.metadata.resource_version)
        except ConflictError:
            if attempt == ATTEMPTS - 1:
                raise
            continue
        return patch
    raise AssertionError("unreachable: the last attempt returns or raises")


def _resources(seen: Observation) -> dict[str, str]:
    observed = seen.snapshot.observed
    catalogue = read_catalogue(observed.billing_plans, observed.gpu_profiles)
    found = {
        profile: profile_fit(profile, catalogue, observed.kubevirts).resource
        for profile in seen.ledger.policy.pools
    }
    return {profile: resource for profile, resource in found.items() if resource}


def fence_missing() -> PolicyBlocked:
    """The error for a policy that uses fences which are not installed."""
    return PolicyBlocked(
        "fence-missing",
        "creationControl uses fences, and configmap/gpuops-system/capacity-fence does not exist",
        next_action="run playbooks/install.yml as an administrator, or set creationControl: gate by a "
        "reviewed change",
    )


def require_fenced(seen: Observation, profile_id: str) -> None:
    """Both fences of a pool are up.

    Raises:
        PolicyBlocked: ``fence-missing``, or ``fence-down``.
    """
    config = seen.snapshot.observed.capacity_fence
    if config is None:
        raise fence_missing()
    if not is_fenced(config.data, profile_id):
        raise PolicyBlocked(
            "fence-down",
            f"pool {profile_id} is not fenced in configmap/gpuops-system/capacity-fence",
            next_action="run the playbook from its beginning, which takes the lock and raises the fences",
        )
