# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""How many of a reservation add-on an organization has to have, and whether the platform shows it.

Runbook headings: 4. Create the hold and entitlement, steps 1 and 2; Release and cancellation, steps 4 and 5.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .amount import Amount
from .catalogue import Catalogue
from .claims import OrganizationTerms
from .errors import ObservationError, PolicyBlocked
from .record import Record

_COUNTED = ("active", "releasing")


@dataclass(frozen=True)
class AddonTarget:
    """What the add-on has to be.

    Attributes:
        organization: whose.
        addon_id: which.
        profile_id: the profile that it grants devices of.
        devices: what the organization's records add up to.
        quantity: the same in units of the add-on.
    """

    organization: str
    addon_id: str
    profile_id: str
    devices: int
    quantity: int


def target_of(
    record: Record, records: Iterable[Record], catalogue: Catalogue, *, without: bool = False
) -> AddonTarget:
    """The add-on's quantity that the organization's records add up to.

    Active and releasing records count, and the ticket's own one, whatever its state; other pending
    records are not entitled yet.

    Args:
        record: the ticket's record.
        records: all records of the cluster.
        catalogue: what one unit of the add-on grants.
        without: leave the ticket's own record out: it is being released or canceled.

    Raises:
        ObservationError: ``unknown-add-on``: the catalogue does not say what one unit grants.
        PolicyBlocked: ``add-on-indivisible``: the sum is no multiple of it.
    """
    spec = record.spec
    counted = [
        other.spec.devices
        for other in records
        if other.id != record.id
        and other.state in _COUNTED
        and (other.spec.organization, other.spec.addon_id) == (spec.organization, spec.addon_id)
    ]
    devices = sum(counted) + (0 if without else spec.devices)
    add_on = catalogue.add_ons.get(spec.addon_id)
    unit = add_on.grant.devices.get(spec.profile_id, 0) if add_on and not add_on.grant.problem else 0
    if unit < 1:
        raise ObservationError(
            "unknown-add-on",
            f"the catalogue does not say how many devices of {spec.profile_id} one {spec.addon_id} grants",
            next_action=f"restore addons.{spec.addon_id} in configmap/kube-dc/billing-plans, then run again",
        )
    if devices % unit:
        raise PolicyBlocked(
            "add-on-indivisible",
            f"the records of {spec.organization} hold {devices} devices by {spec.addon_id}, which grants "
            f"{unit} a unit",
            next_action="order a number of devices that the add-on divides",
        )
    return AddonTarget(spec.organization, spec.addon_id, spec.profile_id, devices, devices // unit)


def terms_for(organization: str, everybody: Iterable[OrganizationTerms]) -> OrganizationTerms:
    """One organization's terms.

    Raises:
        ObservationError: ``organization-missing``.
    """
    found = next((terms for terms in everybody if terms.organization == organization and terms.present), None)
    if found is None:
        raise ObservationError(
            "organization-missing",
            f"organization {organization} does not exist in the cluster",
            next_action="see what deleted it; entitlement is changed only where the Organization exists",
        )
    return found


def missing_convergence(target: AddonTarget, terms: OrganizationTerms) -> dict[str, str]:
    """What does not show the target yet: place to a sentence; empty when everything has converged."""
    missing = {}
    have = terms.entitlement.quantities.get(target.addon_id, 0)
    if have != target.quantity:
        missing["annotation"] = f"annotation says {have} x {target.addon_id}, expected {target.quantity}"
    ordinary, granted = terms.entitlement.ordinary, terms.entitlement.granted_total
    if ordinary is None or granted is None:
        missing["catalogue"] = "what plan and add-ons grant cannot be told"
        return missing
    expected, hard = ordinary + granted, terms.quota.hard
    if not _granted(hard, expected, terms):
        missing["hrq"] = f"quota says {hard}, expected {expected}"
        hard = expected
    elif terms.quota.in_force not in (None, hard):
        missing["hrq"] = f"quota in force is {terms.quota.in_force}, expected {hard}"
    if terms.status.hard != hard:
        missing["organization"] = f"Organization status says {terms.status.hard}, expected {hard}"
    return missing


def _granted(hard: Amount | None, expected: int, terms: OrganizationTerms) -> bool:
    """Whether hard quota is what plan and add-ons grant; a suspended subscription may get less of it."""
    if hard in (expected, expected - terms.entitlement.withdrawn):
        return True
    return terms.entitlement.suspended and isinstance(hard, int) and hard < expected


def why_not_below_use(target: AddonTarget, terms: OrganizationTerms) -> str:
    """Why a reduction to the target is refused: devices in use need what would be taken; empty where none do.

    Use is the most of what quota, Organization status and a recount of Pods say.
    """
    readings = (terms.quota.used if terms.quota.measured else 0, terms.status.used, terms.recounted)
    ordinary, granted = terms.entitlement.ordinary, terms.entitlement.granted_total
    if ordinary is None or granted is None or any(reading is None for reading in readings):
        return f"how many devices {target.organization} uses, or is granted, cannot be told"
    unit = target.devices // target.quantity if target.quantity else 0
    have = terms.entitlement.granted.get(target.addon_id) or 0
    after = ordinary + granted - have + target.quantity * unit
    used = max(reading for reading in readings if reading is not None)
    if used <= after:
        return ""
    return (
        f"{target.organization} uses {used} devices of {target.profile_id}, and {after} would stay entitled"
    )
