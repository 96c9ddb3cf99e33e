# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Freezes a pool's sales when an audit that is enforced has failed.

Runbook heading: Audit and reconciliation.
"""

from __future__ import annotations

from dataclasses import dataclass

from .._core.audit import AuditReport
from .._core.cluster_config import config_path, with_setting
from .._core.document import read
from .._core.errors import ConflictError
from .._core.fleet_files import FleetFile
from .._core.freeze import Freeze, freeze_path
from .._core.gate import CLOSED
from .._core.gate_use import GATE_KEYS
from .._core.names import LEDGER_ROOT
from .fences import keep_fences
from .run import Invocation
from .sources import Reach

ATTEMPTS = 10


@dataclass(frozen=True)
class Enforced:
    """What enforcing changed, or would change, one sentence each."""

    steps: tuple[str, ...]


def enforce(invocation: Invocation, reach: Reach, report: AuditReport) -> Enforced:
    """Raise the failing pools' fences, then freeze them and close creation in one fleet commit.

    Holders and entitlements stay as they are. The lock is neither needed nor taken; twice is once.
    """
    pools = report.failing_pools
    for attempt in range(ATTEMPTS):
        tree = reach.fleet.read((LEDGER_ROOT, f"clusters/{reach.cluster}"))
        files = {
            freeze_path(reach.cluster, pool): _freeze(report, pool)
            for pool in pools
            if not _stands(tree.file(freeze_path(reach.cluster, pool)))
        }
        steps = [f"freeze sales of {path.rpartition('/')[2].removesuffix('.yaml')}" for path in sorted(files)]
        config = tree.file(config_path(reach.cluster))
        if config is not None:
            closed = with_setting(config, GATE_KEYS["vm"], CLOSED)
            if closed.content != config.content:
                files[config.path] = closed.content
                steps.append(f"set {GATE_KEYS['vm']}={CLOSED} in {config.path}")
        if invocation.check_mode:
            return Enforced(tuple(steps))
        fenced = keep_fences(reach, frozen=frozenset(pools))
        steps = [f"raise fence {key}" for key in fenced] + steps
        if not files:
            return Enforced(tuple(steps))
        try:
            message = f"Freeze {', '.join(pools)}: {report.errors[0].id}"
            reach.fleet.commit(reach.fleet.branch, tree.revision, files, message)
        except ConflictError:
            if attempt == ATTEMPTS - 1:
                raise
            continue
        return Enforced(tuple(steps))
    raise AssertionError("unreachable: the last attempt returns or raises")


def _stands(file: FleetFile | None) -> bool:
    """Whether a freeze is there that nobody has thawed; one that cannot be read stands."""
    if file is None:
        return False
    freeze = read(Freeze, file).document
    return freeze is None or freeze.frozen


def _freeze(report: AuditReport, pool: str) -> bytes:
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
