# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The preconditions of a node-mode transition, stage by stage; each stage reports all that is wrong."""

from __future__ import annotations

from .checks import Check, Status
from .cluster_config import config_path
from .cluster_objects import Node
from .cordon_mark import KEEP_ANNOTATION, cordon_mark, kept_by_a_person
from .modes import ACTIVE_LABEL, EXPECTED_LABEL
from .node_holders import NodeHolder
from .node_mode_facts import HeldPool, ModeFacts, ModeRequest, NodeState
from .node_modes_entry import KEY, EntryUnclear, node_entry
from .node_rule import NodeRule, RuleTrouble, rule_path
from .unread import Unread


def _check(identifier: str, status: Status, message: str, next_action: str, about: str) -> Check:
    return Check(
        id=identifier,
        status=status,
        message=message,
        next_action="" if status == "pass" else next_action,
        object=about,
    )


def fleet_checks(request: ModeRequest, facts: ModeFacts) -> tuple[Check, ...]:
    """Stage 1: a push would be tried, policy and lock document are readable, nobody else holds a pool."""
    checks: list[Check] = []
    if facts.push is None:
        message = f"branch {facts.fleet.branch} takes a push upon {facts.fleet.revision[:12]}"
        checks.append(_check("fleet-pushable", "pass", message, "", "fleet"))
    else:
        message = f"{facts.push.what}: {facts.push.cause}"
        checks.append(_check("fleet-pushable", "unknown", message, facts.push.next_action, "fleet"))
    ledger = facts.ledger
    if isinstance(ledger.pools, Unread):
        return (*checks, _ledger_check(ledger.pools))
    pools = ledger.pools_of(request.node)
    if not pools:
        return tuple(checks)
    if isinstance(ledger.locks, Unread):
        return (*checks, _ledger_check(ledger.locks))
    return (*checks, *(_lock_check(request, pool, ledger.locks.get(pool)) for pool in pools))


def _ledger_check(part: Unread) -> Check:
    return _check(
        "ledger-invalid", "unknown", f"{part.what} cannot be read: {part.cause}", part.next_action, "ledger"
    )


def _lock_check(request: ModeRequest, pool: str, held: HeldPool | None) -> Check:
    about = f"pool/{pool}"
    if held is None:
        return _check("pool-lock", "pass", f"nobody holds the lock of pool {pool}", "", about)
    if held.ticket == request.lock_holder:
        message = f"the lock of pool {pool} is held by an earlier run of this transition, {held.run}"
        return _check("pool-lock", "pass", message, "", about)
    return _check(
        "pool-lock",
        "fail",
        f"node {request.node} belongs to pool {pool}, whose lock {held.ticket} holds since {held.since} "
        f"(step {held.step or 'unknown'})",
        f"wait until {held.ticket} has ended, or see playbooks/lock.yml",
        about,
    )


def readable_checks(request: ModeRequest, facts: ModeFacts) -> tuple[Check, ...]:
    """Stage 3: node and Pods are readable, the node's rule is there, single and consistent."""
    return (
        _node_check(request, facts.state),
        _pods_check(request, facts.state),
        _rule_check(request, facts),
        *entry_checks(request, facts),
    )


def _node_check(request: ModeRequest, state: NodeState) -> Check:
    about = f"node/{request.node}"
    if isinstance(state.node, Unread):
        message = f"node {request.node} cannot be read: {state.node.cause}"
        return _check("node-readable", "unknown", message, state.node.next_action, about)
    if state.node is None:
        message = f"there is no node {request.node}"
        return _check("node-readable", "unknown", message, "correct the node's name", about)
    return _check("node-readable", "pass", f"node {request.node} was read", "", about)


def _pods_check(request: ModeRequest, state: NodeState) -> Check:
    about = f"node/{request.node}"
    if isinstance(state.pods, Unread):
        message = f"the Pods of node {request.node} cannot be read: {state.pods.cause}"
        return _check("pods-readable", "unknown", message, state.pods.next_action, about)
    message = f"{len(state.pods)} Pods of node {request.node} were read"
    return _check("pods-readable", "pass", message, "", about)


def _rule_check(request: ModeRequest, facts: ModeFacts) -> Check:
    found = facts.rules(request.cluster).lookup(request.node)
    about = rule_path(request.cluster)
    if isinstance(found, RuleTrouble):
        message = f"the rule of node {request.node} cannot be relied on: {found.message}"
        return _check("node-rule", "unknown", message, found.next_action, about)
    message = f"{about} says {found.mode} for {request.node} (rule {found.name.value})"
    return _check("node-rule", "pass", message, "", about)


