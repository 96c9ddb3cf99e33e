# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a ticket's run needs on this machine; a review does without."""

from __future__ import annotations

from .._adapters.evidence_directory import checked_directory
from .._core.checks import Check
from .._core.errors import GpuopsError
from .observation import Observation
from .run import Invocation


def preflight(invocation: Invocation, seen: Observation, *, caps: bool) -> tuple[Check, ...]:
    """Failed checks of evidence folder and backend.

    Args:
        invocation: its options name them.
        seen: the observation, for the policy's transport of project caps.
        caps: whether the run changes a project's cap.
    """
    params = invocation.params
    if invocation.check_mode or params["snapshot"]:
        return ()
    checks = []
    try:
        checked_directory(params["evidence_dir"] or "")
    except GpuopsError as error:
        checks.append(_missing("evidence-dir", error.message, error.next_action))
    if caps and seen.ledger.policy.spec.project_cap == "backend":
        for option in ("backend_url", "backend_token_file"):
            if not params[option]:
                action = f"set {option}, or export GPUOPS_{option.upper()}"
                checks.append(_missing(option.replace("_", "-"), f"{option} is not set", action))
    return tuple(checks)


def _missing(name: str, message: str, next_action: str) -> Check:
    return Check(id=name, status="fail", message=message, next_action=next_action, object="this machine")
