# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Everything that stops a proof about who is entitled to how much of a pool ("Claims")."""

from __future__ import annotations

from collections.abc import Iterable

from . import finding_ids as ids
from .addon_fit import add_on_problems
from .agreement import entitlement_findings
from .amount import Unlimited
from .catalogue import PLANS_OBJECT, Catalogue
from .claims import OrganizationTerms
from .disagreement import HRQ, ORGANIZATION
from .entitlement import CATALOGUE
from .finding import Finding
from .freshness import status_age, status_fresh
from .grants import grant_range, surplus_findings
from .policy import Pool
from .record import Record
from .usage_agreement import usage_findings
from .world import World


def _unreadable(organization: str, message: str, odd: str, next_action: str) -> Finding:
    return Finding(
        id=ids.STATUS_DISAGREEMENT,
        severity="error",
        object=f"organization/{organization}",
        message=f"organization {organization}: {message}",
        expected="a readable value",
        observed=message,
        odd=odd,
        next_action=next_action,
        unknown=True,
    )


def _problems(terms: OrganizationTerms) -> Iterable[Finding]:
    """What cannot be read."""
    name = terms.organization
    for problem in terms.entitlement.problems:
        action = (
            f"correct {PLANS_OBJECT}" if problem.odd == CATALOGUE else f"correct the annotations of {name}"
        )
        yield _unreadable(name, problem.message, problem.odd, action)
    for message in terms.quota.problems:
        yield _unreadable(name, message, HRQ, f"find out who wrote that quota of {name}, and correct it")
    if terms.status.problem:
        message = f"status.quotaUsage.accelerators.{terms.status.problem}"
        yield _unreadable(name, message, ORGANIZATION, f"wait for the status of {name} to be written again")
    for add_on in terms.entitlement.unknown_add_ons:
        yield Finding(
            id=ids.UNKNOWN_ADD_ON,
            severity="error",
            object=f"organization/{name}",
            message=f"organization {name} has {terms.entitlement.quantities[add_on]} of add-on {add_on}, "
            f"which {PLANS_OBJECT} does not have",
            expected="only add-ons of the catalogue",
            observed=add_on,
            next_action=f"put {add_on} back into the catalogue, or have it taken off {name} holder-safely",
        )


def _unlimited(terms: OrganizationTerms, profile_id: str) -> Iterable[Finding]:
    if not isinstance(terms.quota.hard, Unlimited):
        return
    name = terms.organization
    yield Finding(
        id=ids.HARD_QUOTA_ABOVE_EQUATION,
        severity="error",
        object=f"organization/{name}",
        message=f"organization {name} can take any number of devices of {profile_id}: "
        f"{terms.quota.unlimited_because}",
        expected="a hard quota",
        observed="unlimited",
        next_action=f"give {name} an HRQ with the key, through its plan in Admin > Organization > Billing",
    )


def _stale(terms: OrganizationTerms, world: World, limit: int) -> Iterable[Finding]:
    """The Organization's quota status has to be younger than the limit."""
    name = terms.organization
    usage = world.tenancy.organizations[name].status.quota_usage
    if usage is None and not terms.quota.measured and not terms.quota.hard:
        return
    server_time = world.snapshot.observed.server_time
    updated = usage.last_updated if usage else ""
    if status_fresh(updated, server_time, limit):
        return
    age = status_age(updated, server_time)
    seen = f"lastUpdated {updated or 'absent'}" + ("" if age is None else f", {age:.0f} s old")
    yield Finding(
        id=ids.STALE_CAPACITY,
        severity="error",
        object=f"organization/{name}",
        message=f"the quota status of organization {name} is stale: {seen}, limit {limit} s, "
        f"server time {server_time or 'unknown'}",
        expected=f"status.quotaUsage.lastUpdated within {limit} s",
        observed=seen,
        next_action="find out why the manager does not refresh Organization status (its log, its alerts)",
        transient=True,
    )


def _gone(records: Iterable[Record], world: World) -> Iterable[Finding]:
    """Live records whose organization is gone: they count in full."""
    for record in records:
        name = record.spec.organization
        if name in world.tenancy.organizations:
            continue
        yield Finding(
            id=ids.STATUS_DISAGREEMENT,
            severity="error",
            object=f"record/{record.id}",
            message=f"record {record.id} holds {record.spec.devices} devices for organization {name}, "
            "which does not exist; it counts in full",
            expected=f"organization {name}",
            observed="no such organization",
            odd=ORGANIZATION,
            next_action=f"release {record.id} by playbooks/release.yml, or bring the organization back",
        )


