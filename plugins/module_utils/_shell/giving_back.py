# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is given back with a record: holders, use, doubts, add-on and cap, on one observation."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from .._core.errors import ObservationError, PolicyBlocked
from .._core.finding_ids import ENTITLEMENT_CONVERGING
from .._core.fleet_files import FleetFile
from .._core.ledger_view import view_of
from .._core.lock import LOCK_FILE, take
from .._core.names import normalise_ticket
from .._core.project_cap import CapChange, why_below_use
from .._core.proof import Proof
from .._core.record import Record
from .._core.release_asking import Asking
from .._core.release_judgement import judge_release, same_twice
from .._core.world import world_of
from .cap_in_project import cap_change_in, used_in_project
from .entitlement import entitling
from .observation import Observation, observe
from .progress import report
from .proof import Question
from .run import Invocation
from .sources import Reach
from .ticket_record import require_record

GIVEN_BACK = ("pending", "releasing")
"""States in which a record's entitlement may be taken back."""


@dataclass(frozen=True)
class GivingBack:
    """A record that is being released or canceled, as one observation shows it.

    Attributes:
        seen: the observation.
        record: the ticket's record.
        asking: holders, use and doubts, in words.
        cap: what is to be done with the project's cap; None without a project.
    """

    seen: Observation
    record: Record
    asking: Asking
    cap: CapChange | None


@dataclass(frozen=True)
class Freed:
    """How a wait for holders ended.

    Attributes:
        last: what was seen last.
        met: whether two readings a poll interval apart were clear, with the same Pods.
        seconds: how long it took.
    """

    last: GivingBack
    met: bool
    seconds: float


def giving_back(seen: Observation, record: Record) -> GivingBack:
    """Judge a record's release on one observation."""
    proof = Question(record.spec.profile_id, "show", None, record.ticket).answer(seen)
    judgement = judge_release(proof, record, world_of(seen.snapshot, seen.view))
    cap = cap_change_in(seen, record, restore=True) if proof.resource else None
    in_use = ""
    if cap is not None and cap.changed:
        in_use = why_below_use(cap, used_in_project(seen, cap), record.spec.project)
    return GivingBack(seen, record, Asking(judgement, in_use, _unsettled(seen, record, proof)), cap)


def _unsettled(seen: Observation, record: Record, proof: Proof) -> str:
    """What disagrees with an add-on that is still granted; once it is reduced, quota is on its way."""
    if record.state != "releasing" or not proof.organizations:
        return ""
    state = entitling(record, seen, without=True, proof=proof)
    if state.before == state.target.quantity:
        return ""
    own = f"organization/{record.spec.organization}"
    found = [one for one in proof.stops if one.id == ENTITLEMENT_CONVERGING and one.object == own]
    return found[0].message if found else ""


def as_holder(seen: Observation, profile_id: str, ticket: str) -> Observation:
    """The observation as it will be once the ticket holds a free pool's lock, for a plan that takes none."""
    if profile_id in seen.lock.pools:
        return seen
    document = take(seen.lock, (profile_id,), ticket, "plan", now=seen.now, step="plan").document
    kept = tuple(file for file in seen.snapshot.lock.files if file.path != LOCK_FILE)
    file = FleetFile.of(LOCK_FILE, document.to_yaml().encode())
    lock = seen.snapshot.lock.model_copy(update={"files": (*kept, file)})
    snapshot = seen.snapshot.model_copy(update={"lock": lock})
    return replace(seen, snapshot=snapshot, lock=document, view=view_of(seen.ledger, lock))


def until_free(invocation: Invocation, reach: Reach, *, timeout: float) -> Freed:
    """Look until nothing is used that does not stay, and see the same a whole poll interval later.

    A clear reading is always followed by its second one, even where the time is up meanwhile.

    Args:
        invocation: its options name ticket and poll_interval, in seconds.
        reach: how it reaches the world.
        timeout: seconds.

    Raises:
        ObservationError: the last look of a wait that ran out could not read.
        PolicyBlocked: the record is not pending or releasing (any more).
    """
    interval = invocation.params["poll_interval"]
    ticket = normalise_ticket(invocation.params["ticket"])

    def look() -> GivingBack:
        seen = observe(invocation, reach)
        return giving_back(seen, require_record(seen, ticket, GIVEN_BACK))

    began = time.monotonic()
    earlier: GivingBack | None = None
    while True:
        left = began + timeout - time.monotonic()
        now = _borne(look, left)
        if now is not None:
            if earlier is not None and _twice(earlier, now):
                return Freed(now, met=True, seconds=time.monotonic() - began)
            if not now.asking.clear and left <= 0:
                return Freed(now, met=False, seconds=time.monotonic() - began)
            report(_told(now, time.monotonic() - began))
        if now is None or not now.asking.clear:
            earlier = None
            time.sleep(min(interval, max(0.05, left)))
        else:
            if earlier is not None and left <= 0:
                return Freed(now, met=False, seconds=time.monotonic() - began)
            earlier = now
            time.sleep(interval)


def _borne(look: Callable[[], GivingBack], left: float) -> GivingBack | None:
    try:
        return look()
    except ObservationError as error:
        if left <= 0:
            raise
        report(f"waiting for holders: {error.message}")
        return None


def _twice(earlier: GivingBack, now: GivingBack) -> bool:
    return now.asking.clear and same_twice(earlier.asking.judgement, now.asking.judgement)


def _told(now: GivingBack, seconds: float) -> str:
    if now.asking.clear:
        return "no more is used than stays entitled; reading a second time"
    return f"waiting for holders since {seconds:.0f} s: {now.asking.missing}"


def require_free(invocation: Invocation, reach: Reach) -> GivingBack:
    """Stop unless two readings a poll interval apart show nothing used that does not stay, and no doubt.

    Raises:
        PolicyBlocked: ``entitlement-in-use``, naming the holders, or what is in doubt.
    """
    freed = until_free(invocation, reach, timeout=0)
    if freed.met:
        return freed.last
    asking = freed.last.asking
    spec = freed.last.record.spec
    raise PolicyBlocked(
        "entitlement-in-use" if asking.over or asking.clear else "release-in-doubt",
        f"{spec.addon_id} of {spec.organization} may not be reduced: "
        f"{asking.missing or 'the Pods changed between two readings'}",
        next_action=f"{asking.next_action}; nothing was changed",
    )
