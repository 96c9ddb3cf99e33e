# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""How many healthy schedulable devices a pool has, node by node, each with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from . import finding_ids as ids
from .cluster_objects import Taint
from .entitlement import total
from .finding import Finding, Severity
from .node_facts import NodeFacts, devices_of, node_facts
from .node_findings import device_findings, drift_findings, health_findings, plugin_findings
from .policy import Policy, Pool
from .world import World

ALLOCATABLE: Final = "allocatable"
QUARANTINED: Final = "quarantined"
SHARED_MODE: Final = "shared-mode"
MAINTENANCE: Final = "maintenance"
CORDONED: Final = "cordoned"
TAINTED: Final = "tainted"
UNDECLARED: Final = "undeclared"

_CORDON_TAINT: Final = "node.kubernetes.io/unschedulable"
_REPELLING: Final = frozenset({"NoSchedule", "NoExecute"})


@dataclass(frozen=True)
class NodeCount:
    """One row of the node table.

    Attributes:
        node: the node's name.
        declared: the policy's devices; 0 for a node that is not declared.
        counts: devices that count as healthy and schedulable; None where that cannot be told.
        reason: a constant: allocatable, quarantined, shared-mode, maintenance, cordoned, tainted,
            undeclared, or the id of the finding that stops.
        message: the reason in words.
        allocatable: observed devices; None where the value is no device count.
        operator_held: devices that the operator's own namespaces hold here, taken off.
    """

    node: str
    declared: int
    counts: int | None
    reason: str
    message: str
    allocatable: int | None = None
    operator_held: int = 0

    def result(self) -> dict[str, Any]:
        """The row as a module returns it."""
        return {
            "node": self.node,
            "declared": self.declared,
            "counts": "unknown" if self.counts is None else self.counts,
            "reason": self.reason,
            "message": self.message,
            "allocatable": "unknown" if self.allocatable is None else self.allocatable,
            "operator_held": self.operator_held,
        }


@dataclass(frozen=True)
class Healthy:
    """The node table of a pool, with what it found."""

    nodes: tuple[NodeCount, ...]
    findings: tuple[Finding, ...]
    known: bool = True

    @property
    def total(self) -> int | None:
        """Healthy schedulable devices; None where one node's share cannot be told."""
        return total(node.counts for node in self.nodes) if self.known else None


def _remark(finding_id: str, severity: Severity, facts: NodeFacts, why: str, next_action: str) -> Finding:
    """A row that counts nothing and stops nothing."""
    return Finding(
        id=finding_id,
        severity=severity,
        object=f"node/{facts.name}",
        message=f"node {facts.name} counts 0 of {facts.declared} devices: {why}",
        expected=f"{facts.declared} devices",
        observed="0 devices",
        next_action=next_action,
        stops=False,
    )


def _repelling(facts: NodeFacts) -> tuple[Taint, ...]:
    taints = facts.node.spec.taints if facts.node else ()
    return tuple(taint for taint in taints if taint.effect in _REPELLING and taint.key != _CORDON_TAINT)


def _stopping(facts: NodeFacts, world: World, policy: Policy) -> tuple[Finding, ...]:
    """Every row that stops, with a maintenance excusing all but drift and plugin conflicts."""
    found: tuple[Finding, ...] = ()
    if facts.window is None:
        found = health_findings(
            facts, policy.spec.staleness.node_lease_seconds, world.snapshot.observed.server_time
        )
        found += device_findings(facts)
    if facts.node is None:
        return found
    drift = drift_findings(facts, rule_file_reported=world.rules.general is not None)
    drifted = bool(drift) or world.rules.general is not None
    return found + drift + plugin_findings(facts, drifted=drifted)


def _row(facts: NodeFacts, counts: int | None, reason: str, message: str) -> NodeCount:
    return NodeCount(facts.name, facts.declared, counts, reason, message, facts.allocatable)


def _excused(facts: NodeFacts) -> Finding | None:
    """The warning of a node in maintenance, cordoned or tainted; None where nothing keeps VMs away."""
    if facts.window is not None:
        why = f"announced maintenance {facts.window.reference} until {facts.window.to}"
        return _remark(ids.NODE_IN_MAINTENANCE, "warning", facts, why, f"end the maintenance of {facts.name}")
    if facts.node is not None and facts.node.spec.unschedulable:
        return _remark(
            ids.NODE_CORDONED, "warning", facts, "it is cordoned", f"uncordon {facts.name} when it may work"
        )
    taints = _repelling(facts)
    if taints:
        named = ", ".join(f"{taint.key}:{taint.effect}" for taint in taints)
        return _remark(
            ids.NODE_TAINTED,
            "warning",
            facts,
            f"its taint {named} repels the pool's VMs",
            f"remove the taint {named}",
        )
    return None


