# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What holds a release up: doubt about ledger, quota or holders, and use above what stays ("Release")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from . import finding_ids as ids
from .catalogue import PLANS_OBJECT
from .claims import OrganizationTerms, shown
from .entitlement import total
from .finding import Finding
from .holders import Holder
from .proof import Proof
from .record import Record
from .use_by_source import use_by_source
from .world import World

_ALWAYS: Final = frozenset(
    {
        ids.LEDGER_INVALID,
        ids.DUPLICATE_RESERVATION_ID,
        ids.CLUSTER_MISMATCH,
        ids.POOL_NOT_APPROVED,
        ids.MISSING_LEDGER_RECORD,
        ids.UNATTRIBUTED_HOLDER,
    }
)
"""Findings that hold a release up wherever they are."""

_AMBIGUOUS: Final = "organization/(ambiguous)"


@dataclass(frozen=True)
class ReleaseJudgement:
    """Whether the add-on may be reduced; counts in devices, None where one cannot be told.

    Attributes:
        record: the record that is given back.
        stays: what the organization stays entitled to without it.
        holders: who of the organization uses devices of the profile now, Terminating ones too.
        uses: what each source counts as used: holders, HRQ, Organization, and each project.
        blockers: doubts that hold the release up.
        reported: what else is wrong in the pool, which does not.
        converging: whether entitlement of the organization is on its way.
    """

    record: Record
    stays: int | None
    holders: tuple[Holder, ...]
    uses: dict[str, int | None]
    blockers: tuple[Finding, ...]
    reported: tuple[Finding, ...]
    converging: bool

    @property
    def waits_for(self) -> tuple[str, ...]:
        """What is still above what stays, each a sentence; empty when use has come down."""
        if self.stays is None:
            return ("what stays entitled cannot be told",)
        return tuple(
            f"{source} counts {shown(used)} devices, {self.stays} stay entitled"
            for source, used in self.uses.items()
            if used is None or used > self.stays
        )

    @property
    def clear(self) -> bool:
        """Whether nothing is in doubt and nothing is used that does not stay."""
        return not self.blockers and not self.waits_for

    @property
    def pods(self) -> frozenset[tuple[str, str]]:
        """The holders' Pods, to be the same at a second reading: (namespace, name)."""
        return frozenset((holder.namespace, pod) for holder in self.holders for pod in holder.pods)

    def result(self) -> dict[str, Any]:
        """The judgement as a module returns it."""
        return {
            "stays": shown(self.stays),
            "uses": {source: shown(used) for source, used in self.uses.items()},
            "holders": [holder.result() for holder in self.holders],
            "waits_for": list(self.waits_for),
            "converging": self.converging,
            "clear": self.clear,
            "checks": [finding.check().result() for finding in (*self.blockers, *self.reported)],
        }


def same_twice(first: ReleaseJudgement, second: ReleaseJudgement) -> bool:
    """Whether two readings a poll interval apart both are clear and show the same Pods."""
    return first.clear and second.clear and first.pods == second.pods


def release_blockers(proof: Proof, organization: str) -> tuple[Finding, ...]:
    """Of what a proof found, the doubts that hold up giving entitlement of an organization back.

    Nodes, alerts and the equation never do: claims only fall. The organization's own quota and holders do,
    and any invalid document; drift of another organization only where a ledger record is missing.

    Args:
        proof: of the pool.
        organization: who gives back.
    """
    own = f"organization/{organization}"
    doubtful = {own, _AMBIGUOUS, PLANS_OBJECT}
    if not proof.resource:  # who holds it cannot be told then
        doubtful.add(f"profile/{proof.profile_id}")
    return tuple(
        finding
        for finding in proof.stops
        if finding.id != ids.ENTITLEMENT_CONVERGING and (finding.id in _ALWAYS or finding.object in doubtful)
    )


def _stays(terms: OrganizationTerms | None, record: Record) -> int | None:
    """Ordinary entitlement and what the organization's other records are granted."""
    if terms is None or not terms.present:
        return 0
    if terms.records is None:
        return None
    others = [item for item in terms.records if item.id != record.id and item.state != "pending"]
    return total((terms.entitlement.ordinary, sum(item.spec.devices for item in others)))


def judge_release(proof: Proof, record: Record, world: World) -> ReleaseJudgement:
    """Judge whether the record's entitlement may be reduced now.

    Args:
        proof: of the record's pool, on the same observation.
        record: what is given back.
        world: the observation.
    """
    organization = record.spec.organization
    terms = next((item for item in proof.organizations if item.organization == organization), None)
    holders = tuple(holder for holder in proof.holders if holder.organization == organization)
    blockers = release_blockers(proof, organization)
    own = f"organization/{organization}"
    return ReleaseJudgement(
        record=record,
        stays=_stays(terms, record),
        holders=holders,
        uses=use_by_source(terms, holders, proof.profile_id, world, record.spec.project),
        blockers=blockers,
        reported=tuple(finding for finding in proof.findings if finding not in blockers),
        converging=any(item.id == ids.ENTITLEMENT_CONVERGING and item.object == own for item in proof.stops),
    )
