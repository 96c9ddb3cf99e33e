# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_holders_info: name what uses devices of a pool, and what waits for one."""

from __future__ import annotations

from .._core.catalogue import read_catalogue
from .._core.claimants import Claimant, claimants_of
from .._core.errors import ObservationError
from .._core.holders import Holder, holder_findings, holders_of
from .._core.profile_fit import profile_fit
from .._core.tenancy import tenancy_of
from .observation import Observation, observe
from .outcome import Outcome
from .run import Invocation


def list_holders(invocation: Invocation) -> Outcome:
    """The module's work."""
    seen = observe(invocation)
    profile, organization = invocation.params["profile_id"], invocation.params["organization"]
    holders, claimants = holders_in(seen, profile)
    if organization:
        holders = tuple(holder for holder in holders if holder.organization == organization)
        claimants = tuple(claimant for claimant in claimants if claimant.organization == organization)
    return Outcome(
        changed=False,
        msg=f"{len(holders)} holders, {len(claimants)} claimants of {profile}",
        checks=tuple(finding.check() for finding in holder_findings(holders)),
        result={
            "holders": [holder.result() for holder in holders],
            "claimants": [claimant.result() for claimant in claimants],
        },
    )


def resource_of(seen: Observation, profile_id: str) -> str:
    """The device resource that a profile names.

    Raises:
        ObservationError: ``profile-unfit``: the catalogue does not say which.
    """
    observed = seen.snapshot.observed
    catalogue = read_catalogue(observed.billing_plans, observed.gpu_profiles)
    fit = profile_fit(profile_id, catalogue, observed.kubevirts)
    if not fit.resource:
        raise ObservationError(
            "profile-unfit",
            f"profile {profile_id} names no device resource: {'; '.join(fit.problems)}",
            next_action="name a profile of configmap/kube-dc/gpu-profiles, or correct it there",
        )
    return fit.resource


def holders_in(seen: Observation, profile_id: str) -> tuple[tuple[Holder, ...], tuple[Claimant, ...]]:
    """Holders and claimants of a profile's devices in one observation."""
    observed = seen.snapshot.observed
    resource = resource_of(seen, profile_id)
    tenancy = tenancy_of(observed.organizations, observed.projects)
    operator = frozenset(seen.ledger.policy.spec.operator_namespaces)
    return (
        holders_of(resource, observed.pods, observed.vmis, tenancy, operator),
        claimants_of(resource, observed.pods, observed.vms, observed.vmis, tenancy),
    )
