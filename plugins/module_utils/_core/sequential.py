# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sequential pools: one node serves Shared Pods or Dedicated VMs, never both at once ("Pilot decision")."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from . import finding_ids as ids
from .addon_entries import AnnotationError, quantities
from .cluster_objects import Organization
from .entitlement import ADD_ONS_ANNOTATION, PLAN_ANNOTATION
from .finding import Finding
from .healthy import SHARED_MODE, NodeCount
from .policy import Pool
from .record import Record
from .world import World


def _shared_profiles(organization: Organization, world: World) -> set[str]:
    """Profiles that the organization is granted, or that its status shows with hard quota."""
    annotations = organization.metadata.annotations
    catalogue = world.catalogue
    found: set[str] = set()
    plan = catalogue.plans.get(annotations.get(PLAN_ANNOTATION, ""))
    if plan is not None:
        found |= plan.profiles
    try:
        listed = quantities(annotations.get(ADD_ONS_ANNOTATION))
    except AnnotationError:
        listed = {}
    for name, count in listed.items():
        add_on = catalogue.add_ons.get(name)
        if count and add_on is not None and not add_on.disabled:
            found |= add_on.grant.profiles
    usage = organization.status.quota_usage
    for profile_id, entry in (usage.accelerators if usage else {}).items():
        if isinstance(entry, Mapping) and any(
            isinstance(value, Mapping) and value.get("hard") not in ("0", None) for value in entry.values()
        ):
            found.add(profile_id)
    return found


def _conflict(where: str, message: str, observed: str, next_action: str) -> Finding:
    return Finding(
        id=ids.SEQUENTIAL_POOL_CONFLICT,
        severity="error",
        object=where,
        message=message,
        expected="Shared and Dedicated never sold from one node at a time",
        observed=observed,
        next_action=next_action,
    )


def sequential_findings(
    profile_id: str,
    pool: Pool,
    nodes: Iterable[NodeCount],
    records: tuple[Record, ...] | None,
    world: World,
    *,
    ordered: bool,
) -> tuple[Finding, ...]:
    """A node back in a Shared mode under a live record, and Shared entitlement sold from the same nodes.

    Args:
        profile_id: the pool's profile.
        pool: the policy's pool.
        nodes: the node table.
        records: the pool's records; None where the ledger cannot be read.
        world: the observation.
        ordered: whether an order of the pool is at hand, which counts like a record.
    """
    live = [record.id for record in records or () if record.holds]
    if not pool.sequential or not (live or ordered):
        return ()
    held = ", ".join(live) or "the order"
    found = [
        _conflict(
            f"node/{row.node}",
            f"node {row.node} is in a Shared mode while {held} holds devices of {profile_id}",
            row.message,
            f"move {row.node} back to vm-passthrough with playbooks/transition.yml",
        )
        for row in nodes
        if row.reason == SHARED_MODE and live
    ]
    shared = set(pool.shares_nodes_with)
    for name, organization in sorted(world.tenancy.organizations.items()):
        sold = sorted(shared & _shared_profiles(organization, world))
        if sold:
            found.append(
                _conflict(
                    f"organization/{name}",
                    f"organization {name} is entitled to {', '.join(sold)}, which shares its nodes with "
                    f"{profile_id}, while {held} holds devices",
                    f"entitlement to {', '.join(sold)}",
                    f"have that entitlement of {name} taken back holder-safely, or release {held} first",
                )
            )
    return tuple(found)
