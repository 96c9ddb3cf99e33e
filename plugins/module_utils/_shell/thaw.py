# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_freeze: show freezes, and thaw a pool with two approvers, a reference and a passing audit."""

from __future__ import annotations

from .._core.audit import AuditReport
from .._core.checks import Check
from .._core.errors import ConflictError, GpuopsError, InputError, PartialChange, PolicyBlocked
from .._core.freeze import Freeze, freeze_path, thawed
from .audit import settled_audit
from .fences import keep_fences
from .guarded_commit import commit_guarded
from .lock import ATTEMPTS
from .observation import Observation, observation_of
from .outcome import Diff, Outcome
from .run import Invocation
from .sources import Reach


def change_freeze(invocation: Invocation) -> Outcome:
    """The module's work."""
    reach = Reach(invocation.params)
    for attempt in range(ATTEMPTS):
        audited = settled_audit(invocation, reach)
        seen = observation_of(audited.snapshot)
        if invocation.params["state"] == "info":
            return _shown(seen)
        try:
            return _thaw(invocation, reach, seen, audited.report)
        except ConflictError as conflict:
            if conflict.code != "fleet-moved" or attempt == ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable: the last attempt returns or raises")


def _shown(seen: Observation) -> Outcome:
    lines = [
        f"{profile}: {'frozen' if freeze.frozen else 'thawed'}, since {freeze.since}: "
        + ", ".join(freeze.findings)
        for profile, freeze in sorted(seen.ledger.freezes.items())
    ] or ["no pool was ever frozen"]
    freezes = {profile: freeze.value() for profile, freeze in seen.ledger.freezes.items()}
    return Outcome(
        changed=False, msg="; ".join(lines), plan=(), result={"freezes": freezes, "summary": lines}
    )


def _thaw(invocation: Invocation, reach: Reach, seen: Observation, report: AuditReport) -> Outcome:
    profile = invocation.params["profile_id"]
    freeze = seen.ledger.freezes.get(profile)
    if freeze is None:
        raise InputError(
            "freeze-missing",
            f"pool {profile} was never frozen",
            next_action="name a pool that gpu_freeze shows as frozen",
        )
    if not freeze.frozen:
        # A run that was killed after its commit left the fences up.
        lowered = {} if invocation.check_mode else keep_fences(reach)
        return _outcome(seen, profile, freeze, freeze, lowered=bool(lowered))
    params = invocation.params
    after = thawed(
        freeze,
        product=params["product"],
        sre=params["sre"],
        reference=params["reference"],
        at=seen.now,
    )
    if not report.passed:
        found = "; ".join(f"{finding.message} [{finding.id}]" for finding in report.errors)
        raise PolicyBlocked(
            "audit-failed",
            f"pool {profile} stays frozen: the audit does not pass: {found}",
            next_action="; ".join(dict.fromkeys(finding.next_action for finding in report.errors)),
            report={**report.result(), "checks": [check.result() for check in report.checks]},
        )
    if not invocation.check_mode:
        path = freeze_path(seen.ledger.cluster, profile)
        commit_guarded(reach, seen, {path: after.to_yaml().encode()}, seen.lock, f"Thaw {profile}")
        _lower_fences(reach, profile)
    return _outcome(seen, profile, freeze, after)


def _lower_fences(reach: Reach, profile: str) -> None:
    try:
        keep_fences(reach)
    except GpuopsError as error:
        raise PartialChange(
            "fences-not-lowered",
            f"sales of pool {profile} are thawed, and its fences still stand: {error.message}",
            next_action="run again: a pool that is thawed stays so, and its fences are lowered",
            done=(f"thaw {profile}",),
            remaining=(f"lower the fences of {profile}",),
        ) from error


def _outcome(
    seen: Observation, profile: str, before: Freeze, after: Freeze, *, lowered: bool = False
) -> Outcome:
    thawed_now = before != after
    steps = [f"thaw {profile}"] if thawed_now else []
    steps += [f"lower the fences of {profile}"] if lowered else []
    path = freeze_path(seen.ledger.cluster, profile)
    message = f"sales of pool {profile} are thawed"
    return Outcome(
        changed=bool(steps),
        msg=message,
        checks=(Check(id="pool-frozen", status="pass", message=message, object=f"pool/{profile}"),),
        plan=tuple(steps),
        result={
            "freezes": {profile: after.value()},
            "summary": [
                message,
                "creation stays as it is; open it with playbooks/creation_gate.yml -e state=open",
            ],
        },
        diffs=(Diff(path, before.to_yaml(), after.to_yaml()),) if thawed_now else (),
    )
