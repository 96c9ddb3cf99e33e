# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The answer about one pool: the equation, what it rests on, and everything that stands against it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from . import finding_ids as ids
from .checks import Check, stopping
from .claims import OrganizationTerms
from .equation import Equation
from .finding import Finding
from .healthy import NodeCount
from .holders import Holder
from .remedies import Remedy

CAPACITY_EQUATION: Final = "capacity-equation"

_QUESTIONS: Final = (
    (ids.LEDGER_INVALID, "the ledger, the freezes and the lock are valid"),
    (ids.DUPLICATE_RESERVATION_ID, "no reservation id stands twice"),
    (ids.CLUSTER_MISMATCH, "the cluster is the one that the policy names"),
    (ids.POOL_NOT_APPROVED, "the policy approves the pool"),
    (ids.PROFILE_MODE_MISMATCH, "profile, catalogue, KubeVirt, labels and fleet rule agree"),
    (ids.STALE_CAPACITY, "node leases and Organization status are fresh"),
    (ids.DEGRADED_CAPACITY, "every declared node is there with its devices"),
    (ids.PLUGIN_CONFLICT, "each node has the right device plugin alone"),
    (ids.UNATTRIBUTED_HOLDER, "every holder belongs to an organization or to the operator"),
    (ids.UNKNOWN_ADD_ON, "every add-on in use is in the catalogue"),
    (ids.MISSING_LEDGER_RECORD, "records cover what reservation add-ons grant"),
    (ids.STATUS_DISAGREEMENT, "annotation, catalogue, quota and Organization status agree"),
    (ids.ENTITLEMENT_CONVERGING, "no entitlement is on its way"),
    (ids.HARD_QUOTA_ABOVE_EQUATION, "hard quota stays within the equation"),
    (ids.SEQUENTIAL_POOL_CONFLICT, "Shared and Dedicated are not sold from one node"),
    (ids.ACTIVE_ALERT, "rules are loaded and no selected alert is active"),
)

_EQUATION_IDS: Final = frozenset(
    {ids.HARD_QUOTA_ABOVE_EQUATION, ids.ORDER_EXCEEDS_CAPACITY, ids.CHANGE_EXCEEDS_CAPACITY}
)


@dataclass(frozen=True)
class Proof:
    """A report; it says yes only where every term is known and nothing stops.

    Attributes:
        cluster: the folder below clusters/.
        profile_id: the pool's profile.
        resource: its extended resource; empty where it cannot be told.
        equation: as it stands.
        projected: with the order or the change; None where there is neither.
        organizations: everybody's terms.
        nodes: the node table.
        holders: who uses the pool's devices now.
        findings: everything found, what does not stop among it.
        remedies: the smallest ways to make a failing equation hold.
        in_service: whether anything is sold or ordered from the pool.
        lock_ticket: who holds the pool's lock; empty for nobody.
        limits: how old is too old, in seconds: nodeLeaseSeconds and quotaStatusSeconds.
        revision: the fleet branch's commit.
        server_time: the API server's time of the observation.
    """

    cluster: str
    profile_id: str
    resource: str
    equation: Equation
    projected: Equation | None
    organizations: tuple[OrganizationTerms, ...]
    nodes: tuple[NodeCount, ...]
    holders: tuple[Holder, ...]
    findings: tuple[Finding, ...]
    remedies: tuple[Remedy, ...]
    in_service: bool
    lock_ticket: str
    limits: dict[str, int]
    revision: str
    server_time: str

    @property
    def decisive(self) -> Equation:
        """The equation that decides: with the order or the change where there is one."""
        return self.projected or self.equation

    @property
    def stops(self) -> tuple[Finding, ...]:
        """What stands against a yes."""
        return tuple(finding for finding in self.findings if finding.stops)

    @property
    def allowed(self) -> bool:
        """Whether the answer is yes."""
        return self.decisive.holds and not self.stops

    @property
    def checks(self) -> tuple[Check, ...]:
        """Every question with its answer: the equation first, then passed questions, then each finding."""
        return (
            equation_check(self),
            *answered(self.findings),
            *(finding.check() for finding in self.findings),
        )

    @property
    def refusals(self) -> tuple[Check, ...]:
        """The checks that stop, each fact once: missing devices are named with the remedies."""
        stops = stopping(self.checks)
        if not any(check.id in _EQUATION_IDS for check in stops):
            return stops
        remedies = "; or ".join(remedy.message for remedy in self.remedies)
        return tuple(
            check.model_copy(update={"next_action": remedies or check.next_action})
            if check.id in _EQUATION_IDS
            else check
            for check in stops
            if check.id != CAPACITY_EQUATION
        )

    @property
    def worth_reading_again(self) -> bool:
        """Whether all that stops are findings of health or use, which seconds may clear.

        A node that looks stale counts nothing, so that the equation fails with it and for its sake.
        """
        stops = self.stops
        return any(finding.transient for finding in stops) and all(
            finding.transient or finding.id in _EQUATION_IDS for finding in stops
        )

    @property
    def only_converging(self) -> bool:
        """Whether all that stops is entitlement on its way, for which the lock's ticket waits."""
        return bool(self.stops) and all(finding.id == ids.ENTITLEMENT_CONVERGING for finding in self.stops)


def answered(findings: Iterable[Finding]) -> tuple[Check, ...]:
    """A passed check for every question of a proof that nothing was found about."""
    found = {finding.id for finding in findings}
    return tuple(
        Check(id=question, status="pass", message=message)
        for question, message in _QUESTIONS
        if question not in found
    )


def equation_check(proof: Proof) -> Check:
    """The equation itself as a check."""
    equation = proof.decisive
    where = f"pool/{proof.profile_id}"
    terms = (
        f"{_known(equation.healthy)} healthy schedulable devices >= {_known(equation.reserved)} reserved + "
        f"{_known(equation.non_reserved)} non-reserved + {_known(equation.spare)} spare"
    )
    if equation.headroom is None:
        return Check(
            id=CAPACITY_EQUATION,
            status="unknown",
            message=f"{terms}: a term is unknown or without limit, so that there is no headroom to tell",
            next_action="settle what the other checks name, then prove again",
            object=where,
        )
    message = f"{terms}; headroom {equation.headroom}"
    if equation.holds:
        return Check(id=CAPACITY_EQUATION, status="pass", message=message, object=where)
    action = "; or ".join(remedy.message for remedy in proof.remedies) or "add healthy capacity"
    return Check(id=CAPACITY_EQUATION, status="fail", message=message, next_action=action, object=where)


def _known(value: object) -> str:
    return "unknown" if value is None else str(value)
