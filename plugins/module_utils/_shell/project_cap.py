# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_project_cap: set a project's device cap for a reservation, or put back what was there before."""

from __future__ import annotations

from dataclasses import dataclass

from .._adapters.backend import BackendClient
from .._core.errors import ConflictError, InputError, ObservationError, PartialChange
from .._core.lock import remember_cap, set_step
from .._core.names import normalise_ticket
from .._core.project_cap import CapChange, cap_before, require_not_below_use
from .._core.record import Record
from .cap_in_project import cap_change_in, used_in_project
from .giving_back import GIVEN_BACK
from .guarded_commit import commit_guarded
from .lock import ATTEMPTS
from .observation import Observation, observe
from .outcome import Diff, Outcome
from .run import Invocation
from .sources import Reach, required
from .ticket_record import require_lock, require_record
from .waiting import wait_until

STATES = ("pending", "active", "releasing")
NO_PROJECT = CapChange("", "", None, None, {})
"""Nothing to put back: the project is gone, and its cap with it."""


@dataclass(frozen=True)
class Capping:
    """What is to be done with the cap of a record's project."""

    record: Record
    change: CapChange
    transport: str


def set_cap(invocation: Invocation) -> Outcome:
    """The module's work."""
    normalise_ticket(invocation.params["ticket"])  # one that is none is refused before anything is read
    reach = Reach(invocation.params)
    for attempt in range(ATTEMPTS):
        try:
            capping = _write(invocation, reach)
        except ConflictError as conflict:
            if conflict.code != "fleet-moved" or attempt == ATTEMPTS - 1:
                raise
            continue
        if not invocation.check_mode:
            _wait(invocation, reach, capping)
        return _outcome(capping)
    raise AssertionError("unreachable: the last attempt returns or raises")


def _decided(invocation: Invocation, seen: Observation) -> Capping:
    ticket = normalise_ticket(invocation.params["ticket"])
    restore = invocation.params["restore"]
    record = require_record(seen, ticket, GIVEN_BACK if restore else STATES)
    if not record.spec.project:
        raise InputError(
            "record-without-project",
            f"{record.id} holds devices for the whole organization, so there is no project to cap",
            next_action="leave the cap out for this ticket",
        )
    change = cap_change_in(seen, record, restore=restore)
    return Capping(record, change or NO_PROJECT, seen.ledger.policy.spec.project_cap)


def _write(invocation: Invocation, reach: Reach) -> Capping:
    seen = observe(invocation, reach)
    capping = _decided(invocation, seen)
    record, change = capping.record, capping.change
    require_lock(invocation, seen, record.spec.profile_id)
    if not change.changed:
        return capping
    require_not_below_use(change, used_in_project(seen, change), record.spec.project)
    backend = _backend(invocation) if capping.transport == "backend" else None
    if invocation.check_mode:
        return capping
    document = set_step(
        seen.lock,
        (record.spec.profile_id,),
        record.ticket,
        invocation.params["run_id"],
        now=seen.now,
        step="project-cap",
    )
    if not invocation.params["restore"]:
        records, notes = seen.ledger.records.values(), seen.lock.project_caps
        before = cap_before(record, records, notes, change.before)
        document = remember_cap(document, record.ticket, before)
    commit_guarded(reach, seen, {}, document, f"{record.id}: project cap")
    if backend is not None:
        _through_backend(backend, change)
    return capping


def _backend(invocation: Invocation) -> BackendClient:
    """The backend that the options name, asked for before anything is noted."""
    params = invocation.params
    token_file = required(params, "backend_token_file", "GPUOPS_BACKEND_TOKEN_FILE")
    return BackendClient(required(params, "backend_url", "GPUOPS_BACKEND_URL"), token_file)


def _through_backend(backend: BackendClient, change: CapChange) -> None:
    if change.hard:
        backend.put_quota(change.namespace, {"hard": dict(change.hard)})
    else:
        backend.delete_quota(change.namespace)


def _wait(invocation: Invocation, reach: Reach, capping: Capping) -> None:
    """Wait until the cap is what it has to be.

    The note of what was there before stays until the record is closed: a run that comes again after a
    cap was put back has to find it, or would take the cap away.
    """
    params = invocation.params
    what = f"project {capping.record.spec.project} to be capped at {_said(capping.change.after)}"

    def missing(seen: Observation) -> str:
        now = _decided(invocation, seen).change
        return f"the cap is {_said(now.before)}" if now.changed else ""

    waited = wait_until(
        what,
        lambda: observe(invocation, reach),
        missing,
        timeout=params["wait_timeout"],
        interval=params["poll_interval"],
    )
    if not waited.met:
        click = (
            f"set the device cap of project {capping.record.spec.project} to {_said(capping.change.after)}"
        )
        error = PartialChange if capping.transport == "backend" else ObservationError
        raise error(
            "project-cap-not-converged",
            f"project {capping.record.spec.project} is not capped at {_said(capping.change.after)} after "
            f"{waited.seconds:.0f} s: {waited.last}",
            next_action=f"{click} in the product, then run again"
            if capping.transport == "observe"
            else "see why the backend's change does not arrive, then run again",
        )


def _said(devices: int | None) -> str:
    return "no limit of its own" if devices is None else f"{devices} devices"


def _outcome(capping: Capping) -> Outcome:
    change, project = capping.change, capping.record.spec.project
    step = f"cap project {project} at {_said(change.after)} (before: {_said(change.before)})"
    before, after = (f"{change.key}: {_said(number)}\n" for number in (change.before, change.after))
    return Outcome(
        changed=change.changed,
        msg=f"project {project} is capped at {_said(change.after)}",
        plan=(step,) if change.changed else (),
        result={"before": change.before, "after": change.after, "converged": {"cap": True}},
        diffs=(Diff(f"resourcequota/{change.namespace}/project-quota", before, after),)
        if change.changed
        else (),
    )
