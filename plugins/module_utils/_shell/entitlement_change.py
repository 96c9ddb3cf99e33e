# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_entitlement: change an ordinary add-on under the equation, holder-safely, and wait for the platform."""

from __future__ import annotations

import time

from .._adapters.api_resource import ORGANIZATIONS
from .._core.addon import ANNOTATION, AddonChange, set_quantity
from .._core.addon_entries import AnnotationError
from .._core.addon_target import AddonTarget, missing_convergence, terms_for
from .._core.cluster_objects import Organization
from .._core.errors import ConflictError, ObservationError, PartialChange, PolicyBlocked
from .._core.lock import require_run, set_step
from .._core.names import normalise_ticket
from .entitlement_request import Judged, judged, require_allowed
from .guarded_commit import commit_guarded
from .lock import ATTEMPTS
from .observation import Observation, observe
from .outcome import Diff, Outcome
from .progress import report
from .proof import Question
from .run import Invocation
from .sources import Reach
from .waiting import wait_until

RETRIED = ("fleet-moved", "object-changed")


def change_entitlement(invocation: Invocation) -> Outcome:
    """The module's work."""
    reach = Reach(invocation.params)
    for attempt in range(ATTEMPTS):
        try:
            found, change = _write(invocation, reach)
        except ConflictError as conflict:
            if conflict.code not in RETRIED or attempt == ATTEMPTS - 1:
                raise
            continue
        if not invocation.check_mode:
            _converge(invocation, reach, found)
        return _outcome(found, change)
    raise AssertionError("unreachable: the last attempt returns or raises")


def _write(invocation: Invocation, reach: Reach) -> tuple[Judged, AddonChange]:
    found = _settled(invocation, reach)
    _require_lock(invocation, found)
    change = _change(found)
    transport = found.seen.ledger.policy.spec.entitlement_transport
    if not change.changed or invocation.check_mode or transport == "observe":
        return found, change
    ticket, run, seen = _ticket(invocation), invocation.params["run_id"], found.seen
    document = set_step(seen.lock, tuple(found.pools), ticket, run, now=seen.now, step="entitlement")
    what = f"{found.change.add_on_id} of {found.change.organization}"
    commit_guarded(reach, seen, {}, document, f"{ticket}: entitlement, {what}")
    organization = _organization(found)
    reach.client.patch(
        ORGANIZATIONS.path(organization.metadata.namespace, organization.metadata.name),
        {"metadata": {"annotations": {ANNOTATION: change.text or "[]"}}},
        resource_version=organization.metadata.resource_version,
    )
    return found, change


def _settled(invocation: Invocation, reach: Reach) -> Judged:
    """Judged; where claims fall, judged twice a poll interval apart with the same Pods."""
    found = judged(invocation, reach, observe(invocation, reach))
    require_allowed(found)
    if not found.lowers:
        return found
    report("no more is used than would stay; reading a second time")
    time.sleep(invocation.params["poll_interval"])
    again = judged(invocation, reach, observe(invocation, reach))
    require_allowed(again)
    if again.pods != found.pods:
        raise PolicyBlocked(
            "entitlement-in-use",
            f"Pods of {found.change.organization} with devices changed between two readings",
            next_action="run again when they have come to rest; nothing was changed",
        )
    return again


def _nothing(found: Judged) -> bool:
    return found.before == found.change.quantity


def _ticket(invocation: Invocation) -> str:
    return normalise_ticket(invocation.params["ticket"])


def _require_lock(invocation: Invocation, found: Judged) -> None:
    run = invocation.params["run_id"]
    require_run(found.seen.lock, tuple(found.pools), _ticket(invocation), run)


def _organization(found: Judged) -> Organization:
    name = found.change.organization
    observed = found.seen.snapshot.observed
    return next(item for item in observed.organizations if item.metadata.name == name)


def _change(found: Judged) -> AddonChange:
    change = found.change
    text = _organization(found).metadata.annotations.get(ANNOTATION)
    try:
        return set_quantity(text, change.add_on_id, change.quantity)
    except AnnotationError as error:
        raise ObservationError(
            "status-disagreement",
            f"organization/{change.organization}: annotation {ANNOTATION} cannot be read: {error}",
            next_action="correct it in Admin > Organization > Billing > Manage add-ons, then run again",
        ) from error


def still_missing(found: Judged, seen: Observation) -> str:
    """What does not show the new quantity yet."""
    change, missing = found.change, {}
    for profile in found.pools:
        report_of = Question(profile, "show").answer(seen)
        target = AddonTarget(change.organization, change.add_on_id, profile, 0, change.quantity)
        missing.update(missing_convergence(target, terms_for(change.organization, report_of.organizations)))
    return "; ".join(missing.values())


def _converge(invocation: Invocation, reach: Reach, found: Judged) -> None:
    params, change = invocation.params, found.change
    what = f"{change.organization} to show {change.quantity} x {change.add_on_id} in quota and status"
    waited = wait_until(
        what,
        lambda: observe(invocation, reach),
        lambda seen: still_missing(found, seen),
        timeout=params["wait_timeout"],
        interval=params["poll_interval"],
    )
    if waited.met:
        return
    observing = found.seen.ledger.policy.spec.entitlement_transport == "observe"
    error = ObservationError if observing or _nothing(found) else PartialChange
    click = (
        f"in Admin > Organization > {change.organization} > Billing > Manage add-ons set "
        f"{change.add_on_id} to {change.quantity}, then run again"
    )
    raise error(
        "entitlement-not-converged",
        f"{change.organization} does not show {change.add_on_id} x {change.quantity} after "
        f"{waited.seconds:.0f} s: {waited.last}",
        next_action=click if observing else "see why quota does not follow, then run again",
    )


def _outcome(found: Judged, change: AddonChange) -> Outcome:
    asked = found.change
    observing = found.seen.ledger.policy.spec.entitlement_transport == "observe"
    who = "an operator sets" if observing else "set"
    step = f"{who} {asked.add_on_id} of {asked.organization} from {change.before} to {change.after}"
    text = _organization(found).metadata.annotations.get(ANNOTATION, "")
    header = f"organization/{asked.organization} {ANNOTATION}"
    return Outcome(
        changed=change.changed,
        msg=f"{asked.organization} has {asked.add_on_id} x {change.after}",
        plan=(step,) if change.changed else (),
        result={
            "before": change.before,
            "after": change.after,
            "judgements": [judgement.result() for judgement in found.judgements],
        },
        diffs=(Diff(header, text, change.text or ""),) if change.changed else (),
    )
