# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A change of an ordinary add-on, judged for every pool that it grants devices of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .._core.addon_fit import UNREADABLE
from .._core.catalogue import AddOn
from .._core.entitlement_change import ChangeJudgement, EntitlementChange, judge_change
from .._core.errors import InputError, PolicyBlocked
from .._core.finding import Finding
from .._core.names import normalise_ticket
from .._core.proof import Proof
from .._core.world import world_of
from .entitlement import catalogue_in
from .observation import Observation
from .proof import Question, proved
from .run import Invocation
from .sources import Reach
from .ticket_record import record_of


@dataclass(frozen=True)
class Judged:
    """The answer of every pool on one observation.

    Attributes:
        seen: the observation.
        change: what was asked.
        pools: by profile, sorted: the proof as it stands, and the judgement.
    """

    seen: Observation
    change: EntitlementChange
    pools: Mapping[str, tuple[Proof, ChangeJudgement]]

    @property
    def judgements(self) -> tuple[ChangeJudgement, ...]:
        """The judgements, by profile."""
        return tuple(judgement for _proof, judgement in self.pools.values())

    @property
    def allowed(self) -> bool:
        """Whether no pool stands against it."""
        return all(judgement.allowed for judgement in self.judgements)

    @property
    def lowers(self) -> bool:
        """Whether claims fall."""
        return any((judgement.delta or 0) < 0 for judgement in self.judgements)

    @property
    def before(self) -> int | None:
        """The quantity now; None where it cannot be told."""
        return self.judgements[0].before

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What stands against it, each once."""
        found = [finding for judgement in self.judgements for finding in judgement.findings]
        return tuple({finding.message: finding for finding in found}.values())

    @property
    def pods(self) -> frozenset[tuple[str, str]]:
        """The organization's Pods with devices of these pools, to be the same at a second reading."""
        return frozenset(
            (holder.namespace, pod)
            for proof, _judgement in self.pools.values()
            for holder in proof.holders
            if holder.organization == self.change.organization
            for pod in holder.pods
        )


def requested(params: Mapping[str, Any]) -> EntitlementChange:
    """The change that the options ask for.

    Raises:
        InputError: ``quantity-invalid``, or ``option-missing``.
    """
    for option in ("organization", "addon_id"):
        if not params[option]:
            raise InputError(
                "option-missing", f"{option} is not set", next_action=f"give {option}", details={}
            )
    if params["quantity"] is None or params["quantity"] < 0:
        raise InputError(
            "quantity-invalid",
            f"quantity is {params['quantity']}, and has to be a whole number of at least 0",
            next_action="give the quantity that the organization is to have afterwards",
        )
    return EntitlementChange(params["organization"], params["addon_id"], params["quantity"])


def profiles_of(seen: Observation, change: EntitlementChange) -> tuple[str, ...]:
    """The pools that the add-on grants whole devices of, sorted.

    Raises:
        PolicyBlocked: ``unknown-add-on``, ``add-on-unreadable``, ``add-on-no-devices``,
            ``add-on-grants-more``, or ``pool-not-approved``.
    """
    add_on = catalogue_in(seen).add_ons.get(change.add_on_id)
    if add_on is None:
        raise _no(
            "unknown-add-on",
            f"add-on {change.add_on_id} is not in configmap/kube-dc/billing-plans",
            "name an add-on of the catalogue",
        )
    found = tuple(sorted(name for name, count in add_on.grant.devices.items() if count))
    _require_devices(add_on, found)
    missing = [name for name in found if name not in seen.ledger.policy.pools]
    if missing:
        raise _no(
            "pool-not-approved",
            f"add-on {add_on.id} grants devices of {', '.join(missing)}, which policy.yaml has no pool of",
            "have the pool reviewed into policy.yaml: without it nothing can be proved",
        )
    return found


def _require_devices(add_on: AddOn, profiles: tuple[str, ...]) -> None:
    by_hand = "change it in Admin > Organization > Billing > Manage add-ons"
    if add_on.grant.problem:
        raise _no(
            UNREADABLE,
            f"add-on {add_on.id} cannot be read: {add_on.grant.problem}",
            f"correct addons.{add_on.id} in configmap/kube-dc/billing-plans",
        )
    if not profiles:
        raise _no(
            "add-on-no-devices",
            f"add-on {add_on.id} grants no whole devices, and the equation judges nothing else",
            by_hand,
        )
    more = [*add_on.other, *sorted(add_on.grant.shared)]
    if more:
        raise _no(
            "add-on-grants-more",
            f"add-on {add_on.id} also grants {', '.join(more)}, whose use is not judged here",
            by_hand,
        )


def _no(code: str, message: str, next_action: str) -> PolicyBlocked:
    return PolicyBlocked(code, message, next_action=next_action)


def judged(invocation: Invocation, reach: Reach, seen: Observation) -> Judged:
    """Judge the change for every pool, reading health again where only that stands against it."""
    change = requested(invocation.params)
    ticket = normalise_ticket(invocation.params["ticket"])
    _require_own_ticket(seen, ticket)
    pools: dict[str, tuple[Proof, ChangeJudgement]] = {}
    for profile in profiles_of(seen, change):
        seen, proof = proved(invocation, reach, seen, Question(profile, "show", None, ticket))
        judgement = judge_change(proof, change, world_of(seen.snapshot, seen.view))
        pools[profile] = (proof, judgement)
    return Judged(seen, change, pools)


def _require_own_ticket(seen: Observation, ticket: str) -> None:
    """A ticket with a live record is a reservation's: its run must not lose its lock to this one."""
    record = record_of(seen, ticket)
    if record is not None and record.holds:
        raise InputError(
            "ticket-in-use",
            f"ticket {ticket} is that of {record.id}, which is {record.state}",
            next_action="change ordinary entitlement under a ticket of its own",
        )


def require_allowed(found: Judged) -> None:
    """Stop unless no pool stands against the change.

    Raises:
        PolicyBlocked: with the id of the first finding.
    """
    if found.allowed:
        return
    change = found.change
    findings = found.findings
    said = "; ".join(finding.message for finding in findings) or "a term of the equation is unknown"
    steps = "; ".join(dict.fromkeys(finding.next_action for finding in findings if finding.next_action))
    raise PolicyBlocked(
        findings[0].id if findings else "capacity-equation",
        f"{change.add_on_id} of {change.organization} may not become {change.quantity}: {said}",
        next_action=steps or "settle what is unknown, then run again",
        report={"judgements": [judgement.result() for judgement in found.judgements]},
    )
