# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What has to be true before a record is closed: nothing of it is entitled, capped or used any more."""

from __future__ import annotations

from .._core.checks import Check
from .._core.errors import PolicyBlocked
from .._core.record import Record
from .entitlement import require_taken_back
from .giving_back import GivingBack, giving_back
from .observation import Observation


def require_given_back(record: Record, seen: Observation) -> tuple[Check, ...]:
    """Entitlement is taken back, no more is used than stays, nothing is in doubt, the cap is put back.

    Raises:
        PolicyBlocked: ``entitlement-not-taken-back``, ``entitlement-in-use``, ``release-in-doubt``, or
            ``project-cap-not-put-back``.
    """
    checks = require_taken_back(record, seen)
    state = giving_back(seen, record)
    if not state.asking.clear:
        raise _not_free(state, "entitlement-in-use" if state.asking.over else "release-in-doubt")
    _require_cap(state)
    return (*checks, *state.asking.checks)


def require_untouched(record: Record, seen: Observation) -> tuple[Check, ...]:
    """As :func:`require_given_back`; doubt about others does not matter where nothing was ever granted.

    Raises:
        PolicyBlocked: ``entitlement-not-taken-back``, ``entitlement-in-use``, or
            ``project-cap-not-put-back``.
    """
    checks = require_taken_back(record, seen)
    state = giving_back(seen, record)
    if state.asking.over:
        raise _not_free(state, "entitlement-in-use")
    _require_cap(state)
    return checks


def _not_free(state: GivingBack, code: str) -> PolicyBlocked:
    return PolicyBlocked(
        code,
        f"{state.record.id} cannot be closed: {state.asking.missing}",
        next_action=state.asking.next_action,
        report={"holders": [holder.result() for holder in state.asking.judgement.holders]},
    )


def _require_cap(state: GivingBack) -> None:
    cap = state.cap
    if cap is None or not cap.changed:
        return
    raise PolicyBlocked(
        "project-cap-not-put-back",
        f"{state.record.id} cannot be closed: the cap of project {state.record.spec.project} is "
        f"{cap.before}, and has to be {'gone' if cap.after is None else cap.after}",
        next_action="run the playbook again, which puts the cap back",
    )