def _unfit_add_ons(
    records: Iterable[Record], profile_id: str, catalogue: Catalogue, pool: Pool
) -> Iterable[Finding]:
    """Add-ons that live records use and that no longer qualify, or that the policy does not name."""
    used = sorted({record.spec.addon_id for record in records})
    for name in used:
        problems = [] if catalogue.plans_problem else list(add_on_problems(name, profile_id, catalogue))
        messages = [problem.message for problem in problems]
        if name not in pool.reservation_addons:
            messages.append(f"add-on {name} is not among the pool's reservationAddons in policy.yaml")
        if not messages:
            continue
        yield Finding(
            id=ids.STATUS_DISAGREEMENT,
            severity="error",
            object=f"add-on/{name}",
            message=f"live records of {profile_id} use add-on {name}, which does not qualify: "
            f"{'; '.join(messages)}",
            expected="an operator-only add-on that grants devices of this profile alone",
            observed="; ".join(messages),
            odd=CATALOGUE,
            next_action=problems[0].next_action if problems else f"name {name} in policy.yaml by review",
        )


def _suspended(terms: OrganizationTerms) -> Iterable[Finding]:
    if terms.entitlement.suspended and terms.matters:
        name, standing = terms.organization, terms.entitlement.subscription
        yield Finding(
            id=ids.SUBSCRIPTION_SUSPENDED,
            severity="warning",
            object=f"organization/{name}",
            message=f"the subscription of organization {name} is {standing}: what it was sold counts, "
            "because it gets them back without asking",
            expected="a subscription in good standing",
            observed=standing,
            next_action="nothing for the pool; billing decides",
            stops=False,
        )


def _catalogue_unreadable(catalogue: Catalogue) -> Iterable[Finding]:
    if catalogue.plans_problem:
        yield Finding(
            id=ids.STATUS_DISAGREEMENT,
            severity="error",
            object=PLANS_OBJECT,
            message=f"{PLANS_OBJECT} cannot be read: {catalogue.plans_problem}; all grants are unknown",
            expected="key plans.yaml with plans and addons",
            observed=catalogue.plans_problem,
            odd=CATALOGUE,
            next_action=f"put {PLANS_OBJECT} right, then run again",
            unknown=True,
        )


def _ambiguous(world: World) -> Iterable[Finding]:
    for message in world.tenancy.ambiguous:
        yield _unreadable(
            "(ambiguous)", message, ORGANIZATION, "leave one Organization or Project that says so"
        )


def organization_findings(
    terms: OrganizationTerms, profile_id: str, world: World, limit: int
) -> tuple[Finding, ...]:
    """Every finding about one existing organization's claim.

    Args:
        terms: the organization.
        profile_id: the pool's profile.
        world: the observation.
        limit: how old its status may be, in seconds.
    """
    found = [
        *_problems(terms),
        *_unlimited(terms, profile_id),
        *_stale(terms, world, limit),
        *_suspended(terms),
    ]
    # What is on its way can only be told from drift while the lock can be read.
    grants = grant_range(terms) if world.ledger.lock is not None else None
    if grants is not None:
        found.extend(surplus_findings(terms, grants, profile_id))
        if not terms.status.problem:
            found.extend(entitlement_findings(terms, grants, profile_id))
    found.extend(usage_findings(terms, profile_id))
    return tuple(found)


def claim_findings(
    organizations: tuple[OrganizationTerms, ...],
    profile_id: str,
    pool: Pool,
    world: World,
    limit: int,
) -> tuple[Finding, ...]:
    """Every finding about the pool's claims, over all organizations.

    Args:
        organizations: all of them.
        profile_id: the pool's profile.
        pool: the policy's pool.
        world: the observation.
        limit: how old an Organization's status may be, in seconds.
    """
    records = [record for terms in organizations for record in terms.records or ()]
    found: list[Finding] = [*_catalogue_unreadable(world.catalogue), *_ambiguous(world)]
    for terms in organizations:
        if terms.present:
            found.extend(organization_findings(terms, profile_id, world, limit))
    found.extend(_gone(records, world))
    found.extend(_unfit_add_ons(records, profile_id, world.catalogue, pool))
    return tuple(found)
