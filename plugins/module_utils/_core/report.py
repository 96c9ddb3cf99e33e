# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A proof as modules return it, and as lines that fit a screen."""

from __future__ import annotations

from typing import Any, Final

from .checks import bounded
from .claims import OrganizationTerms, shown
from .equation import Equation
from .healthy import ALLOCATABLE
from .proof import Proof

_MOST_ORGANIZATIONS: Final = 20
_MOST_NODES: Final = 20


def report_result(proof: Proof) -> dict[str, Any]:
    """The result keys of a proof, JSON-able; unknown terms say so, headroom never rests on one.

    Keys: equation, organizations, nodes, remedies, holders, checks, limits, summary; equation_after where
    there is an order or a change.
    """
    result: dict[str, Any] = {
        "equation": proof.equation.result(),
        "organizations": [terms.result() for terms in proof.organizations if terms.matters],
        "nodes": [node.result() for node in proof.nodes],
        "remedies": [remedy.result() for remedy in proof.remedies],
        "checks": [check.result() for check in proof.checks],
        "limits": dict(proof.limits),
        "in_service": proof.in_service,
        "summary": summary_lines(proof),
    }
    if proof.projected is not None:
        result["equation_after"] = proof.projected.result()
    return result


def _row(label: str, before: object, after: object | None) -> str:
    text = f"  {label:<44}{before!s:>10}"
    return text if after is None else f"{text}{after!s:>10}"


def _terms(equation: Equation) -> tuple[object, ...]:
    return tuple(
        shown(value)
        for value in (
            equation.healthy,
            equation.active,
            equation.pending,
            equation.releasing,
            equation.non_reserved,
            equation.spare,
            equation.headroom,
        )
    )


_LABELS: Final = (
    "healthy schedulable devices",
    ">= active reserved devices",
    " + pending reserved devices",
    " + releasing reserved devices",
    " + non-reserved organization hard quota",
    " + operator spare",
    "headroom",
)


def equation_lines(proof: Proof) -> list[str]:
    """The equation with every term, in the runbook's order; two columns where something is projected."""
    before = _terms(proof.equation)
    after = _terms(proof.projected) if proof.projected else (None,) * len(before)
    head = [] if proof.projected is None else [_row("", "before", "after")]
    return head + [_row(label, old, new) for label, old, new in zip(_LABELS, before, after, strict=True)]


def _organization_line(terms: OrganizationTerms) -> str:
    values = (
        shown(terms.quota.hard),
        shown(terms.entitlement.ordinary),
        shown(terms.entitlement.granted_total),
        shown(terms.reserved),
        shown(terms.claim),
        shown(terms.recounted),
    )
    return f"  {terms.organization:<24.24}" + "".join(f"{value!s:>10}" for value in values)


def organization_lines(proof: Proof) -> list[str]:
    """Organizations with anything of the pool, the biggest claims first."""
    rows = [terms for terms in proof.organizations if terms.matters]
    if not rows:
        return []
    rows.sort(
        key=lambda terms: (-(terms.claim if isinstance(terms.claim, int) else 1 << 30), terms.organization)
    )
    head = f"  {'organization':<24}" + "".join(
        f"{name:>10}" for name in ("hard", "ordinary", "granted", "reserved", "claim", "used")
    )
    more = len(rows) - _MOST_ORGANIZATIONS
    tail = [f"  and {more} more, see organizations"] if more > 0 else []
    return [head, *(_organization_line(terms) for terms in rows[:_MOST_ORGANIZATIONS]), *tail]


def node_lines(proof: Proof) -> list[str]:
    """One line for all nodes that count in full, and one for each that does not."""
    full = [node for node in proof.nodes if node.reason == ALLOCATABLE and not node.operator_held]
    rest = [node for node in proof.nodes if node not in full]
    lines = []
    if full:
        lines.append(f"  {len(full)} nodes count in full: {sum(node.counts or 0 for node in full)} devices")
    lines.extend(
        f"  {node.node}: {shown(node.counts)} of {node.declared} ({node.message})"
        for node in rest[:_MOST_NODES]
    )
    if len(rest) > _MOST_NODES:
        lines.append(f"  and {len(rest) - _MOST_NODES} more, see nodes")
    return lines


def finding_lines(proof: Proof) -> list[str]:
    """What stops, each with its next step, then the rest; of many of a kind, the first few."""
    stops = [
        f"  STOP  {finding.id}: {finding.message}\n        next: {finding.next_action}"
        for finding in proof.stops
    ]
    rest = [
        f"  {finding.severity}  {finding.id}: {finding.message}"
        for finding in proof.findings
        if not finding.stops
    ]
    shown = (*bounded(stops, prefix="  STOP  "), *bounded(rest, prefix="  "))
    return [line for entry in shown for line in entry.splitlines()]


def verdict(proof: Proof) -> str:
    """The answer in one sentence."""
    equation = proof.decisive
    if proof.allowed and not proof.in_service:
        return f"pool {proof.profile_id}: not in service, nothing is sold from it"
    if proof.allowed:
        return f"pool {proof.profile_id}: yes, headroom {equation.headroom}"
    if not equation.holds and equation.headroom is not None:
        return f"pool {proof.profile_id}: no, {-equation.headroom} devices are missing"
    return f"pool {proof.profile_id}: no, {len(proof.stops) or 1} findings stop it"


def summary_lines(proof: Proof) -> list[str]:
    """The whole proof for a person: verdict, equation, organizations, nodes, remedies, findings."""
    lines = [verdict(proof), *equation_lines(proof), *organization_lines(proof), *node_lines(proof)]
    lines.extend(f"  remedy: {remedy.message}" for remedy in proof.remedies)
    return lines + finding_lines(proof)
