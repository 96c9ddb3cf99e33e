# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether everything that says what an organization is entitled to says the same ("Claims", agreement)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from . import finding_ids as ids
from .amount import Unlimited
from .claims import OrganizationTerms
from .entitlement import ANNOTATION, CATALOGUE
from .finding import Finding
from .record import Record

HRQ: Final = "HRQ"
ORGANIZATION: Final = "Organization"
RECORDS: Final = "records"
PODS: Final = "Pods"

_NEXT: Final[Mapping[str, str]] = {
    ANNOTATION: "correct the add-ons in Admin > Organization > Billing until they equal the records",
    CATALOGUE: "correct configmap/kube-dc/billing-plans, then wait until HRQ and Organization followed",
    HRQ: "find out why the quota does not follow the annotation (quota alerts, the manager's log); "
    "do not edit it by hand",
    ORGANIZATION: "wait for the Organization's status to follow; where it does not, look at the manager",
    RECORDS: "correct the ledger by a reviewed change, or have the add-on taken back holder-safely",
    PODS: "wait for quota to recount; where it does not, look at the quota controller",
}


@dataclass(frozen=True)
class GrantRange:
    """What reservation add-ons may grant an organization now.

    Attributes:
        low: the least right value.
        high: the greatest; above low only for the organization of the lock's ticket.
        faults: what its add-ons grant against its records, each a sentence.
        surplus: add-ons that grant more than any record covers: id to (granted, recorded).
        moving: the record of the lock's ticket, with or without which the grant is right.
    """

    low: int
    high: int
    faults: tuple[str, ...]
    surplus: Mapping[str, tuple[int, int]]
    moving: Record | None


def moving_record(records: tuple[Record, ...], lock_ticket: str) -> Record | None:
    """The pending or releasing record of the ticket that the pool's lock names, if it is one of these."""
    return next(
        (item for item in records if item.ticket == lock_ticket and item.state in ("pending", "releasing")),
        None,
    )


def grant_range(terms: OrganizationTerms, lock_ticket: str) -> GrantRange | None:
    """Compare reservation add-ons with records, add-on by add-on; None where one of them cannot be told.

    Right is the sum of the active and releasing records, and for the ticket that holds the lock with or
    without its pending or releasing record.
    """
    granted, records = terms.entitlement.granted, terms.records
    if records is None or any(value is None for value in granted.values()):
        return None
    moving = moving_record(records, lock_ticket)
    low = high = 0
    faults: list[str] = []
    surplus: dict[str, tuple[int, int]] = {}
    for name in sorted({*granted, *(record.spec.addon_id for record in records)}):
        own = [record for record in records if record.spec.addon_id == name]
        settled = sum(record.spec.devices for record in own if record.state != "pending")
        right = [settled]
        if moving is not None and moving.spec.addon_id == name:
            right.append(settled + moving.spec.devices * (1 if moving.state == "pending" else -1))
        low, high = low + min(right), high + max(right)
        have, recorded = granted.get(name) or 0, sum(record.spec.devices for record in own)
        if have in right:
            continue
        if have > recorded:
            surplus[name] = (have, recorded)
        else:
            wanted = " or ".join(str(value) for value in sorted(right))
            faults.append(f"{name} grants {have} devices, right is {wanted}")
    return GrantRange(low, high, tuple(faults), surplus, moving)


def surplus_findings(terms: OrganizationTerms, grants: GrantRange, profile_id: str) -> tuple[Finding, ...]:
    """Reservation add-ons that grant more than the records: a ledger record is missing."""
    return tuple(
        Finding(
            id=ids.MISSING_LEDGER_RECORD,
            severity="error",
            object=f"organization/{terms.organization}",
            message=f"organization {terms.organization} is granted {have} devices of {profile_id} by {name}; "
            f"the ledger's records cover {recorded}",
            expected=f"{recorded} devices by {name}",
            observed=f"{have} devices by {name}",
            values={ANNOTATION: str(have), RECORDS: str(recorded)},
            odd=ANNOTATION,
            next_action=f"record the reservation by a reviewed change, or have {name} reduced to {recorded} "
            "devices holder-safely; sell nothing from the pool until then",
        )
        for name, (have, recorded) in grants.surplus.items()
    )


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


