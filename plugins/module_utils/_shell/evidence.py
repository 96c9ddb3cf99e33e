# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_evidence: seal what a run saw, and verify what was sealed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .._adapters.evidence import seal
from .._adapters.evidence_reading import is_sealed, read_sealed
from .._adapters.evidence_verification import verify
from .._core.checks import Check
from .._core.errors import ObservationError, PolicyBlocked
from .._core.names import normalise_ticket, record_id
from .._core.record import Record
from .._core.smoke import cycle_problem
from .observation import Observation, observe
from .outcome import Outcome
from .run import Invocation
from .sources import Reach
from .ticket_record import record_of

SMOKE = "smoke.json"
REPORTS = "reports.json"
VERSION = "0.1.0"


def keep_evidence(invocation: Invocation) -> Outcome:
    """The module's work."""
    if invocation.params["state"] == "sealed":
        return _seal(invocation)
    return _verify(invocation)


def _seal(invocation: Invocation) -> Outcome:
    params = invocation.params
    identifier = record_id(normalise_ticket(params["ticket"]))
    # A run that seals what it saw of its failure may have sealed its success before.
    run = params["run_id"] + ("-failed" if params["failure"] else "")
    new = not is_sealed(params["evidence_dir"], identifier, run)
    seen = observe(invocation)
    plan = (f"seal evidence of {identifier}",) if new else ()
    if invocation.check_mode:
        result = {"evidence_revision": "", "verified": True, "altered": []}
        return Outcome(changed=new, msg=f"would seal evidence of {identifier}", plan=plan, result=result)
    revision = seal(params["evidence_dir"], identifier, run, _files(params, identifier, seen))
    return Outcome(
        changed=new,
        msg=f"evidence of {identifier} is sealed: {revision}",
        plan=plan,
        result={"evidence_revision": revision, "verified": True, "altered": []},
    )


def _files(params: Mapping[str, Any], identifier: str, seen: Observation) -> dict[str, bytes]:
    record = record_of(seen, normalise_ticket(params["ticket"]))
    snapshot = seen.snapshot
    documents: dict[str, Any] = {
        "plan.json": params["plan"],
        REPORTS: params["reports"],
        SMOKE: params["smoke"],
        "failure.json": params["failure"],
        "alerts.json": snapshot.alerts.model_dump(mode="json"),
        "record.json": record.value() if record else None,
        "versions.json": {
            "collection": VERSION,
            "kubernetes": snapshot.observed.server_version,
            "fleet": snapshot.fleet.revision,
            "lock": snapshot.lock.revision,
            "observedAt": snapshot.observed.server_time,
            "record": identifier,
        },
    }
    files = {name: _json(value) for name, value in documents.items() if value is not None}
    return {**files, "snapshot.json": snapshot.to_json().encode()}


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()


def _verify(invocation: Invocation) -> Outcome:
    params = invocation.params
    ticket = normalise_ticket(params["ticket"])
    identifier = record_id(ticket)
    expected = params["evidence_revision"] or _recorded_revision(invocation, ticket)
    found = verify(identifier, params["evidence_dir"], expected)
    faults = [*found.altered, *found.missing, *found.extra]
    if not found.verified:
        named = ", ".join(faults) or f"no bundle has revision {expected}"
        raise PolicyBlocked(
            "evidence-not-verified",
            f"evidence of {identifier} is not as it was sealed: {named}",
            next_action="find out who changed the named files, and restore them from a copy",
            report={"evidence_revision": expected, "verified": False, "altered": faults},
        )
    message = f"evidence of {identifier} verifies: {len(found.revisions)} bundles"
    warnings = tuple(f"others can reach {path}: run chmod -R go-rwx on it" for path in found.exposed)
    return Outcome(
        changed=False,
        msg=message,
        checks=(Check(id="evidence", status="pass", message=message, object=f"record/{identifier}"),),
        result={"evidence_revision": expected, "verified": True, "altered": []},
        warnings=warnings,
    )


def _recorded_revision(invocation: Invocation, ticket: str) -> str:
    reach = Reach(invocation.params)
    seen = observe(invocation, reach)
    record = record_of(seen, ticket)
    if record is None or not record.status.evidence_revision:
        raise ObservationError(
            "evidence-not-recorded",
            f"{record_id(ticket)} names no evidence revision in the ledger",
            next_action="give evidence_revision, or name the ticket of an active record",
        )
    return record.status.evidence_revision


def require_verified(invocation: Invocation, record: Record) -> str:
    """The evidence revision that a state rests on, whose bundle is there as it was sealed.

    Raises:
        ObservationError: ``evidence-not-verified``.
    """
    params = invocation.params
    read_sealed(params["evidence_dir"], record.id, params["evidence_revision"], "snapshot.json")
    return str(params["evidence_revision"])


def require_release_evidence(invocation: Invocation, record: Record) -> str:
    """As :func:`require_verified`, with the equation as it was recalculated after the reduction.

    Raises:
        PolicyBlocked: ``equation-not-recorded``.
    """
    params = invocation.params
    revision = require_verified(invocation, record)
    try:
        reports = json.loads(read_sealed(params["evidence_dir"], record.id, revision, REPORTS))
        equation = reports["after"]["equation"]
    except (ObservationError, ValueError, KeyError, TypeError):
        equation = None
    if not isinstance(equation, dict) or "headroom" not in equation:
        raise PolicyBlocked(
            "equation-not-recorded",
            f"{record.id} cannot become released: its evidence {revision} has no recalculated equation",
            next_action=f"run playbooks/release.yml -e ticket={record.ticket} again, which records it",
        )
    return revision


def require_smoke_evidence(invocation: Invocation, record: Record) -> str:
    """As :func:`require_verified`, with the result of a passed smoke cycle in the bundle.

    Raises:
        PolicyBlocked: ``smoke-not-passed``.
    """
    params = invocation.params
    revision = require_verified(invocation, record)
    try:
        results = json.loads(read_sealed(params["evidence_dir"], record.id, revision, SMOKE))
    except (ObservationError, ValueError) as error:
        raise _not_smoked(record, "the sealed evidence has no result of one") from error
    problem = cycle_problem(results) if isinstance(results, dict) else "the result is no mapping"
    if problem:
        raise _not_smoked(record, problem)
    return revision


def _not_smoked(record: Record, why: str) -> PolicyBlocked:
    return PolicyBlocked(
        "smoke-not-passed",
        f"{record.id} cannot become active without a passed smoke cycle: {why}",
        next_action=f"run playbooks/assign.yml -e ticket={record.ticket} again, which runs the smoke cycle",
    )
