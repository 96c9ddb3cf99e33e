# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""An organization's entitlement by a reservation add-on: what it is in one observation, and has to be."""

from __future__ import annotations

from dataclasses import dataclass

from .._core.addon_target import AddonTarget, missing_convergence, target_of, terms_for
from .._core.catalogue import Catalogue, read_catalogue
from .._core.checks import Check
from .._core.claims import OrganizationTerms
from .._core.errors import PolicyBlocked
from .._core.proof import Proof
from .._core.record import Record
from .observation import Observation
from .proof import Question


@dataclass(frozen=True)
class Entitling:
    """An organization's terms beside the target of its add-on."""

    target: AddonTarget
    terms: OrganizationTerms

    @property
    def gone(self) -> bool:
        """Whether the Organization does not exist any more: it is entitled to nothing, and has no holders."""
        return not self.terms.present

    @property
    def before(self) -> int:
        """The quantity that the annotation says."""
        if self.gone:
            return self.target.quantity
        return self.terms.entitlement.quantities.get(self.target.addon_id, 0)

    @property
    def missing(self) -> dict[str, str]:
        """What does not show the target yet."""
        return {} if self.gone else missing_convergence(self.target, self.terms)


def catalogue_in(seen: Observation) -> Catalogue:
    """The platform's catalogue as it was observed."""
    observed = seen.snapshot.observed
    return read_catalogue(observed.billing_plans, observed.gpu_profiles)


def entitling(record: Record, seen: Observation, *, without: bool, proof: Proof | None = None) -> Entitling:
    """Target and terms of a record's organization and add-on.

    Args:
        record: the ticket's record.
        seen: the observation.
        without: leave the record out of the target: it is being released or canceled.
        proof: a proof of the same observation, where there is one already.
    """
    report = proof or Question(record.spec.profile_id, "show").answer(seen)
    target = target_of(record, seen.ledger.records.values(), catalogue_in(seen), without=without)
    name = record.spec.organization
    gone = [terms for terms in report.organizations if terms.organization == name and not terms.present]
    if without and gone:
        return Entitling(target, gone[0])
    return Entitling(target, terms_for(name, report.organizations))


def require_entitled(record: Record, seen: Observation, proof: Proof) -> None:
    """The record's devices are granted, and quota and status show it.

    Raises:
        PolicyBlocked: ``entitlement-not-converged``.
    """
    state = entitling(record, seen, without=False, proof=proof)
    if state.missing:
        raise PolicyBlocked(
            "entitlement-not-converged",
            f"{record.spec.organization} is not entitled to what {record.id} holds: "
            + "; ".join(state.missing.values()),
            next_action="wait for the platform to follow, then run again",
        )


def require_taken_back(record: Record, seen: Observation) -> tuple[Check, ...]:
    """Nothing of the record is entitled any more, and quota and status show it.

    Raises:
        PolicyBlocked: ``entitlement-not-taken-back``.
    """
    state = entitling(record, seen, without=True)
    if state.missing:
        raise PolicyBlocked(
            "entitlement-not-taken-back",
            f"{record.spec.organization} still shows entitlement of {record.id}: "
            + "; ".join(state.missing.values()),
            next_action="take the add-on back with gpu_addon, wait for the platform, then run again",
        )
    message = (
        f"{state.target.addon_id} of {record.spec.organization} is at {state.target.quantity} everywhere"
    )
    return (Check(id="entitlement-taken-back", status="pass", message=message, object=f"record/{record.id}"),)