_REASONS: Final = {
    ids.NODE_IN_MAINTENANCE: MAINTENANCE,
    ids.NODE_CORDONED: CORDONED,
    ids.NODE_TAINTED: TAINTED,
}


def _judge(
    facts: NodeFacts, quarantined: bool, world: World, policy: Policy
) -> tuple[NodeCount, list[Finding]]:
    """A node: quarantine, then Shared, then maintenance, then what stops, then cordon and taints."""
    if quarantined:
        note = _remark(
            ids.NODE_QUARANTINED, "note", facts, "quarantined by policy", "take it out of quarantinedNodes"
        )
        return _row(facts, 0, QUARANTINED, note.message), [note]
    if facts.shared_mode:
        note = _remark(
            ids.NODE_IN_SHARED_MODE,
            "note",
            facts,
            f"it is in {facts.shared_mode}",
            "playbooks/transition.yml moves it",
        )
        return _row(facts, 0, SHARED_MODE, note.message), [note]
    stopping = _stopping(facts, world, policy)
    excused = _excused(facts)
    if stopping or world.rules.general is not None:
        counts = _least(facts, stopping)
        reason = stopping[0].id if stopping else ids.PROFILE_MODE_MISMATCH
        message = "; ".join(item.message for item in stopping) or "the fleet's rule file is unfit"
        warning = [excused] if excused and facts.window else []
        return _row(facts, counts, reason, message), [*stopping, *warning]
    if excused:
        return _row(facts, 0, _REASONS[excused.id], excused.message), [excused]
    return _row(facts, facts.declared, ALLOCATABLE, f"{facts.declared} devices allocatable"), []


def _least(facts: NodeFacts, stopping: tuple[Finding, ...]) -> int | None:
    """What a node with faults still counts: the least of its devices where only these differ."""
    only_devices = len(stopping) == 1 and stopping == device_findings(facts)
    if not only_devices or _excused(facts):
        return 0
    if facts.allocatable is None or facts.capacity is None:
        return None
    return min(facts.declared, facts.allocatable, facts.capacity)


def _undeclared(pool: Pool, resource: str, world: World) -> list[tuple[NodeCount, Finding]]:
    """Nodes that have the resource and are not declared: they count nothing, with a warning."""
    found = []
    for name, node in sorted(world.nodes.items()):
        allocatable, capacity = devices_of(node, resource)
        if name in pool.nodes or (allocatable == 0 and capacity == 0):
            continue
        message = f"node {name} has {resource} and is not declared in the pool: it counts 0"
        finding = Finding(
            id=ids.UNDECLARED_NODE,
            severity="warning",
            object=f"node/{name}",
            message=message,
            expected="declared in the pool's nodes",
            observed=f"allocatable {'unknown' if allocatable is None else allocatable}",
            next_action=f"declare {name} and its devices in policy.yaml by review, if it is to count",
            stops=False,
        )
        found.append((NodeCount(name, 0, 0, UNDECLARED, message, allocatable), finding))
    return found


def _rule_file_finding(world: World) -> list[Finding]:
    trouble = world.rules.general
    if trouble is None:
        return []
    return [
        Finding(
            id=ids.PROFILE_MODE_MISMATCH,
            severity="error",
            object=f"file/{world.rules.path}",
            message=trouble.message,
            expected="one rule for each node",
            observed=trouble.code,
            next_action=trouble.next_action,
        )
    ]


def healthy_devices(
    pool: Pool,
    resource: str,
    world: World,
    policy: Policy,
    operator_held: Mapping[str, int],
) -> Healthy:
    """The node table ("Healthy schedulable devices").

    Args:
        pool: declared nodes and quarantine.
        resource: the pool's extended resource.
        world: the observation.
        policy: limits and maintenance windows.
        operator_held: devices that the operator's own namespaces hold, by node.
    """
    rows: list[NodeCount] = []
    findings: list[Finding] = _rule_file_finding(world)
    for name, declared in sorted(pool.nodes.items()):
        facts = node_facts(name, declared, resource, world, policy)
        row, found = _judge(facts, name in pool.quarantined_nodes, world, policy)
        held = operator_held.get(name, 0)
        if held and row.counts:
            message = f"{row.message}; {held} held by operator namespaces"
            row = NodeCount(
                name,
                declared,
                max(row.counts - held, 0),
                row.reason,
                message,
                row.allocatable,
                min(held, row.counts),
            )
        rows.append(row)
        findings.extend(found)
    for row, finding in _undeclared(pool, resource, world):
        rows.append(row)
        findings.append(finding)
    return Healthy(tuple(rows), tuple(findings))
