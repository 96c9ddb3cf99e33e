# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_project_cap: set a project's device cap for a reservation, or put back what was there before."""

from __future__ import annotations

from dataclasses import dataclass

from .._adapters.backend import BackendClient
from .._core.amount import QuantityError
from .._core.cluster_objects import Project
from .._core.errors import ConflictError, InputError, ObservationError, PartialChange
from .._core.lock import forget_cap, remember_cap, set_step
from .._core.names import normalise_ticket
from .._core.pod_devices import counts_for_quota, names_resource, pod_devices
from .._core.project_cap import CapChange, cap_change, cap_of, require_not_below_use, wanted_cap
from .._core.record import Record
from .._core.tenancy import tenancy_of
from .._core.times import moment
from .guarded_commit import commit_guarded
from .holders import resource_of
from .lock import ATTEMPTS
from .observation import Observation, observe
from .outcome import Diff, Outcome
from .run import Invocation
from .sources import Reach, required
from .ticket_record import require_lock, require_record
from .waiting import wait_until

STATES = ("pending", "active", "releasing")


@dataclass(frozen=True)
class Capping:
    """What is to be done with the cap of a record's project."""

    record: Record
    change: CapChange
    transport: str


def set_cap(invocation: Invocation) -> Outcome:
    """The module's work."""
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
    record = require_record(seen, ticket, STATES)
    if not record.spec.project:
        raise InputError(
            "record-without-project",
            f"{record.id} holds devices for the whole organization, so there is no project to cap",
            next_action="leave the cap out for this ticket",
        )
    namespace = _project(seen, record).status.namespace
    key = f"requests.{resource_of(seen, record.spec.profile_id)}"
    wanted = wanted_cap(
        record,
        seen.ledger.records.values(),
        restore=invocation.params["restore"],
        remembered=seen.lock.project_caps.get(ticket),
    )
    quota = cap_of(seen.snapshot.observed.resource_quotas, namespace)
    return Capping(record, cap_change(quota, namespace, key, wanted), seen.ledger.policy.spec.project_cap)


def _project(seen: Observation, record: Record) -> Project:
    observed = seen.snapshot.observed
    tenancy = tenancy_of(observed.organizations, observed.projects)
    project = tenancy.project(record.spec.organization, record.spec.project)
    if project is None or not project.status.namespace:
        raise ObservationError(
            "project-missing",
            f"project {record.spec.project} of organization {record.spec.organization} has no namespace",
            next_action="see what became of the project, then run again",
        )
    return project


def _used(seen: Observation, change: CapChange) -> int | None:
    resource = change.key.removeprefix("requests.")
    now = moment(seen.now)
    pods = [
        pod
        for pod in seen.snapshot.observed.pods
        if pod.metadata.namespace == change.namespace
        and names_resource(pod, resource)
        and counts_for_quota(pod, now)
    ]
    try:
        return sum(pod_devices(pod, resource) for pod in pods)
    except QuantityError:
        return None


def _write(invocation: Invocation, reach: Reach) -> Capping:
    seen = observe(invocation, reach)
    capping = _decided(invocation, seen)
    record, change = capping.record, capping.change
    require_lock(invocation, seen, record.spec.profile_id)
    require_not_below_use(change, _used(seen, change), record.spec.project)
    if not change.changed or invocation.check_mode:
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
        document = remember_cap(document, record.ticket, change.before)
    commit_guarded(reach, seen, {}, document, f"{record.id}: project cap")
    if capping.transport == "backend":
        _through_backend(invocation, change)
    return capping


def _through_backend(invocation: Invocation, change: CapChange) -> None:
    params = invocation.params
    token_file = required(params, "backend_token_file", "GPUOPS_BACKEND_TOKEN_FILE")
    backend = BackendClient(required(params, "backend_url", "GPUOPS_BACKEND_URL"), token_file)
    if change.hard:
        backend.put_quota(change.namespace, {"hard": dict(change.hard)})
    else:
        backend.delete_quota(change.namespace)


def _wait(invocation: Invocation, reach: Reach, capping: Capping) -> None:
    """Wait until the cap is what it has to be, then drop the note of a cap that was put back."""
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
    seen = waited.seen
    if params["restore"] and capping.record.ticket in seen.lock.project_caps:
        document = forget_cap(seen.lock, capping.record.ticket)
        commit_guarded(reach, seen, {}, document, f"{capping.record.id}: cap put back")


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
