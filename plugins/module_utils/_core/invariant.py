# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Prove the capacity invariant of one pool ("3. Prove the invariant before mutation")."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from .alert_check import Select, alert_findings
from .claim_findings import claim_findings
from .claims import OrganizationTerms, claims_of
from .entitled import entitled_findings
from .equation import Equation, equation_of
from .finding import Finding
from .healthy import Healthy, healthy_devices
from .holders import Holder, holder_findings, holders_of, operator_devices
from .ledger import Ledger, LedgerReading
from .ledger_view import LedgerView, view_of
from .order import Order
from .policy import Pool
from .pool_findings import (
    ORDER,
    cluster_findings,
    equation_findings,
    fit_findings,
    frozen_findings,
    ledger_findings,
    not_approved,
)
from .profile_fit import ProfileFit, profile_fit
from .proof import Proof
from .qualify import order_findings
from .recovery import recovery_findings
from .remedies import remedies_of
from .sequential import sequential_findings
from .snapshot import Snapshot
from .world import World, world_of

Purpose = Literal["show", "audit", "assign", "entitled", "let_go"]


@dataclass(frozen=True)
class _Terms:
    """What the equation is made of, before it is judged."""

    fit: ProfileFit
    healthy: Healthy
    holders: tuple[Holder, ...]
    organizations: tuple[OrganizationTerms, ...]


@dataclass(frozen=True)
class _Question:
    """What is asked about the pool."""

    order: Order | None
    ticket: str
    purpose: Purpose
    without_nodes: frozenset[str]

    @property
    def projects(self) -> bool:
        return self.order is not None or bool(self.without_nodes)


def _terms(profile_id: str, pool: Pool, world: World) -> _Terms:
    fit = profile_fit(profile_id, world.catalogue, world.snapshot.observed.kubevirts)
    policy = world.ledger.policy
    holders: tuple[Holder, ...] = ()
    healthy = Healthy((), (), known=False)
    if fit.resource and policy is not None:
        operator = frozenset(policy.spec.operator_namespaces)
        holders = holders_of(fit.resource, world.pods, world.snapshot.observed.vmis, world.tenancy, operator)
        healthy = healthy_devices(pool, fit.resource, world, policy, operator_devices(holders))
    return _Terms(fit, healthy, holders, claims_of(profile_id, fit.resource, pool, world, world.ledger))


def _projected(equation: Equation, question: _Question, terms: _Terms, ledger: LedgerView) -> Equation | None:
    """The equation with the order, and without the nodes that are to be left out."""
    if not question.projects:
        return None
    projected = equation
    if question.order is not None:
        record = (ledger.records or {}).get(f"gpu-res-{question.order.ticket}")
        if record is None or not record.holds:
            projected = projected.with_pending(question.order.spec.devices)
    left_out = [row.counts for row in terms.healthy.nodes if row.node in question.without_nodes]
    if projected.healthy is not None:
        projected = replace(projected, healthy=projected.healthy - sum(count or 0 for count in left_out))
    return projected


def _judged(
    profile_id: str, pool: Pool, world: World, *, question: _Question, terms: _Terms, select: Select
) -> tuple[Finding, ...]:
    """Everything that was found, in the runbook's order: state, health, modes, alerts, attribution."""
    ledger, policy = world.ledger, world.ledger.policy
    if policy is None:
        return ()
    ordered = question.order is not None
    limit = policy.spec.staleness.quota_status_seconds
    records = ledger.of_pool(profile_id)
    found = [*fit_findings(profile_id, terms.fit, ledger)]
    if question.order is not None:
        found.extend(order_findings(question.order, profile_id, pool, world))
    if question.purpose == "assign":
        found.extend(frozen_findings(profile_id, ledger))
    found.extend(terms.healthy.findings)
    found.extend(sequential_findings(profile_id, pool, terms.healthy.nodes, records, world, ordered=ordered))
    found.extend(alert_findings(world.snapshot.alerts, select, policy.spec.alerts.select))
    found.extend(holder_findings(terms.holders))
    found.extend(claim_findings(terms.organizations, profile_id, pool, world, limit))
    if question.purpose == "entitled":
        found.extend(entitled_findings(profile_id, question.ticket, terms.organizations))
    if question.purpose == "let_go":
        found.extend(recovery_findings(world.snapshot.observed))
    return tuple(found)


