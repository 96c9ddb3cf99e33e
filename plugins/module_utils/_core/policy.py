# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The policy of a cluster's reservations, reviewed like the records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from .approval import two_approvers
from .document import ApiVersion
from .fields import Cluster, Count, Devices, Label, NodeName, Text, Time, nothing_or
from .names import LEDGER_ROOT, require_cluster
from .ruled_model import Rule, RuledModel
from .strict_model import BeforeValidator, Field, StrictModel
from .times import end_after_start, moment


class Metadata(StrictModel):
    cluster: Cluster


class Staleness(StrictModel):
    """How old is too old: node leases and Organization status, locks, smoke runs."""

    node_lease_seconds: Devices = Field(default=60, alias="nodeLeaseSeconds")
    quota_status_seconds: Devices = Field(default=600, alias="quotaStatusSeconds")
    lock_hours: Devices = Field(default=24, alias="lockHours")
    smoke_days: Devices = Field(default=90, alias="smokeDays")


class AlertSelection(StrictModel):
    """A JMESPath expression over the list of active alerts."""

    select: Text = "[?starts_with(labels.alertname, 'KubeDc')]"


def _distinct(names: tuple[Any, ...]) -> str:
    twice = sorted(str(name) for name, count in Counter(names).items() if count > 1)
    return f"names {', '.join(twice)} twice: keep one" if twice else ""


class Maintenance(RuledModel):
    """An announced maintenance: these nodes count zero from one time to another."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(("to", "from"), end_after_start),
        Rule(("nodes",), _distinct),
        Rule(("nodes",), lambda nodes: "" if nodes else "must name at least one node"),
    )

    nodes: tuple[NodeName, ...]
    start: Time = Field(alias="from")
    to: Time
    reference: Text

    def covers(self, node: str, at: str) -> bool:
        """Whether the node is in this maintenance at a time (RFC 3339): from included, to excluded."""
        return node in self.nodes and moment(self.start) <= moment(at) < moment(self.to)


class SpareApproval(RuledModel):
    """A smaller spare, approved, with what maintenance then costs (runbook: Capacity invariant)."""

    RULES: ClassVar[tuple[Rule, ...]] = (Rule(("product", "sre"), two_approvers),)

    product: Text
    sre: Text
    reference: Text
    maintenance_availability: Text = Field(alias="maintenanceAvailability")


def _spare_approved(spare: int, approval: Any) -> str:
    if spare >= 1 or approval:
        return ""
    return "is less than 1, which needs spareApproval: {product, sre, reference, maintenanceAvailability}"


def _quarantine_declared(quarantined: tuple[str, ...], nodes: Any) -> str:
    unknown = sorted(set(quarantined) - set(nodes))
    return f"names {', '.join(unknown)}, which nodes does not declare" if unknown else ""


class Pool(RuledModel):
    """The devices of one profile: which nodes should have how many, and what is sold from them.

    Attributes:
        nodes: declared devices by node.
        spare_devices: the operator's spare.
    """

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(("nodes",), lambda nodes: "" if nodes else "must declare at least one node"),
        Rule(("reservationAddons",), _distinct),
        Rule(("sharesNodesWith",), _distinct),
        Rule(("quarantinedNodes",), _distinct),
        Rule(("quarantinedNodes", "nodes"), _quarantine_declared),
        Rule(("spareDevices", "spareApproval"), _spare_approved),
    )

    nodes: dict[NodeName, Devices]
    reservation_addons: tuple[Label, ...] = Field(default=(), alias="reservationAddons")
    shares_nodes_with: tuple[Label, ...] = Field(default=(), alias="sharesNodesWith")
    quarantined_nodes: tuple[NodeName, ...] = Field(default=(), alias="quarantinedNodes")
    spare_devices: Count = Field(default=1, alias="spareDevices")
    spare_approval: Annotated[SpareApproval | None, BeforeValidator(nothing_or)] = Field(
        default=None, alias="spareApproval"
    )

    @property
    def size(self) -> int:
        """Declared devices."""
        return sum(self.nodes.values())

    @property
    def sequential(self) -> bool:
        """Whether its nodes also serve a profile of another mode."""
        return bool(self.shares_nodes_with)


def _pools_apart(pools: Any) -> str:
    addons = Counter(addon for pool in pools.values() for addon in _listed(pool, "reservation_addons"))
    shared = sorted(addon for addon, count in addons.items() if count > 1)
    if shared:
        return f"sell the add-on {', '.join(shared)} from more than one pool: an add-on grants one profile"
    selves = sorted(name for name, pool in pools.items() if name in _listed(pool, "shares_nodes_with"))
    return f"{', '.join(selves)}: sharesNodesWith names the pool itself" if selves else ""


def _listed(pool: Any, name: str) -> tuple[str, ...]:
    return getattr(pool, name) if isinstance(pool, Pool) else ()


class Spec(RuledModel):
    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(("operatorNamespaces",), _distinct),
        Rule(("pools",), _pools_apart),
    )

    cluster_uid: Text = Field(alias="clusterUid")
    review_mode: Literal["direct", "branch"] = Field(alias="reviewMode")
    entitlement_transport: Literal["annotation", "observe"] = Field(alias="entitlementTransport")
    project_cap: Literal["observe", "backend"] = Field(default="observe", alias="projectCap")
    creation_control: Literal["gate", "fence", "both"] = Field(default="both", alias="creationControl")
    staleness: Staleness = Staleness()
    alerts: AlertSelection = AlertSelection()
    operator_namespaces: tuple[Label, ...] = Field(default=(), alias="operatorNamespaces")
    maintenance: tuple[Maintenance, ...] = ()
    pools: dict[Label, Pool]


class Policy(StrictModel):
    """A cluster's policy."""

    api_version: ApiVersion = Field(alias="apiVersion")
    kind: Literal["GPUReservationPolicy"]
    metadata: Metadata
    spec: Spec

    @property
    def cluster(self) -> str:
        """The folder below clusters/."""
        return self.metadata.cluster

    @property
    def pools(self) -> Mapping[str, Pool]:
        """The pools by profile."""
        return self.spec.pools

    def pools_on(self, node: str) -> tuple[str, ...]:
        """The profiles whose pools declare the node, sorted."""
        return tuple(sorted(profile for profile, pool in self.spec.pools.items() if node in pool.nodes))

    def maintained(self, node: str, at: str) -> Maintenance | None:
        """The announced maintenance that the node is in at a time (RFC 3339), if any."""
        return next((entry for entry in self.spec.maintenance if entry.covers(node, at)), None)


def policy_path(cluster: str) -> str:
    """Where the policy lies in the fleet repository.

    Raises:
        InputError: not a cluster's name.
    """
    return f"{LEDGER_ROOT}/{require_cluster(cluster)}/policy.yaml"
