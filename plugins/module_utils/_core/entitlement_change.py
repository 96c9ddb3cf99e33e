# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether an ordinary add-on may be changed: under the same equation, and holder-safely where it shrinks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from . import finding_ids as ids
from .amount import Amount
from .catalogue import PLANS_OBJECT
from .claims import OrganizationTerms, shown
from .disagreement import said
from .entitlement import ANNOTATION, total
from .equation import Equation, sum_amounts
from .finding import Finding
from .pool_findings import equation_findings, frozen_findings
from .proof import Proof
from .release_judgement import release_blockers
from .use_by_source import use_by_source
from .world import World


@dataclass(frozen=True)
class EntitlementChange:
    """What is to become of one ordinary add-on of an organization."""

    organization: str
    add_on_id: str
    quantity: int


@dataclass(frozen=True)
class ChangeJudgement:
    """The answer for one pool; counts in devices.

    Attributes:
        change: what was asked.
        profile_id: the pool.
        before: the add-on's quantity now; None where it cannot be told.
        delta: devices more, or less; None where that cannot be told.
        equation: as it stands.
        projected: with the change, as soon as quota has followed.
        findings: everything that stands against it.
    """

    change: EntitlementChange
    profile_id: str
    before: int | None
    delta: int | None
    equation: Equation
    projected: Equation
    findings: tuple[Finding, ...]

    @property
    def allowed(self) -> bool:
        """Whether nothing stands against it; a change that only lowers claims needs no equation."""
        if self.findings or self.delta is None:
            return False
        return self.delta <= 0 or self.projected.holds

    def result(self) -> dict[str, Any]:
        """The judgement as a module returns it."""
        return {
            "profile": self.profile_id,
            "before": shown(self.before),
            "after": self.change.quantity,
            "delta": shown(self.delta),
            "equation": self.equation.result(),
            "equation_after": self.projected.result(),
            "allowed": self.allowed,
            "checks": [finding.check().result() for finding in self.findings],
        }


def _refused(where: str, message: str, expected: str, next_action: str, finding_id: str) -> Finding:
    return Finding(
        id=finding_id,
        severity="error",
        object=where,
        message=message,
        expected=expected,
        observed=message,
        next_action=next_action,
    )


def _unfit(change: EntitlementChange, world: World) -> tuple[Finding, ...]:
    """The add-on has to be in the catalogue, and no reservation add-on of any pool."""
    name, where = change.add_on_id, f"add-on/{change.add_on_id}"
    add_on = world.catalogue.add_ons.get(name)
    policy = world.ledger.policy
    if any(name in pool.reservation_addons for pool in (policy.pools.values() if policy else ())):
        message = f"add-on {name} carries reservations: it follows the ledger's records"
        action = "use playbooks/assign.yml or playbooks/release.yml"
        return (_refused(where, message, "an ordinary add-on", action, ids.ADD_ON_UNFIT),)
    if add_on is None or add_on.grant.problem or (add_on.disabled and change.quantity):
        problem = add_on.grant.problem or "it is disabled" if add_on else f"{PLANS_OBJECT} does not have it"
        message = f"add-on {name} cannot be granted: {problem}"
        finding_id = ids.ADD_ON_UNFIT if add_on else ids.UNKNOWN_ADD_ON
        return (
            _refused(where, message, "an add-on of the catalogue", f"correct {PLANS_OBJECT}", finding_id),
        )
    return ()


def _changed(terms: OrganizationTerms, delta: int) -> Amount | None:
    """The organization's non-reserved claim once quota has followed."""
    hard, ordinary, covered = terms.quota.hard, terms.entitlement.ordinary, terms.covered
    if not isinstance(hard, int) or ordinary is None or covered is None:
        return terms.non_reserved
    return max(ordinary + delta, hard + delta - covered, 0)


def _in_use(terms: OrganizationTerms, delta: int, proof: Proof, world: World) -> tuple[Finding, ...]:
    """Holder-safe: nothing is taken away that is in use, or of which that is not known."""
    entitled = total((terms.entitlement.ordinary, terms.entitlement.granted_total))
    holders = [item for item in proof.holders if item.organization == terms.organization]
    uses = use_by_source(terms, holders, proof.profile_id, world)
    stays = None if entitled is None else entitled + delta
    above = [
        f"{source} {said(used)}"
        for source, used in uses.items()
        if stays is None or used is None or used > stays
    ]
    if not above:
        return ()
    named = ", ".join(sorted({item.name for item in holders})) or "nobody by name"
    message = f"organization {terms.organization} uses more than the {said(stays)} devices that would stay: "
    message += f"{', '.join(above)}; holders: {named}"
    action = f"ask the owners to stop them normally ({named}), then run again"
    where = f"organization/{terms.organization}"
    return (_refused(where, message, "use at most what stays entitled", action, ids.RELEASE_QUOTA_IN_USE),)


def judge_change(proof: Proof, change: EntitlementChange, world: World) -> ChangeJudgement:
    """Judge a change of an ordinary add-on for one pool.

    A change that grows claims needs the whole proof and a pool that is not frozen. One that only lowers
    them is never refused for nodes, alerts or the equation, but for use and for doubt about it.

    Args:
        proof: of the pool, as it stands.
        change: what is asked.
        world: the observation.
    """
    terms = next((item for item in proof.organizations if item.organization == change.organization), None)
    findings = _unfit(change, world)
    if terms is None or not terms.present:
        where = f"organization/{change.organization}"
        message = f"organization {change.organization} does not exist"
        missing = _refused(
            where, message, "an organization that exists", "name it right", ids.ORDER_ORGANIZATION
        )
        return ChangeJudgement(
            change, proof.profile_id, None, None, proof.equation, proof.equation, (*findings, missing)
        )
    unreadable = any(problem.odd == ANNOTATION for problem in terms.entitlement.problems)
    before = None if unreadable else terms.entitlement.quantities.get(change.add_on_id, 0)
    add_on = world.catalogue.add_ons.get(change.add_on_id)
    unit = add_on.grant.devices.get(proof.profile_id, 0) if add_on and not add_on.grant.problem else None
    delta = None if unit is None or before is None else unit * (change.quantity - before)
    others = [item.non_reserved for item in proof.organizations if item is not terms]
    changed = None if delta is None else _changed(terms, delta)
    projected = replace(proof.equation, non_reserved=sum_amounts([*others, changed]))
    if delta is None:
        findings += proof.stops
    elif delta > 0:
        projected = replace(projected, spare=_spare(proof, world))
        findings += proof.stops + frozen_findings(proof.profile_id, world.ledger)
        findings += equation_findings(proof.profile_id, projected, projected, "the change")[-1:]
    elif delta < 0:
        findings += release_blockers(proof, change.organization) + _in_use(terms, delta, proof, world)
    return ChangeJudgement(change, proof.profile_id, before, delta, proof.equation, projected, findings)


def _spare(proof: Proof, world: World) -> int | None:
    """The spare is asked for as soon as something is sold."""
    policy = world.ledger.policy
    pool = policy.pools.get(proof.profile_id) if policy else None
    return pool.spare_devices if pool else None
