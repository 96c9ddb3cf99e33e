# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether quota, the Organization and its Pods say the same of what is used ("Claims", agreement)."""

from __future__ import annotations

from .claims import OrganizationTerms
from .disagreement import HRQ, ORGANIZATION, PODS, disagreement, said
from .finding import Finding


def usage_findings(terms: OrganizationTerms, profile_id: str) -> tuple[Finding, ...]:
    """Use as quota, the Organization and its Pods show it, and within hard quota."""
    quota, status, recounted = terms.quota, terms.status, terms.recounted
    if recounted is None or quota.problems or status.problem:
        return ()  # what cannot be read has a finding of its own
    if not quota.measured and not status.present:
        return ()
    faults = []
    hard = quota.hard
    values = {PODS: said(recounted)}
    if quota.measured:
        values[HRQ] = "absent" if quota.used is None else str(quota.used)
    if status.present:
        values[ORGANIZATION] = said(status.used)
    seen = set(values.values())
    if len(seen) > 1:
        faults.append("used devices differ")
    if isinstance(hard, int):
        over = [f"{name} {value}" for name, value in values.items() if value.isdigit() and int(value) > hard]
        if over:
            faults.append(f"more is used than hard quota {hard} allows ({', '.join(over)})")
    if not faults:
        return ()
    lone = [name for name, value in values.items() if list(values.values()).count(value) == 1]
    odd = lone[0] if len(lone) == 1 else HRQ if quota.measured and len(seen) > 1 else ORGANIZATION
    if len(seen) == 1:
        odd = HRQ
        values["hard quota"] = said(hard if isinstance(hard, int) else None)
    return (disagreement(terms.organization, profile_id, "use", faults=faults, values=values, odd=odd),)
