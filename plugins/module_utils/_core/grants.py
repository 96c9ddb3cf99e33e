# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether reservation add-ons grant an organization what the ledger's records say ("Claims", agreement)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from . import finding_ids as ids
from .claims import OrganizationTerms
from .disagreement import RECORDS
from .entitlement import ANNOTATION
from .finding import Finding


@dataclass(frozen=True)
class GrantRange:
    """What reservation add-ons may grant an organization now.

    Attributes:
        low: the least right value.
        high: the greatest; above low only for the organization of the lock's ticket.
        faults: what its add-ons grant against its records, each a sentence.
        surplus: add-ons that grant more than any record covers: id to (granted, recorded).
    """

    low: int
    high: int
    faults: tuple[str, ...]
    surplus: Mapping[str, tuple[int, int]]


def grant_range(terms: OrganizationTerms) -> GrantRange | None:
    """Compare reservation add-ons with records, add-on by add-on; None where one of them cannot be told.

    Right is the sum of the active and releasing records, and for the ticket that holds the lock with or
    without its pending or releasing record.
    """
    granted, records = terms.entitlement.granted, terms.records
    if records is None or any(value is None for value in granted.values()):
        return None
    moving = terms.moving
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
    return GrantRange(low, high, tuple(faults), surplus)


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
