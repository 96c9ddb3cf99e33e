# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What each source counts as used by an organization, before any of its entitlement is reduced."""

from __future__ import annotations

from collections.abc import Iterable

from .claims import OrganizationTerms
from .entitlement import total
from .holders import Holder
from .tenant_status import read_status
from .world import World


def use_by_source(
    terms: OrganizationTerms | None,
    holders: Iterable[Holder],
    profile_id: str,
    world: World,
    own_project: str = "",
) -> dict[str, int | None]:
    """Devices by where they were read: holders, Pods, quota, Organization, each project; None where unknown.

    Args:
        terms: the organization; None where it is gone, and then only holders are left to count.
        holders: who of the organization uses devices now.
        profile_id: the pool's profile.
        world: the observation.
        own_project: the project of the record in question, which has to say what it uses.
    """
    found: dict[str, int | None] = {"holders": total(holder.devices for holder in holders)}
    if terms is None or not terms.present:
        return found
    found["Pods"] = terms.recounted
    if terms.quota.measured:
        found["quota"] = terms.quota.used
    found["Organization"] = terms.status.used
    for project in world.tenancy.projects.get(terms.organization, ()):
        reading = read_status(project.status, profile_id)
        if reading.present or project.metadata.name == own_project:
            found[f"Project {project.metadata.name}"] = reading.used
    return found
