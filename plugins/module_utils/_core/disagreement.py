# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A status disagreement: who says what, and who is the odd one out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from . import finding_ids as ids
from .entitlement import ANNOTATION, CATALOGUE
from .finding import Finding

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


def said(value: int | None) -> str:
    """A count for a message."""
    return "unreadable" if value is None else str(value)


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
    told = ", ".join(f"{name}: {value}" for name, value in values.items())
    return Finding(
        id=ids.STATUS_DISAGREEMENT,
        severity="error",
        object=f"organization/{organization}",
        message=f"{what} of organization {organization} disagrees for {profile_id}: {'; '.join(faults)} "
        f"({told}; odd one out: {odd})",
        expected="the same everywhere",
        observed=told,
        values=dict(values),
        odd=odd,
        next_action=_NEXT.get(odd, _NEXT[HRQ]),
        transient=what == "use",
    )
