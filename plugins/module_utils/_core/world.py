# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""One observation, indexed once, so that every pool's proof reads it without walking it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from .catalogue import Catalogue, read_catalogue
from .cluster_objects import Node, Pod, Quota
from .freshness import LeaseReading
from .instants import instant
from .ledger_view import LedgerView
from .modes import PluginOwners, owners_by_node
from .node_rule import NodeRules, read_rules, rule_path
from .snapshot import Snapshot
from .tenancy import Tenancy, tenancy_of


@dataclass(frozen=True)
class World:
    """A snapshot and the ledger, indexed.

    Attributes:
        snapshot: the observation itself.
        ledger: what the fleet repository says.
        now: the API server's time; None where it is unreadable, and then nothing is fresh.
        nodes: by name.
        leases: last reading by node.
        earlier_leases: an earlier reading by node, where leases were read again.
        owners: plugin owners by node.
        rules: the fleet's node rules.
        catalogue: both of the platform's documents.
        tenancy: organizations, projects and their namespaces.
        hrqs: hierarchical quotas by namespace.
        quotas: resource quotas by namespace.
    """

    snapshot: Snapshot
    ledger: LedgerView
    now: datetime | None
    nodes: Mapping[str, Node]
    leases: Mapping[str, LeaseReading]
    earlier_leases: Mapping[str, LeaseReading]
    owners: Mapping[str, PluginOwners]
    rules: NodeRules
    catalogue: Catalogue
    tenancy: Tenancy
    hrqs: Mapping[str, tuple[Quota, ...]]
    quotas: Mapping[str, tuple[Quota, ...]]

    @property
    def pods(self) -> tuple[Pod, ...]:
        """Pods with a device resource or claim, in any phase."""
        return self.snapshot.observed.pods


def _by_namespace(quotas: tuple[Quota, ...]) -> dict[str, tuple[Quota, ...]]:
    found: dict[str, list[Quota]] = {}
    for quota in quotas:
        found.setdefault(quota.metadata.namespace, []).append(quota)
    return {namespace: tuple(items) for namespace, items in found.items()}


def world_of(snapshot: Snapshot, ledger: LedgerView) -> World:
    """Index one observation.

    Args:
        snapshot: everything that was read.
        ledger: what the fleet repository's documents say.
    """
    observed = snapshot.observed
    return World(
        snapshot=snapshot,
        ledger=ledger,
        now=instant(observed.server_time),
        nodes={node.metadata.name: node for node in observed.nodes},
        leases={
            lease.metadata.name: LeaseReading(lease.spec.renew_time, observed.server_time)
            for lease in observed.leases
        },
        earlier_leases={
            lease.metadata.name: LeaseReading(lease.spec.renew_time, observed.earlier_server_time)
            for lease in observed.earlier_leases
        },
        owners=owners_by_node(observed.plugin_pods),
        rules=read_rules(snapshot.fleet.file(rule_path(snapshot.cluster)), snapshot.cluster),
        catalogue=read_catalogue(observed.billing_plans, observed.gpu_profiles),
        tenancy=tenancy_of(observed.organizations, observed.projects),
        hrqs=_by_namespace(observed.hrqs),
        quotas=_by_namespace(observed.resource_quotas),
    )
