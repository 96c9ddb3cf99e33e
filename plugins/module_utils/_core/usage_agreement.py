# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether quota, the Organization and its Pods say the same of what is used ("Claims", agreement)."""

from __future__ import annotations

import math
from collections import Counter

from . import finding_ids as ids
from .amount import Amount
from .claims import OrganizationTerms
from .disagreement import HRQ, ORGANIZATION, PODS, disagreement, said
from .finding import Finding


def _values(terms: OrganizationTerms) -> dict[str, str]:
    """What each source counts as used."""
    values = {PODS: said(terms.recounted)}
    if terms.quota.measured:
        values[HRQ] = "absent" if terms.quota.used is None else str(terms.quota.used)
    if terms.status.present:
        values[ORGANIZATION] = said(terms.status.used)
    return values


def _odd(values: dict[str, str]) -> str:
    """The one that differs from all others; else quota, which has to recount."""
    counts = Counter(values.values())
    lone = [name for name, value in values.items() if counts[value] == 1]
    if len(counts) == 1 or len(lone) != 1:
        return HRQ
    return lone[0]


def usage_findings(terms: OrganizationTerms, profile_id: str) -> tuple[Finding, ...]:
    """Use as quota, the Organization and its Pods show it, and within hard quota.

    Args:
        terms: the organization.
        profile_id: the pool's profile.
    """
    quota, status, hard = terms.quota, terms.status, terms.quota.hard
    if terms.recounted is None or quota.problems or status.problem:
        return ()  # what cannot be read has a finding of its own
    if not quota.measured and not status.present:
        return ()
    values = _values(terms)
    faults = ["used devices differ"] if len(set(values.values())) > 1 else []
    over = [
        f"{name} {value}" for name, value in values.items() if value.isdigit() and int(value) > _limit(hard)
    ]
    if not faults and not over:
        return ()
    odd = _odd(values)
    if over:
        faults.append(f"more is used than hard quota {hard} allows ({', '.join(over)})")
        values["hard quota"] = str(hard)
    finding = disagreement(terms.organization, profile_id, "use", faults=faults, values=values, odd=odd)
    if terms.moving is not None and not over:
        # A run is at work there, and its smoke VM comes and goes: counts follow within moments.
        settling = {"id": ids.ENTITLEMENT_CONVERGING, "severity": "warning"}
        finding = finding.model_copy(update=settling)
    return (finding,)


def _limit(hard: Amount | None) -> float:
    return hard if isinstance(hard, int) else math.inf
