# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_ledger_record: write one state of a record, after the gate of that state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .._core.checks import Check
from .._core.errors import ConflictError
from .._core.lock import forget_cap, set_step
from .._core.names import normalise_ticket
from .._core.record import Record, record_path
from .._core.record_summary import summary_lines
from .guarded_commit import commit_guarded
from .ledger_states import GATES
from .lock import ATTEMPTS
from .observation import Observation, observe
from .outcome import Diff, Outcome
from .review import propose_record
from .run import Invocation
from .sources import Reach

Gate = Callable[[Invocation, Reach, Observation], tuple[Observation, Record, tuple[Check, ...]]]
"""From an observation to the record as it is to be, and what that rests on; raises where it may not be."""


@dataclass(frozen=True)
class Written:
    """A record that was written, or would be."""

    seen: Observation
    before: Record | None
    after: Record
    revision: str
    checks: tuple[Check, ...]


def write_record(invocation: Invocation) -> Outcome:
    """The module's work."""
    normalise_ticket(invocation.params["ticket"])  # one that is none is refused before anything is read
    reach = Reach(invocation.params)
    if invocation.params["state"] == "proposed":
        return propose_record(invocation, reach)
    for attempt in range(ATTEMPTS):
        try:
            return _outcome(_write(invocation, reach))
        except ConflictError as conflict:
            # Somebody moved a branch: what was proved is not what stands now, so all of it is proved again.
            if conflict.code != "fleet-moved" or attempt == ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable: the last attempt returns or raises")


def _write(invocation: Invocation, reach: Reach) -> Written:
    state = invocation.params["state"]
    gate: Gate = GATES[state]
    seen, record, checks = gate(invocation, reach, observe(invocation, reach))
    before = seen.ledger.records.get(record.id)
    if before == record or invocation.check_mode:
        return Written(seen, before, record, seen.ledger.revision, checks)
    ticket = normalise_ticket(invocation.params["ticket"])
    pool = record.spec.profile_id
    document = set_step(
        seen.lock, (pool,), ticket, invocation.params["run_id"], now=seen.now, step=record.state
    )
    if not record.holds:
        document = forget_cap(document, ticket)
    files = {record_path(seen.ledger.cluster, record.id): record.to_yaml().encode()}
    message = f"{record.id}: {record.state}"
    revision = commit_guarded(reach, seen, files, document, message)
    return Written(seen, before, record, revision, checks)


def _outcome(written: Written) -> Outcome:
    record, before = written.after, written.before
    changed = before != record
    path = record_path(written.seen.ledger.cluster, record.id)
    diff = Diff(path, before.to_yaml() if before else "", record.to_yaml())
    return Outcome(
        changed=changed,
        msg=f"{record.id} is {record.state} at {written.revision[:12]}",
        checks=written.checks,
        plan=(f"commit {record.id} as {record.state}",) if changed else (),
        result={
            "record": record.value(),
            "revision": written.revision,
            "summary": summary_lines(record),
        },
        diffs=(diff,) if changed else (),
    )
