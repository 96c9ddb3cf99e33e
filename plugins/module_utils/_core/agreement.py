# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether everything that says what an organization is entitled to says the same ("Claims", agreement)."""

from __future__ import annotations

from . import finding_ids as ids
from .amount import Unlimited
from .claims import OrganizationTerms
from .disagreement import HRQ, ORGANIZATION, RECORDS, disagreement, said
from .entitlement import ANNOTATION, CATALOGUE
from .finding import Finding
from .grants import GrantRange


def _listed(terms: OrganizationTerms) -> str:
    parts = [f"plan {terms.entitlement.plan}"] if terms.entitlement.plan else []
    parts += [f"{count} x {name}" for name, count in terms.entitlement.quantities.items() if count]
    return ", ".join(parts) or "nothing"


def _odd(product: int, hard: int, status: int | None, recorded: int | None, terms: OrganizationTerms) -> str:
    """The odd one out: a single dissenter, else the first that does not follow what it comes from."""
    others = {hard, status} | ({recorded} if recorded is not None else set())
    if len(others) == 1 and product not in others:
        units = sum(terms.entitlement.quantities.values()) + (terms.entitlement.plan or 0)
        return CATALOGUE if units in others or product - terms.entitlement.withdrawn in others else ANNOTATION
    if recorded is not None and product != recorded:
        return ANNOTATION
    return ORGANIZATION if hard == product and status != hard else HRQ


def _faults(terms: OrganizationTerms, product: int, hard: int) -> list[str]:
    """What quota and Organization status say that plan and add-ons do not."""
    entitlement, quota, status = terms.entitlement, terms.quota, terms.status
    faults = []
    right = {product, product - entitlement.withdrawn}
    if hard not in right and not (entitlement.suspended and hard < product):
        faults.append(f"hard quota is {hard}, plan and add-ons grant {product}")
    if quota.in_force is not None and quota.in_force != hard:
        faults.append(f"the quota's status.hard is {quota.in_force}, its spec.hard {hard}")
    if _nothing_to_report(terms):
        return faults
    if not status.present:
        faults.append("the Organization's status has no entry for the profile")
    elif status.hard != hard:
        faults.append(f"the Organization's status says {said(status.hard)}, hard quota is {hard}")
    return faults


def _between(terms: OrganizationTerms, grants: GrantRange, right: tuple[int, int]) -> bool:
    """Whether all that disagrees lies between before and after of the lock ticket's change."""
    if grants.faults or grants.surplus:
        return False
    quota, hard = terms.quota, terms.status.hard
    seen = (quota.hard, hard, quota.hard if quota.in_force is None else quota.in_force)
    low = 0 if terms.entitlement.suspended else right[0]
    return all(isinstance(value, int) and low <= value <= right[1] for value in seen)


def entitlement_findings(
    terms: OrganizationTerms, grants: GrantRange, profile_id: str
) -> tuple[Finding, ...]:
    """Records, annotation with catalogue, quota and Organization status, compared all at once.

    Args:
        terms: the organization, with readable entitlement and a numeric hard quota.
        grants: what its reservation add-ons may grant.
        profile_id: the pool's profile.
    """
    entitlement, status, hard = terms.entitlement, terms.status, terms.quota.hard
    ordinary, granted = entitlement.ordinary, entitlement.granted_total
    if ordinary is None or granted is None or hard is None or isinstance(hard, Unlimited):
        return ()
    product = ordinary + granted
    faults = [*grants.faults, *_faults(terms, product, hard)]
    if not faults:
        return ()
    right = (ordinary + grants.low, ordinary + grants.high)
    if terms.moving is not None and _between(terms, grants, right):
        return (_converging(terms, profile_id, terms.moving.ticket, faults=faults, right=right),)
    recorded = None if not (terms.reserved or granted) or grants.surplus else _nearest(product, *right)
    values = {
        ANNOTATION: _listed(terms),
        CATALOGUE: f"{ordinary} ordinary + {granted} by reservation add-ons",
        HRQ: str(hard),
        ORGANIZATION: said(status.hard) if status.present else "absent",
    }
    if terms.reserved:
        values[RECORDS] = f"{terms.reserved} reserved"
    odd = _odd(product, hard, status.hard, recorded, terms)
    return (
        disagreement(terms.organization, profile_id, "entitlement", faults=faults, values=values, odd=odd),
    )


def _nearest(value: int, low: int, high: int) -> int:
    return low if abs(value - low) <= abs(value - high) else high


def _nothing_to_report(terms: OrganizationTerms) -> bool:
    """No quota object, no project, nothing granted: there is nothing that a status could say."""
    return not terms.quota.measured and not terms.status.present and not terms.quota.hard


def _converging(
    terms: OrganizationTerms, profile_id: str, ticket: str, *, faults: list[str], right: tuple[int, int]
) -> Finding:
    low, high = right
    return Finding(
        id=ids.ENTITLEMENT_CONVERGING,
        severity="warning",
        object=f"organization/{terms.organization}",
        message=f"entitlement of organization {terms.organization} to {profile_id} is converging for ticket "
        f"{ticket}: {'; '.join(faults)}; before and after are {low} and {high}",
        expected=f"{low} or {high} devices, the same everywhere",
        observed="; ".join(faults),
        next_action=f"wait until quota and status have followed, as the run of {ticket} does",
    )
