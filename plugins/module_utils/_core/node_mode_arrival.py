# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Judges whether a node has arrived in its new mode, and whether it may be committed to it."""

from __future__ import annotations

from .checks import Check, Status
from .modes import owners_on
from .node_holders import node_holders
from .node_mode_checks import holder_checks
from .node_mode_facts import NodeState
from .unread import Unread


def guarded_checks(node: str, state: NodeState) -> tuple[Check, ...]:
    """Step 2, and a part of arrival: the node is unschedulable and nothing holds a device of it."""
    about = f"node/{node}"
    if isinstance(state.node, Unread) or isinstance(state.pods, Unread):
        unread = [part for part in (state.node, state.pods) if isinstance(part, Unread)]
        return tuple(
            Check(
                id="node-readable",
                status="unknown",
                message=f"{part.what} cannot be read: {part.cause}",
                next_action=part.next_action,
                object=about,
            )
            for part in unread
        )
    cordoned = state.cordoned is True
    message = f"node {node} is unschedulable" if cordoned else f"node {node} is not unschedulable any more"
    action = "" if cordoned else f"find out who uncordoned {node}, cordon it again"
    still = Check(
        id="still-cordoned",
        status="pass" if cordoned else "fail",
        message=message,
        next_action=action,
        object=about,
    )
    return (still, *holder_checks(node, node_holders(node, state.pods)))


def arrival_checks(node: str, to_mode: str, state: NodeState) -> tuple[Check, ...]:
    """Step 4: all of it at once, from one look; the node has arrived when every check passes."""
    guarded = guarded_checks(node, state)
    if isinstance(state.node, Unread) or isinstance(state.pods, Unread):
        return guarded
    owners = owners_on(node, state.pods)
    active, expected = state.active or "nothing", state.expected or "nothing"
    return (
        *guarded,
        _fact("node-ready", state.ready, f"node {node} is {'' if state.ready else 'not '}Ready", node),
        _fact("label-active", active == to_mode, f"the active label says {active}", node),
        _fact("label-expected", expected == to_mode, f"the expected label says {expected}", node),
        _fact("plugin-owner", owners.sole(to_mode), f"plugin owners on {node}: {owners}", node),
    )


def _fact(identifier: str, holds: bool, message: str, node: str) -> Check:
    status: Status = "pass" if holds else "fail"
    action = "" if holds else "see Flux (gpu-node-mode), NFD and the plugins' DaemonSets"
    return Check(id=identifier, status=status, message=message, next_action=action, object=f"node/{node}")
