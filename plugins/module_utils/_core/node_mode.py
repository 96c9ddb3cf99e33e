# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decides what a node-mode transition does: nothing, refuse, begin, or go on where a run stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

from .checks import Check, stopping
from .cluster_objects import Node
from .cordon_mark import cordon_mark
from .errors import GpuopsError, ObservationError, PolicyBlocked
from .modes import owners_on
from .node_holders import NodeHolder, node_holders
from .node_mode_checks import (
    cordon_checks,
    drift_check,
    fleet_checks,
    holder_checks,
    readable_checks,
    sequential_checks,
)
from .node_mode_edit import ModeEdit, mode_edit
from .node_mode_facts import ModeFacts, ModeRequest, NodeState
from .node_mode_gates import gate_checks
from .node_mode_smoke import smoke_checks
from .node_rule import NodeRule
from .unread import Unread


class Action(Enum):
    """What there is to do."""

    UNCHANGED = "unchanged"
    REFUSED = "refused"
    BEGIN = "begin"
    RESUME = "resume"


class CordonWrite(Enum):
    """What has to be written so that the node carries a cordon of this transition."""

    CORDON = "cordon"
    ANNOTATE = "annotate"
    NOTHING = "nothing"


@dataclass(frozen=True)
class Verdict:
    """The answer to one whole look.

    Attributes:
        action: what there is to do.
        checks: every answer up to the stage that decided.
        holders: who holds devices of the node, as far as that is known.
        pools: the pools whose lock is needed.
        cordon: what to write for the cordon.
        edit: the change of the fleet's files; None where none is due.
    """

    action: Action
    checks: tuple[Check, ...]
    holders: tuple[NodeHolder, ...] = ()
    pools: tuple[str, ...] = ()
    cordon: CordonWrite = CordonWrite.NOTHING
    edit: ModeEdit | None = None


def judge(request: ModeRequest, facts: ModeFacts) -> Verdict:
    """The verdict on one whole look ("Order of preconditions", "Resume", "No-op").

    A healthy target is answered first, whatever gates and holders say. Then the stages follow in their
    order; the first one with a problem decides, with all the problems of that stage.
    """
    holders = _holders(request, facts.state)
    pools = facts.ledger.pools_of(request.node)
    if healthy_target(request, facts):
        message = f"node {request.node} is in {request.to_mode}, Ready and not cordoned"
        done = Check(id="target-reached", status="pass", message=message, object=f"node/{request.node}")
        return Verdict(Action.UNCHANGED, (done,), holders, pools)
    checks: tuple[Check, ...] = ()
    for stage in _stages(request, facts, pools, holders):
        checks += stage()
        if stopping(checks):
            return Verdict(Action.REFUSED, checks, holders, pools)
    resuming = resumes(request, facts.state, _fleet_mode(request, facts))
    try:
        edit = None if resuming else mode_edit(request, facts)
    except ObservationError as error:
        return Verdict(Action.REFUSED, (*checks, _not_editable(error)), holders, pools)
    action = Action.RESUME if resuming else Action.BEGIN
    return Verdict(action, checks, holders, pools, _cordon_write(facts.state, resuming), edit)


def healthy_target(request: ModeRequest, facts: ModeFacts) -> bool:
    """Whether fleet, both labels and plugin ownership are at the target, Ready and not cordoned."""
    state = facts.state
    if isinstance(state.node, Unread) or isinstance(state.pods, Unread):
        return False
    return (
        _fleet_mode(request, facts) == state.active == state.expected == request.to_mode
        and state.ready
        and state.cordoned is False
        and owners_on(request.node, state.pods).sole(request.to_mode)
    )


def resumes(request: ModeRequest, state: NodeState, fleet_mode: str) -> bool:
    """Whether the fleet's part is done and the node is on its way, or there ("Resume")."""
    if fleet_mode != request.to_mode:
        return False
    labels = (state.active, state.expected)
    if labels == (request.to_mode, request.to_mode):
        return True
    return bool(state.cordoned) and request.resume_cordoned and _on_the_way(request, labels)


def _on_the_way(request: ModeRequest, labels: tuple[str, str]) -> bool:
    return all(label in (request.from_mode, request.to_mode) for label in labels)


def _fleet_mode(request: ModeRequest, facts: ModeFacts) -> str:
    found = facts.rules(request.cluster).lookup(request.node)
    return found.mode if isinstance(found, NodeRule) else ""


def _holders(request: ModeRequest, state: NodeState) -> tuple[NodeHolder, ...]:
    return () if isinstance(state.pods, Unread) else node_holders(request.node, state.pods)


def _stages(
    request: ModeRequest, facts: ModeFacts, pools: tuple[str, ...], holders: tuple[NodeHolder, ...]
) -> Iterator[Callable[[], tuple[Check, ...]]]:
    yield lambda: fleet_checks(request, facts)
    yield lambda: gate_checks(facts, request.cluster, closed_first=request.gates_closed_first)
    yield lambda: readable_checks(request, facts)
    yield lambda: _agreement(request, facts)
    yield lambda: sequential_checks(request, facts, pools)
    yield lambda: holder_checks(request.node, holders)
    yield lambda: cordon_checks(request, facts.state.node) if isinstance(facts.state.node, Node) else ()
    yield lambda: smoke_checks(request.node, facts.smoke, pools) if facts.smoke is not None else ()


def _agreement(request: ModeRequest, facts: ModeFacts) -> tuple[Check, ...]:
    """Stage 4: all three say ``from``, or the state is one to go on from."""
    state, fleet_mode = facts.state, _fleet_mode(request, facts)
    labels = (state.active, state.expected)
    if resumes(request, state, fleet_mode):
        message = f"the fleet says {request.to_mode} and node {request.node} is on its way: going on"
    elif fleet_mode == state.active == state.expected == request.from_mode:
        message = f"labels of node {request.node} and fleet rule all say {request.from_mode}"
    else:
        resumable = bool(state.cordoned) and fleet_mode == request.to_mode and _on_the_way(request, labels)
        return (drift_check(request, state, fleet_mode, resumable),)
    return (Check(id="mode-agreement", status="pass", message=message, object=f"node/{request.node}"),)


def _cordon_write(state: NodeState, resuming: bool) -> CordonWrite:
    if not state.cordoned or not isinstance(state.node, Node):
        return CordonWrite.CORDON
    mark = cordon_mark(state.node)
    if resuming or (mark is not None and mark.by == "transition"):
        return CordonWrite.NOTHING
    return CordonWrite.ANNOTATE


def _not_editable(error: ObservationError) -> Check:
    return Check(id="node-rule", status="unknown", message=error.message, next_action=error.next_action)


def refusal(request: ModeRequest, verdict: Verdict, *, cordoned: bool | None) -> GpuopsError:
    """The error that a refused verdict ends in; it names everything that is wrong at the stage."""
    stops = stopping(verdict.checks)
    message = f"node {request.node} stays as it is: " + "; ".join(check.message for check in stops)
    actions = dict.fromkeys(check.next_action for check in stops if check.next_action)
    report = {
        "checks": [check.result() for check in verdict.checks],
        "holders": [holder.result() for holder in verdict.holders],
        "cordoned": cordoned,
        "revision": "",
    }
    next_action = "; ".join(actions) or "correct what is named, then run again"
    code = stops[0].id if stops else "transition-refused"
    if any(check.status == "unknown" for check in stops):
        return ObservationError(code, message, next_action=next_action, details=report)
    return PolicyBlocked(code, message, next_action=next_action, report=report)
