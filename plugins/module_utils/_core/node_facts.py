# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Everything that is known of one declared node, gathered before it is judged."""

from __future__ import annotations

from dataclasses import dataclass

from .amount import QuantityError, device_count
from .cluster_objects import Condition, Node
from .freshness import lease_fresh
from .modes import (
    ACTIVE_LABEL,
    CONFIG_ACCEPTED,
    CONFIG_LABEL,
    EXPECTED_LABEL,
    NO_OWNERS,
    SHARED_MODES,
    PluginOwners,
)
from .node_rule import NodeRule, RuleTrouble
from .policy import Maintenance, Policy
from .world import World


@dataclass(frozen=True)
class NodeFacts:
    """One declared node.

    Attributes:
        name: its name.
        declared: the policy's devices.
        node: the object; None where it does not exist.
        rule: the fleet's rule for it, or why there is none to rely on.
        owners: who owns device plugins on it.
        allocatable: devices, 0 where the resource is absent, None where the value is no device count.
        capacity: the same of capacity.
        fresh: whether its lease is fresh.
        renewed: the lease's renew time as text; empty where there is no lease.
        window: the announced maintenance that it is in.
    """

    name: str
    declared: int
    node: Node | None
    rule: NodeRule | RuleTrouble
    owners: PluginOwners
    allocatable: int | None
    capacity: int | None
    fresh: bool
    renewed: str
    window: Maintenance | None

    def label(self, key: str) -> str:
        """A label's value; empty where it or the node is missing."""
        return self.node.metadata.labels.get(key, "") if self.node else ""

    @property
    def ready(self) -> Condition | None:
        """The node's Ready condition."""
        conditions = self.node.status.conditions if self.node else ()
        return next((item for item in conditions if item.type == "Ready"), None)

    def mode_differences(self, mode: str) -> tuple[str, ...]:
        """What speaks against the node being in a mode, each naming label or rule."""
        found = [
            f"label {key} is {self.label(key) or 'missing'}"
            for key in (ACTIVE_LABEL, EXPECTED_LABEL)
            if self.label(key) != mode
        ]
        config = self.label(CONFIG_LABEL)
        if config and config not in CONFIG_ACCEPTED[mode]:
            found.append(f"label {CONFIG_LABEL} is {config}")
        if isinstance(self.rule, RuleTrouble):
            found.append(self.rule.message)
        elif self.rule.mode != mode:
            found.append(f"the fleet's rule says {self.rule.mode}")
        return tuple(found)

    @property
    def shared_mode(self) -> str:
        """The Shared mode that labels, rule and plugins all agree on; empty where they do not."""
        mode = self.label(ACTIVE_LABEL)
        if mode in SHARED_MODES and not self.mode_differences(mode) and not self.owners.foreign(mode):
            return mode
        return ""


def devices_of(node: Node | None, resource: str) -> tuple[int | None, int | None]:
    """(allocatable, capacity) of a resource; 0 where absent, None where the value is no device count."""
    if node is None:
        return 0, 0
    return _count(node.status.allocatable.get(resource, 0)), _count(node.status.capacity.get(resource, 0))


def _count(value: object) -> int | None:
    try:
        return device_count(value)
    except QuantityError:
        return None


def node_facts(name: str, declared: int, resource: str, world: World, policy: Policy) -> NodeFacts:
    """Gather one declared node.

    Args:
        name: the node.
        declared: devices that the policy declares for it.
        resource: the pool's extended resource.
        world: the observation.
        policy: limits and maintenance windows.
    """
    node = world.nodes.get(name)
    lease = world.leases.get(name)
    allocatable, capacity = devices_of(node, resource)
    earlier = world.earlier_leases.get(name)
    at = world.snapshot.observed.server_time
    return NodeFacts(
        name=name,
        declared=declared,
        node=node,
        rule=world.rules.lookup(name),
        owners=world.owners.get(name, NO_OWNERS),
        allocatable=allocatable,
        capacity=capacity,
        fresh=lease is not None and lease_fresh(lease, earlier, policy.spec.staleness.node_lease_seconds),
        renewed=lease.renewed if lease else "",
        window=policy.maintained(name, at) if world.now is not None else None,
    )
