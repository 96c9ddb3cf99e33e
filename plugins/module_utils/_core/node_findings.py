# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is wrong with a declared node: rows of the node table that stop ("Healthy schedulable devices")."""

from __future__ import annotations

from . import finding_ids as ids
from .finding import Finding
from .modes import NEVER_ALLOWED_OWNER, PLUGIN_OWNER, VM_PASSTHROUGH
from .node_facts import NodeFacts
from .node_rule import RuleTrouble


def health_findings(facts: NodeFacts, limit_seconds: int, server_time: str) -> tuple[Finding, ...]:
    """Missing, not Ready, lease stale: stale or degraded capacity.

    Args:
        facts: the node.
        limit_seconds: how long a lease may go without being renewed.
        server_time: the API server's time, for the message.
    """
    if facts.node is None:
        return (_gone(facts),)
    found = []
    status = facts.ready.status if facts.ready else "Unknown"
    if status != "True":
        found.append(_not_ready(facts, status))
    if not facts.fresh or status == "Unknown":
        found.append(_stale(facts, status, limit_seconds, server_time))
    return tuple(found)


def _gone(facts: NodeFacts) -> Finding:
    return _health(
        ids.DEGRADED_CAPACITY,
        facts,
        f"node {facts.name} is declared with {facts.declared} devices and does not exist",
        expected=f"{facts.declared} devices",
        observed="no such node",
        next_action=f"bring {facts.name} back, or take it out of the pool in policy.yaml by review",
    )


def _not_ready(facts: NodeFacts, status: str) -> Finding:
    why = f" ({facts.ready.reason})" if facts.ready and facts.ready.reason else ""
    return _health(
        ids.DEGRADED_CAPACITY,
        facts,
        f"node {facts.name} is not Ready: its condition Ready is {status}{why}",
        expected="Ready is True",
        observed=f"Ready is {status}",
        next_action=f"repair {facts.name}, or announce its maintenance in policy.yaml",
    )


def _stale(facts: NodeFacts, status: str, limit_seconds: int, server_time: str) -> Finding:
    seen = f"renewed {facts.renewed}" if facts.renewed else "there is no lease"
    return _health(
        ids.STALE_CAPACITY,
        facts,
        f"node {facts.name} is stale: {seen}, server time {server_time or 'unknown'}, "
        f"limit {limit_seconds} s, Ready is {status}",
        expected=f"lease renewed within {limit_seconds} s of the API server's time",
        observed=seen,
        next_action=f"check the kubelet and the clock of {facts.name}, then run again",
    )


def _health(
    finding_id: str,
    facts: NodeFacts,
    message: str,
    *,
    expected: str,
    observed: str,
    next_action: str,
    unknown: bool = False,
) -> Finding:
    return Finding(
        id=finding_id,
        severity="error",
        object=f"node/{facts.name}",
        message=message,
        expected=expected,
        observed=observed,
        next_action=next_action,
        transient=True,
        unknown=unknown,
    )


def device_findings(facts: NodeFacts) -> tuple[Finding, ...]:
    """Allocatable or capacity not as declared: degraded capacity."""
    if facts.node is None:
        return ()
    if facts.allocatable is None or facts.capacity is None:
        seen = "a quantity that is no whole number of devices"
    elif facts.allocatable == facts.capacity == facts.declared:
        return ()
    else:
        seen = f"allocatable {facts.allocatable}, capacity {facts.capacity}"
    return (
        _health(
            ids.DEGRADED_CAPACITY,
            facts,
            f"node {facts.name} has not its declared devices: declared {facts.declared}, {seen}",
            expected=f"allocatable = capacity = {facts.declared}",
            observed=seen,
            next_action=f"find the missing devices of {facts.name} (driver, plugin, hardware), "
            "or change the pool's nodes in policy.yaml by a reviewed change",
            unknown=facts.allocatable is None or facts.capacity is None,
        ),
    )


def drift_findings(facts: NodeFacts, *, rule_file_reported: bool) -> tuple[Finding, ...]:
    """Labels or fleet rule disagree on vm-passthrough: mode drift.

    Args:
        facts: the node, which exists.
        rule_file_reported: the whole rule file is unfit and has a finding of its own.
    """
    differences = facts.mode_differences(VM_PASSTHROUGH)
    if rule_file_reported and isinstance(facts.rule, RuleTrouble):
        differences = tuple(item for item in differences if item != facts.rule.message)
    if not differences:
        return ()
    seen = "; ".join(differences)
    return (
        _health(
            ids.PROFILE_MODE_MISMATCH,
            facts,
            f"node {facts.name} is not in {VM_PASSTHROUGH} by labels and fleet rule alike: {seen}",
            expected=f"labels and fleet rule say {VM_PASSTHROUGH}",
            observed=seen,
            next_action=f"finish or undo the mode transition of {facts.name} (playbooks/transition.yml)",
        ),
    )


def plugin_findings(facts: NodeFacts, *, drifted: bool) -> tuple[Finding, ...]:
    """Two owners, the never-allowed plugin, or none: plugin conflict.

    Args:
        facts: the node, which exists.
        drifted: labels and rule disagree already, so that one wrong owner follows from that.
    """
    owners = facts.owners
    if owners.sole(VM_PASSTHROUGH):
        return ()
    one_wrong = (
        len(owners.all) == 1 and owners.all == owners.running and NEVER_ALLOWED_OWNER not in owners.all
    )
    if drifted and one_wrong:
        return ()
    wanted = PLUGIN_OWNER[VM_PASSTHROUGH]
    return (
        _health(
            ids.PLUGIN_CONFLICT,
            facts,
            f"node {facts.name} has device plugin owners {owners}; it has to be {wanted} alone",
            expected=f"{wanted} alone",
            observed=str(owners),
            next_action=f"leave {wanted} as the only plugin on {facts.name} (its DaemonSet, the labels)",
        ),
    )
