# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_addon: bring a reservation add-on to the sum of the records, and wait for the platform."""

from __future__ import annotations

from dataclasses import dataclass

from .._adapters.api_resource import ORGANIZATIONS
from .._core.addon import ANNOTATION, set_quantity
from .._core.addon_entries import AnnotationError
from .._core.addon_target import why_not_below_use
from .._core.cluster_objects import Organization
from .._core.errors import ConflictError, ObservationError, PartialChange, PolicyBlocked
from .._core.lock import set_step
from .._core.names import normalise_ticket
from .._core.record import Record
from .entitlement import Entitling, entitling
from .giving_back import GIVEN_BACK, require_free
from .guarded_commit import commit_guarded
from .lock import ATTEMPTS
from .observation import Observation, observe
from .outcome import Diff, Outcome
from .proof import Question, proved, require_proof
from .run import Invocation
from .sources import Reach
from .ticket_record import require_closed_creation, require_lock, require_record
from .waiting import wait_until

RETRIED = ("fleet-moved", "object-changed")


@dataclass(frozen=True)
class Written:
    """The annotation's change, made or planned."""

    state: Entitling
    before: str
    after: str
    transport: str

    @property
    def changes(self) -> bool:
        """Whether the quantity differs."""
        return self.state.before != self.state.target.quantity


def set_addon(invocation: Invocation) -> Outcome:
    """The module's work."""
    _ticket(invocation)  # a ticket that is none is refused before anything is read
    reach = Reach(invocation.params)
    for attempt in range(ATTEMPTS):
        try:
            written = _write(invocation, reach)
        except ConflictError as conflict:
            if conflict.code not in RETRIED or attempt == ATTEMPTS - 1:
                raise
            continue
        if invocation.check_mode:
            return _outcome(written, {})
        return _outcome(written, _converged(invocation, reach, written))
    raise AssertionError("unreachable: the last attempt returns or raises")


def _states(reduce: bool) -> tuple[str, ...]:
    return GIVEN_BACK if reduce else ("pending", "active", "releasing")


def _write(invocation: Invocation, reach: Reach) -> Written:
    seen = observe(invocation, reach)
    record = require_record(seen, _ticket(invocation), _states(invocation.params["reduce"]))
    written = _planned(invocation, seen, record)
    if not written.changes:
        return written
    seen = _gated(invocation, reach, seen, written)
    # What the gate saw last is what is written upon: the resourceVersion and the annotation of that reading.
    written = _planned(invocation, seen, require_record(seen, record.ticket, (record.state,)))
    if written.changes and written.transport == "annotation" and not invocation.check_mode:
        _patch(invocation, reach, seen, record, written.after or "[]")
    return written


def _planned(invocation: Invocation, seen: Observation, record: Record) -> Written:
    """The change on one observation, for the run that holds the lock with creation closed."""
    ticket = require_lock(invocation, seen, record.spec.profile_id)
    state = entitling(record, seen, without=invocation.params["reduce"])
    if state.gone:
        return Written(state, "", "", seen.ledger.policy.spec.entitlement_transport)
    require_closed_creation(seen, ticket, record.spec.profile_id)
    text = _annotation(seen, record.spec.organization)
    change = _changed(record.spec.organization, text, state)
    return Written(state, text or "", change or "", seen.ledger.policy.spec.entitlement_transport)


def _gated(invocation: Invocation, reach: Reach, seen: Observation, written: Written) -> Observation:
    """The observation on which a change may be made: proved to grow, or seen free twice to shrink."""
    target = written.state.target
    if invocation.params["reduce"]:
        freed = require_free(invocation, reach)
        state = entitling(freed.record, freed.seen, without=True)
        _require_lower(state)
        _require_unused(state)
        return freed.seen
    if target.quantity < written.state.before:
        _require_unused(written.state)
        return seen
    pool, ticket = target.profile_id, _ticket(invocation)
    seen, proof = proved(invocation, reach, seen, Question(pool, "assign", None, ticket))
    require_proof(proof)
    return seen


def _require_lower(state: Entitling) -> None:
    """A release never grants: less than the other records hold is drift, which is not mended here."""
    if state.before < state.target.quantity:
        raise PolicyBlocked(
            "status-disagreement",
            f"{state.target.organization} has {state.before} x {state.target.addon_id}, and its other "
            f"records need {state.target.quantity}: a release does not grant them",
            next_action="see who lowered the add-on and put it right, then run again",
        )