def entry_checks(request: ModeRequest, facts: ModeFacts) -> tuple[Check, ...]:
    """GPU_NODE_MODES may leave the node out; what it says has to be what the rule says."""
    path = config_path(request.cluster)
    file = facts.fleet.file(path)
    found = facts.rules(request.cluster).lookup(request.node)
    if file is None or file.text is None or not isinstance(found, NodeRule):
        return ()
    fix = f"make {KEY} in {path} say what the rule of {request.node} says"
    try:
        entry = node_entry(file.text, request.node)
    except EntryUnclear as error:
        return (_check("node-modes-entry", "unknown", f"{path}: {error}", fix, path),)
    if entry is None:
        return ()
    if entry.mode != found.mode:
        message = f"{path}: {KEY} says {entry.mode!r} for {request.node}, its rule says {found.mode!r}"
        return (_check("node-modes-entry", "fail", message, fix, path),)
    return (_check("node-modes-entry", "pass", f"{KEY} says {entry.mode} for {request.node}", "", path),)


def drift_check(request: ModeRequest, state: NodeState, fleet_mode: str, resumable: bool) -> Check:
    """Stage 4, failed: active label, expected label and fleet rule do not all say ``from``."""
    says = {ACTIVE_LABEL: state.active, EXPECTED_LABEL: state.expected, "fleet rule": fleet_mode}
    facts = ", ".join(f"{where} {mode or 'missing'}" for where, mode in says.items())
    action = f"find out who changed the mode of {request.node} and bring labels and fleet rule together"
    if resumable:
        action = (
            "see why the earlier run of this transition stopped, then run again with resume_cordoned: true"
        )
    return _check(
        "mode-agreement",
        "fail",
        f"the modes of node {request.node} do not agree on {request.from_mode}: {facts}",
        action,
        f"node/{request.node}",
    )


def sequential_checks(request: ModeRequest, facts: ModeFacts, pools: tuple[str, ...]) -> tuple[Check, ...]:
    """A move back to a Shared mode needs that no reservation of the node's pool is live.

    Runbook heading: Release and cancellation, step 7.
    """
    if not request.leaves_dedicated or not pools:
        return ()
    if isinstance(facts.ledger.live, Unread):
        return (_ledger_check(facts.ledger.live),)
    checks: list[Check] = []
    for pool in pools:
        live = [record for record in facts.ledger.live if record.profile_id == pool]
        if live:
            named = ", ".join(f"{record.id} ({record.state}, {record.organization})" for record in live)
            message = (
                f"node {request.node} belongs to pool {pool}, whose reservations hold whole devices: {named}"
            )
            action = "release or cancel them first (playbooks/release.yml, playbooks/cancel.yml)"
            checks.append(_check("sequential-pool-conflict", "fail", message, action, f"pool/{pool}"))
        else:
            message = f"no reservation of pool {pool} is pending, active or releasing"
            checks.append(_check("sequential-pool-conflict", "pass", message, "", f"pool/{pool}"))
    return tuple(checks)


def holder_checks(node: str, holders: tuple[NodeHolder, ...]) -> tuple[Check, ...]:
    """Stage 5: one check for each holder, or one that passes."""
    if not holders:
        return (_check("holders", "pass", f"nothing holds a device of node {node}", "", f"node/{node}"),)
    return tuple(
        _check(
            "holders",
            "fail",
            f"node {node} has a holder: {holder.sentence}",
            holder.next_action,
            f"{holder.namespace}/{holder.kind}/{holder.name}",
        )
        for holder in holders
    )


def cordon_checks(request: ModeRequest, node: Node) -> tuple[Check, ...]:
    """Stage 6: not cordoned already, unless the run was given consent; nobody wants it kept."""
    about = f"node/{request.node}"
    checks: list[Check] = []
    if kept_by_a_person(node):
        message = f"node {request.node} has the annotation {KEEP_ANNOTATION}: a person wants it cordoned"
        action = f"ask that person; without the annotation on {request.node}, run again"
        checks.append(_check("kept-cordoned", "fail", message, action, about))
    if not node.spec.unschedulable:
        checks.append(_check("cordon", "pass", f"node {request.node} is not cordoned", "", about))
        return tuple(checks)
    mark = cordon_mark(node)
    who = f"by a {mark.by} of ours ({mark.id}, since {mark.since})" if mark else "by somebody else"
    if request.resume_cordoned:
        message = f"node {request.node} is cordoned {who}; resume_cordoned adopts that cordon"
        checks.append(_check("cordon", "pass", message, "", about))
    else:
        message = f"node {request.node} is already cordoned {who}"
        action = "see why; only where it may be uncordoned at the end, run again with resume_cordoned: true"
        checks.append(_check("cordon", "fail", message, action, about))
    return tuple(checks)
