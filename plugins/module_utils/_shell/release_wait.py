# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_release_info: who holds what a record gives back, and whether nothing is used that does not stay."""

from __future__ import annotations

from .._core.names import normalise_ticket
from .giving_back import GIVEN_BACK, Freed, GivingBack, giving_back, until_free
from .observation import Observation, observe
from .outcome import Outcome
from .run import Invocation
from .sources import Reach
from .ticket_record import require_record


def look_at_release(invocation: Invocation) -> Outcome:
    """The module's work."""
    reach, params = Reach(invocation.params), invocation.params
    if params["wait"]:
        freed = until_free(invocation, reach, timeout=params["wait_timeout"])
        return _outcome(freed.last, clear=freed.met, told=_waited(freed))
    seen = observe(invocation, reach)
    record = require_record(seen, normalise_ticket(params["ticket"]), ("active", *GIVEN_BACK))
    state = giving_back(seen, record)
    return _outcome(state, clear=state.asking.clear, told="")


def _waited(freed: Freed) -> str:
    if freed.met:
        return "two readings a poll interval apart show the same Pods, and nothing used that does not stay"
    return f"after {freed.seconds:.0f} s still waiting"


def support_owner(seen: Observation, ticket: str) -> str:
    """The support owner of the ticket's order file; empty where there is none that can be read."""
    if ticket not in seen.ledger.orders:
        return ""
    return str(seen.ledger.order(ticket).spec.support_owner)


def _outcome(state: GivingBack, *, clear: bool, told: str) -> Outcome:
    asking, spec = state.asking, state.record.spec
    event = asking.event(support_owner(state.seen, state.record.ticket))
    missing = asking.missing or ("" if clear else "the Pods changed between two readings")
    said = f"{spec.organization} uses at most what stays entitled to {spec.profile_id}"
    msg = said if clear else f"{state.record.id} waits: {missing}. Next: {asking.next_action}"
    if told:
        msg = f"{told}: {msg}"
    judged = asking.judgement.result()
    return Outcome(
        changed=False,
        msg=msg,
        checks=asking.checks,
        result={
            **{key: judged[key] for key in ("stays", "uses", "holders", "waits_for", "converging")},
            "free": clear,
            "in_use": asking.over,
            "reason": asking.reason,
            "event": event.result(),
            "summary": [msg, *(f"  holder {item.name}" for item in asking.judgement.holders)],
        },
    )