def entitlement_findings(
    terms: OrganizationTerms, grants: GrantRange, profile_id: str, lock_ticket: str
) -> tuple[Finding, ...]:
    """Records, annotation with catalogue, quota and Organization status, compared all at once.

    Args:
        terms: the organization, with readable entitlement and a numeric hard quota.
        grants: what its reservation add-ons may grant.
        profile_id: the pool's profile.
        lock_ticket: who holds the pool's lock.
    """
    entitlement, quota, status = terms.entitlement, terms.quota, terms.status
    ordinary, granted, hard = entitlement.ordinary, entitlement.granted_total, quota.hard
    if ordinary is None or granted is None or hard is None or isinstance(hard, Unlimited):
        return ()
    product = ordinary + granted
    right = {product, product - entitlement.withdrawn}
    follows = hard in right or (entitlement.suspended and hard < product)
    faults = list(grants.faults)
    if not follows:
        faults.append(f"hard quota is {hard}, plan and add-ons grant {product}")
    if quota.in_force is not None and quota.in_force != hard:
        faults.append(f"the quota's status.hard is {quota.in_force}, its spec.hard {hard}")
    if not _nothing_to_report(terms):
        if not status.present:
            faults.append("the Organization's status has no entry for the profile")
        elif status.hard != hard:
            faults.append(f"the Organization's status says {_text(status.hard)}, hard quota is {hard}")
    if not faults:
        return ()
    low, high = ordinary + grants.low, ordinary + grants.high
    between = [hard, status.hard, hard if quota.in_force is None else quota.in_force]
    if grants.moving is not None and not grants.faults and not grants.surplus:
        floor = 0 if entitlement.suspended else low
        if all(value is not None and floor <= value <= high for value in between):
            return (_converging(terms, profile_id, lock_ticket, faults=faults, right=(low, high)),)
    recorded = None if not (terms.reserved or granted) or grants.surplus else _nearest(product, low, high)
    values = {
        ANNOTATION: _listed(terms),
        CATALOGUE: f"{ordinary} ordinary + {granted} by reservation add-ons",
        HRQ: str(hard),
        ORGANIZATION: _text(status.hard) if status.present else "absent",
    }
    if terms.reserved:
        values[RECORDS] = f"{terms.reserved} reserved"
    odd = _odd(product, hard, status.hard, recorded, terms)
    return (
        disagreement(terms.organization, profile_id, "entitlement", faults=faults, values=values, odd=odd),
    )


def _nearest(value: int, low: int, high: int) -> int:
    return low if abs(value - low) <= abs(value - high) else high


def _text(value: int | None) -> str:
    return "unreadable" if value is None else str(value)


def _nothing_to_report(terms: OrganizationTerms) -> bool:
    """No quota object, no project, nothing granted: there is nothing that a status could say."""
    return not terms.quota.measured and not terms.status.present and not terms.quota.hard


def _converging(
    terms: OrganizationTerms, profile_id: str, lock_ticket: str, *, faults: list[str], right: tuple[int, int]
) -> Finding:
    low, high = right
    return Finding(
        id=ids.ENTITLEMENT_CONVERGING,
        severity="warning",
        object=f"organization/{terms.organization}",
        message=f"entitlement of organization {terms.organization} to {profile_id} is converging for ticket "
        f"{lock_ticket}: {'; '.join(faults)}; before and after are {low} and {high}",
        expected=f"{low} or {high} devices, the same everywhere",
        observed="; ".join(faults),
        next_action=f"wait until quota and status have followed, as the run of {lock_ticket} does",
    )


def disagreement(
    organization: str,
    profile_id: str,
    what: str,
    *,
    faults: list[str],
    values: Mapping[str, str],
    odd: str,
) -> Finding:
    """A status disagreement with the values of all and the odd one out named.

    Args:
        organization: whose.
        profile_id: the pool's profile.
        what: entitlement or use.
        faults: what disagrees, each a sentence.
        values: what each source says.
        odd: the odd one out.
    """
    said = ", ".join(f"{name}: {value}" for name, value in values.items())
    return Finding(
        id=ids.STATUS_DISAGREEMENT,
        severity="error",
        object=f"organization/{organization}",
        message=f"{what} of organization {organization} disagrees for {profile_id}: {'; '.join(faults)} "
        f"({said}; odd one out: {odd})",
        expected="the same everywhere",
        observed=said,
        values=dict(values),
        odd=odd,
        next_action=_NEXT.get(odd, _NEXT[HRQ]),
        transient=what == "use",
    )


def usage_findings(terms: OrganizationTerms, profile_id: str) -> tuple[Finding, ...]:
    """Use as quota, the Organization and its Pods show it, and within hard quota."""
    quota, status, recounted = terms.quota, terms.status, terms.recounted
    if not quota.measured and not status.present:
        return ()
    faults = []
    hard = quota.hard
    values = {PODS: _text(recounted)}
    if quota.measured:
        values[HRQ] = "absent" if quota.used is None else str(quota.used)
    if status.present:
        values[ORGANIZATION] = _text(status.used)
    seen = set(values.values())
    if len(seen) > 1:
        faults.append("used devices differ")
    if isinstance(hard, int):
        over = [f"{name} {value}" for name, value in values.items() if value.isdigit() and int(value) > hard]
        if over:
            faults.append(f"more is used than hard quota {hard} allows ({', '.join(over)})")
    if not faults or recounted is None or status.problem:
        return ()
    lone = [name for name, value in values.items() if list(values.values()).count(value) == 1]
    odd = lone[0] if len(lone) == 1 else HRQ if quota.measured and len(seen) > 1 else ORGANIZATION
    if len(seen) == 1:
        odd = HRQ
        values["hard quota"] = _text(hard if isinstance(hard, int) else None)
    return (disagreement(terms.organization, profile_id, "use", faults=faults, values=values, odd=odd),)