def _proof(
    world: World,
    profile_id: str,
    equation: Equation,
    projected: Equation | None,
    *,
    terms: _Terms,
    findings: tuple[Finding, ...],
) -> Proof:
    policy = world.ledger.policy
    idle = equation.reserved == 0 and equation.non_reserved == 0
    return Proof(
        cluster=world.snapshot.cluster,
        profile_id=profile_id,
        resource=terms.fit.resource,
        equation=equation,
        projected=projected,
        organizations=terms.organizations,
        nodes=terms.healthy.nodes,
        holders=terms.holders,
        findings=tuple(finding.of_pool(profile_id) for finding in findings),
        remedies=remedies_of(projected or equation, terms.organizations, profile_id),
        in_service=not idle or projected is not None,
        lock_ticket=world.ledger.lock_ticket(profile_id),
        limits=policy.spec.staleness.model_dump(by_alias=True) if policy else {},
        revision=world.ledger.revision,
        server_time=world.snapshot.observed.server_time,
    )


def _unproved(world: World, profile_id: str, findings: tuple[Finding, ...]) -> Proof:
    """No pool to prove: what its records hold is all that can be told."""
    held = equation_of(None, (), world.ledger.of_pool(profile_id), 0, ordered=True)
    equation = replace(held, non_reserved=None, spare=None)
    terms = _Terms(ProfileFit("", ()), Healthy((), (), known=False), (), ())
    return _proof(world, profile_id, equation, None, terms=terms, findings=findings)


def prove_in(
    world: World,
    profile_id: str,
    *,
    select: Select,
    order: Order | None = None,
    ticket: str = "",
    purpose: Purpose = "audit",
    without_nodes: frozenset[str] = frozenset(),
) -> Proof:
    """Prove one pool of an observation that is indexed already; see :func:`prove`."""
    question = _Question(order, ticket or (order.ticket if order else ""), purpose, without_nodes)
    ledger = world.ledger
    findings = (*ledger_findings(ledger), *cluster_findings(world), *not_approved(profile_id, ledger.policy))
    pool = ledger.policy.pools.get(profile_id) if ledger.policy else None
    if pool is None:
        return _unproved(world, profile_id, findings)
    terms = _terms(profile_id, pool, world)
    healthy, records = terms.healthy.total, ledger.of_pool(profile_id)
    ordered = question.order is not None
    as_it_is = equation_of(healthy, terms.organizations, records, pool.spare_devices, ordered=False)
    asked = equation_of(healthy, terms.organizations, records, pool.spare_devices, ordered=ordered)
    projected = _projected(asked, question, terms, ledger)
    findings += _judged(profile_id, pool, world, question=question, terms=terms, select=select)
    what = ORDER if ordered else f"node {', '.join(sorted(without_nodes))} left out"
    findings += equation_findings(profile_id, as_it_is, projected, what)
    return _proof(world, profile_id, as_it_is, projected, terms=terms, findings=findings)


def prove(
    snapshot: Snapshot,
    ledger: Ledger | LedgerReading,
    profile_id: str,
    *,
    select: Select,
    order: Order | None = None,
    ticket: str = "",
    purpose: Purpose = "audit",
    without_nodes: frozenset[str] = frozenset(),
) -> Proof:
    """Prove the invariant of one pool: healthy schedulable >= all claims + spare.

    Nothing is raised for what was observed: the proof carries it, with the terms that could be
    established, and never a headroom that rests on an unknown.

    Args:
        snapshot: everything that was read, the lock branch among it.
        ledger: the fleet's documents, a valid ledger or a reading with its problems.
        profile_id: the pool's profile.
        select: answers what a JMESPath expression chooses from a list.
        order: adds its devices, unless its own record holds them already, and is qualified.
        ticket: the run that asks; with purpose ``entitled`` its grant has to be in force.
        purpose: ``assign`` refuses a frozen pool, ``entitled`` wants the ticket's grant converged,
            ``let_go`` also wants backend and KubeVirt in service; ``audit`` and ``show`` ask nothing more.
        without_nodes: nodes to leave out of the projected equation.
    """
    world = world_of(snapshot, view_of(ledger, snapshot.lock))
    return prove_in(
        world,
        profile_id,
        select=select,
        order=order,
        ticket=ticket,
        purpose=purpose,
        without_nodes=without_nodes,
    )
