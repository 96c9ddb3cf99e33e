# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_audit: audit every pool or some, write the reports, and enforce what a failure asks for."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from .._adapters.observe_snapshot import Identify, observe_snapshot
from .._core.audit import AuditReport, audit_in
from .._core.audit_bundle import audit_bundle
from .._core.document import invalid
from .._core.errors import InputError, PartialChange, PolicyBlocked
from .._core.fleet_files import FleetTree
from .._core.ledger import read_ledger
from .._core.ledger_view import view_of
from .._core.snapshot import Snapshot
from .._core.world import World, world_of
from .audit_reports import write_reports
from .freeze import Enforced, enforce
from .observation import load_saved, save_text
from .outcome import Outcome
from .progress import report as tell
from .proof import READS_AGAIN
from .run import Invocation
from .selection import select
from .sources import Reach


@dataclass(frozen=True)
class Audited:
    """An audit with the observation that it was made on."""

    snapshot: Snapshot
    world: World
    report: AuditReport


def audit_cluster(invocation: Invocation) -> Outcome:
    """The module's work."""
    params = invocation.params
    if params["enforce"] and params["snapshot"]:
        raise InputError(
            "enforce-needs-the-cluster",
            "enforce closes creation on the cluster, and a saved snapshot was given",
            next_action="leave out snapshot, or enforce",
        )
    reach = Reach(params)
    audited = settled_audit(invocation, reach)
    bundle = audit_bundle(audited.report, audited.world, equations_before=params["equations_before"] or None)
    written = write_reports(params["report_dir"], bundle) if params["report_dir"] else ()
    if params["save_snapshot"]:
        save_text(params["save_snapshot"], audited.snapshot.to_json())
    enforced = Enforced()
    policy = audited.world.ledger.policy
    if params["enforce"] and not audited.report.passed and policy is not None:
        enforced = enforce(invocation, reach, audited.report, policy)
    return _outcome(invocation, audited.report, bundle, written, enforced)


def settled_audit(invocation: Invocation, reach: Reach) -> Audited:
    """The audit, with health and use read again before they become a finding.

    Raises:
        ObservationError: ``ledger-invalid``: there is no valid policy, so the cluster is not known; and
            whatever could not be read.
    """
    audited = _audited(invocation, _snapshot(invocation, reach))
    if invocation.params.get("snapshot"):
        return audited
    for attempt in range(READS_AGAIN):
        if not audited.report.worth_reading_again:
            break
        tell(f"reading health again ({attempt + 1} of {READS_AGAIN}): {_said(audited.report)}")
        time.sleep(invocation.params.get("health_interval", 0.0))
        before = audited.snapshot.observed
        again = _snapshot(invocation, reach)
        observed = again.observed.model_copy(
            update={"earlier_leases": before.leases, "earlier_server_time": before.server_time}
        )
        audited = _audited(invocation, again.model_copy(update={"observed": observed}))
    return audited


def _snapshot(invocation: Invocation, reach: Reach) -> Snapshot:
    if invocation.params.get("snapshot"):
        return load_saved(invocation)
    return observe_snapshot(reach.sources(), reach.cluster, _identify_by_policy(reach.cluster))


def _identify_by_policy(cluster: str) -> Identify:
    """A faulty record is a finding, not the end of an audit; without a policy nothing is known."""

    def identify(tree: FleetTree) -> tuple[str, str]:
        reading = read_ledger(tree, cluster)
        if reading.policy is None:
            raise invalid(reading.problems)
        return reading.policy.spec.cluster_uid, cluster

    return identify


def _audited(invocation: Invocation, snapshot: Snapshot) -> Audited:
    reading = read_ledger(snapshot.fleet, snapshot.cluster)
    world = world_of(snapshot, view_of(reading, snapshot.lock))
    profile = invocation.params.get("profile_id")
    return Audited(snapshot, world, audit_in(world, select=select, pools=[profile] if profile else None))


def _said(report: AuditReport) -> str:
    return "; ".join(f"{finding.message} [{finding.id}]" for finding in report.errors)


def lines_of(report: AuditReport) -> list[str]:
    """Lines for the screen: each pool's equation, then every finding with its next step."""
    lines = []
    for profile, proof in report.proofs.items():
        terms = proof.equation.result()
        state = "in service" if proof.in_service else "not in service"
        lines.append(f"{profile} ({state}): headroom {terms['headroom']}")
    for finding in report.findings:
        lines.append(f"{finding.severity.upper():<7} {finding.id}: {finding.message}")
        if finding.severity != "note":
            lines.append(f"        next: {finding.next_action}")
    return [*lines, "audit passed" if report.passed else "audit FAILED"]


def _outcome(
    invocation: Invocation,
    report: AuditReport,
    bundle: dict[str, Any],
    written: tuple[str, ...],
    enforced: Enforced,
) -> Outcome:
    undone = [f"NOT ENFORCED: {problem}" for problem in enforced.problems]
    result: dict[str, Any] = {
        **report.result(),
        "bundle": bundle,
        "reports": list(written),
        "enforced": list(enforced.steps),
        "summary": [*lines_of(report), *enforced.steps, *undone],
    }
    passed = f"audit of {report.cluster} passed: {len(report.findings)} findings, none an error"
    msg = passed if report.passed else f"audit of {report.cluster} failed: {_said(report)}"
    if enforced.problems or (not report.passed and invocation.params["fail_on_error"]):
        raise _failed(invocation, report, "; ".join([msg, *undone]), enforced, result)
    return Outcome(
        changed=bool(enforced.steps), msg=msg, checks=report.checks, plan=tuple(enforced.steps), result=result
    )


def _failed(
    invocation: Invocation, report: AuditReport, msg: str, enforced: Enforced, result: dict[str, Any]
) -> PolicyBlocked | PartialChange:
    """The error of an audit that failed; it says what enforcing changed, and what it could not close."""
    code = "enforcement-incomplete" if enforced.problems else report.errors[0].id
    steps = "; ".join(dict.fromkeys(finding.next_action for finding in report.errors))
    told = {
        **result,
        "checks": [check.result() for check in report.checks],
        "plan": list(enforced.steps),
    }
    if enforced.steps and not invocation.check_mode:
        return PartialChange(
            code,
            msg,
            next_action=steps,
            done=tuple(enforced.steps),
            remaining=tuple(enforced.problems),
            report=told,
        )
    return PolicyBlocked(code, msg, next_action=steps, report=told)
