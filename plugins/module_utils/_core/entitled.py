# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a ticket's grant is in force everywhere ("4. Create the hold and entitlement", steps 2 and 4)."""

from __future__ import annotations

from collections.abc import Iterable

from . import finding_ids as ids
from .claims import OrganizationTerms, shown
from .finding import Finding


def entitled_findings(
    profile_id: str, ticket: str, organizations: Iterable[OrganizationTerms]
) -> tuple[Finding, ...]:
    """The ticket's record has to exist, and its add-on has to grant all that the organization's records hold.

    That quota and Organization status say the same is asked of every organization anyway.

    Args:
        profile_id: the pool's profile.
        ticket: the run that asks, in lower case.
        organizations: everybody's terms.
    """
    for terms in organizations:
        record = next((item for item in terms.records or () if item.ticket == ticket), None)
        if record is None:
            continue
        add_on = record.spec.addon_id
        wanted = sum(item.spec.devices for item in terms.records or () if item.spec.addon_id == add_on)
        have = terms.entitlement.granted.get(add_on, 0)
        if have == wanted:
            return ()
        return (
            _missing(
                f"organization/{terms.organization}",
                f"organization {terms.organization} is granted {shown(have)} devices of "
                f"{profile_id} by {add_on}; its records hold {wanted}",
                f"grant {wanted} devices by {add_on} to {terms.organization}, then prove again",
            ),
        )
    message = f"no live record of ticket {ticket or '(none)'} holds devices of {profile_id}"
    return (_missing(f"ticket/{ticket}", message, "record the reservation first"),)


def _missing(where: str, message: str, next_action: str) -> Finding:
    return Finding(
        id=ids.ENTITLEMENT_CONVERGING,
        severity="warning",
        object=where,
        message=message,
        expected="the add-on grants what the records hold",
        observed=message,
        next_action=next_action,
    )
