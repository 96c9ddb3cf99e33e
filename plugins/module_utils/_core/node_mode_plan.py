# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ordered steps of a transition, as sentences for the person who reviews it."""

from __future__ import annotations

from .node_mode import Action, CordonWrite, Verdict
from .node_mode_facts import ModeRequest

RECHECK = "read the node and its Pods again: unschedulable, zero holders"


def planned_steps(
    request: ModeRequest, verdict: Verdict, *, branch: str, timeout: float, poll: float
) -> tuple[str, ...]:
    """What a run with this verdict would do, in order; nothing where nothing is to do."""
    if verdict.action not in (Action.BEGIN, Action.RESUME):
        return ()
    steps = ["close both creation gates"] if request.gates_closed_first else []
    steps += [f"take the lock of pool {pool} as {request.lock_holder}" for pool in verdict.pools]
    steps += _cordon_step(request, verdict)
    if verdict.edit is not None:
        steps.append(RECHECK)
        steps += [
            f"edit {after.path}: {request.node} {request.from_mode} -> {request.to_mode}"
            for _before, after in verdict.edit.files
        ]
        steps.append(f"commit the change upon {verdict.edit.base[:12]}")
        steps.append(f"push it to branch {branch}, fast-forward only")
    steps.append(
        f"wait for {request.to_mode} on node {request.node}, looking at once and then every {poll:g} s, "
        f"{timeout:g} s at most"
    )
    steps.append(f"uncordon node {request.node} and remove our annotation")
    steps += [f"let go of the lock of pool {pool}" for pool in verdict.pools]
    return tuple(steps)


def _cordon_step(request: ModeRequest, verdict: Verdict) -> list[str]:
    if verdict.cordon is CordonWrite.CORDON:
        return [f"cordon node {request.node}, with our annotation"]
    if verdict.cordon is CordonWrite.ANNOTATE:
        return [f"adopt the cordon of node {request.node}: our annotation, nothing else"]
    return []