def _ticket(invocation: Invocation) -> str:
    return normalise_ticket(invocation.params["ticket"])


def _annotation(seen: Observation, organization: str) -> str | None:
    return _organization(seen, organization).metadata.annotations.get(ANNOTATION)


def _organization(seen: Observation, name: str) -> Organization:
    for organization in seen.snapshot.observed.organizations:
        if organization.metadata.name == name:
            return organization
    raise ObservationError(
        "organization-missing",
        f"organization {name} does not exist in the cluster",
        next_action="see what deleted it; entitlement is changed only where the Organization exists",
    )


def _changed(organization: str, text: str | None, state: Entitling) -> str | None:
    try:
        return set_quantity(text, state.target.addon_id, state.target.quantity).text
    except AnnotationError as error:
        raise ObservationError(
            "status-disagreement",
            f"organization/{organization}: annotation {ANNOTATION} cannot be read: {error}",
            next_action="correct it in Admin > Organization > Billing > Manage add-ons, then run again",
        ) from error


def _require_unused(state: Entitling) -> None:
    why = why_not_below_use(state.target, state.terms)
    if why:
        raise PolicyBlocked(
            "entitlement-in-use",
            f"{state.target.addon_id} of {state.target.organization} may not be reduced to "
            f"{state.target.quantity}: {why}",
            next_action="ask the owners to stop their VMs normally, then run again; nothing was changed",
        )


def _patch(invocation: Invocation, reach: Reach, seen: Observation, record: Record, text: str) -> None:
    """Note the step first: a run whose lock was taken over gets no further."""
    ticket, run = record.ticket, invocation.params["run_id"]
    document = set_step(seen.lock, (record.spec.profile_id,), ticket, run, now=seen.now, step="entitle")
    commit_guarded(reach, seen, {}, document, f"{record.id}: entitle")
    organization = _organization(seen, record.spec.organization)
    reach.client.patch(
        ORGANIZATIONS.path(organization.metadata.namespace, organization.metadata.name),
        {"metadata": {"annotations": {ANNOTATION: text}}},
        resource_version=organization.metadata.resource_version,
    )


def _converged(invocation: Invocation, reach: Reach, written: Written) -> dict[str, bool]:
    params = invocation.params
    target = written.state.target
    what = f"{target.organization} to show {target.quantity} x {target.addon_id} in quota and status"

    def look() -> Entitling:
        seen = observe(invocation, reach)
        record = require_record(seen, _ticket(invocation), _states(params["reduce"]))
        return entitling(record, seen, without=params["reduce"])

    waited = wait_until(
        what,
        look,
        lambda state: "; ".join(state.missing.values()),
        timeout=params["wait_timeout"],
        interval=params["poll_interval"],
    )
    if waited.met:
        return {"annotation": True, "hrq": True, "organization": True}
    changed = waited.seen.before != written.state.before
    error = PartialChange if changed else ObservationError
    click = (
        f"in Admin > Organization > {target.organization} > Billing > Manage add-ons set "
        f"{target.addon_id} to {target.quantity}, then run again"
    )
    raise error(
        "entitlement-not-converged",
        f"{target.organization} does not show {target.addon_id} x {target.quantity} after "
        f"{waited.seconds:.0f} s: {waited.last}",
        next_action=click
        if written.transport == "observe"
        else "see why quota does not follow, then run again",
    )


def _outcome(written: Written, converged: dict[str, bool]) -> Outcome:
    state = written.state
    before, target = state.before, state.target
    changed = written.changes
    who = "an operator sets" if written.transport == "observe" else "set"
    step = f"{who} {target.addon_id} of {target.organization} from {before} to {target.quantity}"
    missing = state.missing
    return Outcome(
        changed=changed,
        msg=f"{target.organization} has {target.addon_id} x {target.quantity} ({target.devices} devices)",
        plan=(step,) if changed else (),
        result={
            "before": before,
            "after": target.quantity,
            "converged": converged
            or {place: place not in missing for place in ("annotation", "hrq", "organization")},
        },
        diffs=(Diff(f"organization/{target.organization} {ANNOTATION}", written.before, written.after),)
        if changed
        else (),
    )
