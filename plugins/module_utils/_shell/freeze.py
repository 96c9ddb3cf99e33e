# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Freezes a pool's sales when an audit that is enforced has failed.

Runbook heading: Audit and reconciliation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from .._adapters.observe import read_confirmed
from .._core.audit import AuditReport
from .._core.cluster_config import config_path, with_setting
from .._core.document import read
from .._core.errors import ConflictError, GpuopsError, ObservationError
from .._core.fleet_files import FleetFile, FleetTree
from .._core.freeze import Freeze, freeze_path
from .._core.gate import CLOSED, GateState, gate_state
from .._core.gate_use import GATE_KEYS
from .._core.names import LEDGER_ROOT
from .._core.policy import Policy
from .fences import raise_fences
from .run import Invocation
from .sources import Reach
from .waiting import wait_until

ATTEMPTS = 10
GATE_PARTS = ("cluster_config", "gate_copies")


@dataclass
class Enforced:
    """What enforcing came to.

    Attributes:
        steps: what was changed, or would be in check mode, one sentence each.
        problems: what could not be closed, with cause and next step.
    """

    steps: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def attempt(self, what: str, work: Callable[[], list[str]]) -> None:
        """Do one part; what fails is told, and the other parts are closed all the same."""
        try:
            self.steps += work()
        except GpuopsError as error:
            self.problems.append(f"{what}: {error.message} [{error.code}] Next: {error.next_action}")


def enforce(invocation: Invocation, reach: Reach, report: AuditReport, policy: Policy) -> Enforced:
    """Raise the failing pools' fences, then freeze them and close creation in one fleet commit.

    Holders and entitlements stay as they are. The lock is neither needed nor taken; twice is once. A part
    that cannot be closed keeps no other part open.

    Args:
        invocation: for check mode, and how long to wait for the gate.
        reach: fleet and API server.
        report: the audit that failed.
        policy: the policy that it rests on.
    """
    pools = report.failing_pools
    done = Enforced()
    check_mode = invocation.check_mode

    def fences() -> list[str]:
        return [f"raise fence {key}" for key in raise_fences(reach, pools, check_mode=check_mode)]

    done.attempt("the fences are not raised", fences)
    done.attempt("sales are not frozen", lambda: _freeze(reach, report, pools, check_mode=check_mode))
    done.attempt("the gate is not closed in the fleet", lambda: _gate_line(reach))
    if not check_mode:
        # Who let go of a pool's lock between the two writes has lowered its fences: it was not frozen yet.
        if not done.problems:
            done.attempt("the fences are not raised", fences)
        done.attempt("creation is not closed everywhere", lambda: _closed_live(invocation, reach, policy))
    return done


def _freeze(reach: Reach, report: AuditReport, pools: tuple[str, ...], *, check_mode: bool) -> list[str]:
    """The freezes and the gate's line, in one commit; a line that cannot be written is left out."""
    for attempt in range(ATTEMPTS):
        tree = _fleet(reach)
        files = {
            freeze_path(reach.cluster, pool): _document(report, pool)
            for pool in pools
            if not _stands(tree.file(freeze_path(reach.cluster, pool)))
        }
        steps = [f"freeze sales of {path.rpartition('/')[2].removesuffix('.yaml')}" for path in sorted(files)]
        path = config_path(reach.cluster)
        config = tree.file(path)
        closed = _closed(config)
        if config is not None and closed is not None and closed != config.content:
            files[path] = closed
            steps.append(f"set {GATE_KEYS['vm']}={CLOSED} in {path}")
        if check_mode or not files:
            return steps
        message = f"Freeze {', '.join(pools) or 'creation'}: {report.errors[0].id}"
        try:
            reach.fleet.commit(reach.fleet.branch, tree.revision, files, message)
        except ConflictError:
            if attempt == ATTEMPTS - 1:
                raise
            continue
        return steps
    raise AssertionError("unreachable: the last attempt returns or raises")


def _fleet(reach: Reach) -> FleetTree:
    return reach.fleet.read((LEDGER_ROOT, f"clusters/{reach.cluster}"))


def _closed(config: FleetFile | None) -> bytes | None:
    """The file with the gate closed; None where that cannot be written."""
    try:
        return with_setting(config, GATE_KEYS["vm"], CLOSED).content if config is not None else None
    except ObservationError:
        return None


def _gate_line(reach: Reach) -> list[str]:
    """Nothing to do, or the reason why the gate's line could not be written.

    Raises:
        ObservationError: the file is missing or cannot be read.
    """
    path = config_path(reach.cluster)
    config = _fleet(reach).file(path)
    if config is None:
        raise ObservationError(
            "cluster-config-missing",
            f"the fleet repository has no {path}",
            next_action="restore the file in the fleet repository, then audit again",
        )
    with_setting(config, GATE_KEYS["vm"], CLOSED)
    return []


def _closed_live(invocation: Invocation, reach: Reach, policy: Policy) -> list[str]:
    """Wait until every copy of the gate is closed; nothing is written.

    Raises:
        ObservationError: ``gate-not-converged``.
    """

    def look() -> GateState:
        observed = read_confirmed(reach.client, policy.spec.cluster_uid, GATE_PARTS)
        file = _fleet(reach).file(config_path(reach.cluster))
        return gate_state("vm", file, observed.cluster_config, observed.gate_copies)

    def missing(state: GateState) -> str:
        return "" if state.closed else ", ".join(f"{place} {said}" for place, said in state.copies().items())

    params = invocation.params
    waited = wait_until(
        "every copy of gate vm to be closed",
        look,
        missing,
        timeout=params["wait_timeout"],
        interval=params["poll_interval"],
    )
    if not waited.met:
        raise ObservationError(
            "gate-not-converged",
            f"gate vm is not closed everywhere after {waited.seconds:.0f} s: {waited.last}",
            next_action="see why Flux, Helm or the rollout does not follow the fleet, then audit again",
        )
    return []


def _stands(file: FleetFile | None) -> bool:
    """Whether a freeze is there that nobody has thawed; one that cannot be read stands."""
    if file is None:
        return False
    freeze = read(Freeze, file).document
    return freeze is None or freeze.frozen


def _document(report: AuditReport, pool: str) -> bytes:
    own = [finding.id for finding in report.errors if finding.profile in ("", pool)]
    freeze = Freeze.model_validate(
        {
            "since": report.server_time,
            "audit": f"{report.revision[:12] or 'no revision'} at {report.server_time}",
            "findings": tuple(dict.fromkeys(own)),
            "thawed": None,
        }
    )
    return freeze.to_yaml().encode()
