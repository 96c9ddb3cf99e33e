# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who is where: organizations, their projects, and the namespaces that belong to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .cluster_objects import Organization, Project


@dataclass(frozen=True)
class Tenancy:
    """Attribution of namespaces to organizations.

    Attributes:
        organizations: by name, which is its namespace's name too.
        projects: an organization's projects, in the server's order.
        namespace_owner: namespace to (organization, project); the organization's own namespace has
            an empty project. A namespace that two claim is not in it.
        ambiguous: organizations whose name and namespace differ, and namespaces that two claim.
    """

    organizations: Mapping[str, Organization]
    projects: Mapping[str, tuple[Project, ...]]
    namespace_owner: Mapping[str, tuple[str, str]]
    ambiguous: tuple[str, ...]

    def owner(self, namespace: str) -> tuple[str, str] | None:
        """(organization, project) of a namespace, or None where it belongs to nobody."""
        return self.namespace_owner.get(namespace)

    def namespaces(self, organization: str) -> tuple[str, ...]:
        """Backing namespaces of an organization's projects; empty text for one not there yet."""
        return tuple(project.status.namespace for project in self.projects.get(organization, ()))

    def project(self, organization: str, name: str) -> Project | None:
        """One project of an organization."""
        return next(
            (item for item in self.projects.get(organization, ()) if item.metadata.name == name), None
        )


def tenancy_of(organizations: Iterable[Organization], projects: Iterable[Project]) -> Tenancy:
    """Index organizations and projects; a claim that two make is nobody's."""
    known: dict[str, Organization] = {}
    ambiguous: list[str] = []
    for organization in organizations:
        name, namespace = organization.metadata.name, organization.metadata.namespace
        if name != namespace:
            ambiguous.append(f"organization {name} lies in namespace {namespace or '(none)'}")
        known[name] = organization
    owned: dict[str, list[Project]] = {}
    owner: dict[str, tuple[str, str]] = {name: (name, "") for name in known}
    twice: set[str] = set()
    for project in projects:
        organization_name = project.metadata.namespace
        if organization_name not in known:
            continue
        owned.setdefault(organization_name, []).append(project)
        namespace = project.status.namespace
        if not namespace:
            continue
        if namespace in owner:
            twice.add(namespace)
        owner[namespace] = (organization_name, project.metadata.name)
    ambiguous.extend(f"namespace {name} is claimed twice" for name in sorted(twice))
    return Tenancy(
        organizations=known,
        projects={name: tuple(items) for name, items in owned.items()},
        namespace_owner={name: value for name, value in owner.items() if name not in twice},
        ambiguous=tuple(ambiguous),
    )
