# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The audit: every drift of every pool as a finding, nothing changed ("Audit and reconciliation")."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from . import finding_ids as ids
from .alert_check import Select
from .checks import Check
from .claims import usage_by_namespace
from .fence_audit import fence_findings
from .finding import Finding
from .gate_audit import gate_findings
from .invariant import prove_in
from .ledger import Ledger, LedgerReading
from .ledger_view import view_of
from .pool_findings import cluster_findings, ledger_findings
from .project_agreement import project_findings
from .proof import Proof
from .snapshot import Snapshot
from .time_audit import overdue_findings, smoke_findings, stale_lock_findings
from .world import World, world_of

_ORDER: Final = {"error": 0, "warning": 1, "note": 2}


@dataclass(frozen=True)
class AuditReport:
    """What an audit found.

    Attributes:
        cluster: the folder below clusters/.
        server_time: the API server's time of the observation.
        revision: the fleet branch's commit.
        findings: errors first, each once.
        proofs: the proof of every pool that was audited, by profile.
    """

    cluster: str
    server_time: str
    revision: str
    findings: tuple[Finding, ...]
    proofs: Mapping[str, Proof]

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that fail the audit."""
        return tuple(finding for finding in self.findings if finding.severity == "error")

    @property
    def passed(self) -> bool:
        """Whether there is no finding of severity error."""
        return not self.errors

    @property
    def worth_reading_again(self) -> bool:
        """Whether all errors are findings that seconds may clear, or follow from such."""
        follow = {ids.HARD_QUOTA_ABOVE_EQUATION}
        errors = self.errors
        return any(item.transient for item in errors) and all(
            item.transient or item.id in follow for item in errors
        )

    @property
    def failing_pools(self) -> tuple[str, ...]:
        """Pools with an error of their own, or all audited pools where an error concerns them all."""
        if any(not finding.profile for finding in self.errors):
            return tuple(sorted(self.proofs))
        return tuple(sorted({finding.profile for finding in self.errors}))

    @property
    def checks(self) -> tuple[Check, ...]:
        """Every finding as a check: errors fail or are unknown, the rest is not applicable."""
        return tuple(
            finding.model_copy(update={"stops": finding.severity == "error"}).check()
            for finding in self.findings
        ) or (Check(id="audit", status="pass", message=f"the audit of {self.cluster} found nothing"),)

    def result(self) -> dict[str, Any]:
        """The result keys of gpu_audit."""
        return {"findings": [finding.result() for finding in self.findings], "passed": self.passed}


def audited_pools(world: World) -> tuple[str, ...]:
    """Pools of the policy, and those that only a live record names."""
    ledger = world.ledger
    named = {record.spec.profile_id for record in (ledger.records or {}).values() if record.holds}
    return tuple(sorted({*(ledger.policy.pools if ledger.policy else ()), *named}))


def _of_pool(proof: Proof, world: World) -> Iterable[Finding]:
    yield from proof.findings
    if proof.resource and world.ledger.records is not None and world.ledger.lock is not None:
        used = usage_by_namespace(proof.resource, world)
        for finding in project_findings(proof.organizations, proof.profile_id, proof.resource, world, used):
            yield finding.of_pool(proof.profile_id)


def _of_time(world: World, pools: tuple[str, ...], smoked: Mapping[str, str]) -> Iterable[Finding]:
    ledger, now = world.ledger, world.now
    if ledger.policy is None or now is None:
        return
    if ledger.records is not None:
        own = [record for record in ledger.records.values() if record.spec.profile_id in pools]
        yield from overdue_findings(own, now)
        yield from smoke_findings(ledger.policy, ledger.records, now, smoked, pools)
    if ledger.lock is not None:
        yield from stale_lock_findings(ledger.lock, now, ledger.policy.spec.staleness.lock_hours, pools)


def _once(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Each fact once, errors first; one that several pools found belongs to none of them."""
    found: dict[tuple[str, str, str], Finding] = {}
    for finding in findings:
        key = (finding.id, finding.object, finding.message)
        before = found.get(key)
        if before is None:
            found[key] = finding
        elif before.profile != finding.profile:
            found[key] = before.of_pool("")
    return tuple(
        sorted(found.values(), key=lambda item: (_ORDER[item.severity], item.profile, item.id, item.object))
    )


def audit_in(
    world: World,
    *,
    select: Select,
    pools: Iterable[str] | None = None,
    smoked: Mapping[str, str] | None = None,
) -> AuditReport:
    """Audit an observation that is indexed already; see :func:`audit`."""
    names = audited_pools(world) if pools is None else tuple(sorted(set(pools)))
    proofs = {name: prove_in(world, name, select=select) for name in names}
    policy = world.ledger.policy
    found = [*ledger_findings(world.ledger), *cluster_findings(world)]
    for proof in proofs.values():
        found.extend(_of_pool(proof, world))
    found.extend(gate_findings(world, policy.spec.creation_control if policy else "gate"))
    found.extend(fence_findings(world, names))
    found.extend(_of_time(world, names, smoked or {}))
    return AuditReport(
        cluster=world.snapshot.cluster,
        server_time=world.snapshot.observed.server_time,
        revision=world.ledger.revision,
        findings=_once(found),
        proofs=proofs,
    )


def audit(
    snapshot: Snapshot,
    ledger: Ledger | LedgerReading,
    *,
    select: Select,
    pools: Iterable[str] | None = None,
    smoked: Mapping[str, str] | None = None,
) -> AuditReport:
    """Audit every pool, or some; reads nothing, changes nothing.

    Findings that would rest on a ledger that cannot be read are not made: they would be wrong by
    construction.

    Args:
        snapshot: everything that was read.
        ledger: the fleet's documents, a valid ledger or a reading with its problems.
        select: answers what a JMESPath expression chooses from a list.
        pools: profiles to audit; None for all of the policy's, and those that a live record names.
        smoked: time of the last good smoke run by pool, as evidence has it.
    """
    return audit_in(
        world_of(snapshot, view_of(ledger, snapshot.lock)), select=select, pools=pools, smoked=smoked
    )
