# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether projects show what they should: their caps against records, their status against cap and quota."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from . import finding_ids as ids
from .claims import OrganizationTerms
from .cluster_objects import Project
from .disagreement import HRQ, PODS, RECORDS, said
from .entitlement import total
from .errors import ObservationError
from .finding import Finding
from .project_cap import cap_of, capped_devices
from .record import Record
from .tenant_status import StatusReading, read_status
from .world import World

CAP: Final = "cap"
PROJECT: Final = "Project"


@dataclass(frozen=True)
class ProjectTerms:
    """One project's terms of one profile; counts in devices.

    Attributes:
        organization: its organization's terms.
        name: its name.
        cap: its own device cap; None where it has none.
        cap_problem: why the cap cannot be read; empty where it can.
        status: what its status says.
        recounted: devices that its Pods use, by quota's own rule; None where that cannot be told.
        records: the live records that name it.
    """

    organization: OrganizationTerms
    name: str
    cap: int | None
    cap_problem: str
    status: StatusReading
    recounted: int | None
    records: tuple[Record, ...]

    @property
    def where(self) -> str:
        """The object's name in findings."""
        return f"project/{self.organization.organization}/{self.name}"

    @property
    def moving(self) -> bool:
        """Whether its organization's entitlement is being changed by the lock's ticket."""
        return self.organization.moving is not None

    @property
    def reserved(self) -> int:
        """Devices of the records that name it."""
        return sum(record.spec.devices for record in self.records)

    def values(self) -> dict[str, str]:
        """What each source says of its limit."""
        quota = self.organization.quota
        found = {HRQ: said(quota.hard) if isinstance(quota.hard, int) else "unlimited"}
        found[CAP] = "none" if self.cap is None else str(self.cap)
        found[PROJECT] = said(self.status.hard) if self.status.present else "absent"
        if self.records:
            found[RECORDS] = f"{self.reserved} reserved"
        return found


def project_terms(
    project: Project,
    terms: OrganizationTerms,
    profile_id: str,
    *,
    key: str,
    world: World,
    used: int | None,
) -> ProjectTerms:
    """Gather one project.

    Args:
        project: the object.
        terms: its organization's terms.
        profile_id: the pool's profile.
        key: ``requests.<resource>``.
        world: the observation.
        used: devices that its Pods use.
    """
    namespace = project.status.namespace
    cap, problem = None, ""
    try:
        cap = capped_devices(cap_of(world.quotas.get(namespace, ()), namespace), namespace, key)
    except ObservationError as error:
        problem = error.message
    named = tuple(record for record in terms.records or () if record.spec.project == project.metadata.name)
    status = read_status(project.status, profile_id)
    return ProjectTerms(terms, project.metadata.name, cap, problem, status, used, named)


def _disagreement(
    terms: ProjectTerms, fault: str, odd: str, next_action: str, values: dict[str, str]
) -> Finding:
    told = ", ".join(f"{name}: {value}" for name, value in values.items())
    return Finding(
        id=ids.STATUS_DISAGREEMENT,
        severity="error",
        object=terms.where,
        message=f"project {terms.name} of organization {terms.organization.organization}: {fault} "
        f"({told}; odd one out: {odd})",
        expected="cap, quota and Project status agree with the records",
        observed=told,
        values=values,
        odd=odd,
        next_action=next_action,
        transient=True,
    )


def _cap_findings(terms: ProjectTerms) -> Iterable[Finding]:
    """A project-specific reservation has a cap, no greater than what its records reserve."""
    settle = "set the project's device cap with gpu_project_cap, or through the product, then audit again"
    if terms.cap_problem:
        yield _disagreement(terms, terms.cap_problem, CAP, settle, terms.values()).model_copy(
            update={"unknown": True, "transient": False}
        )
        return
    if not terms.records or terms.moving:
        return
    if all(record.state == "pending" for record in terms.records):
        return
    if terms.cap is None:
        yield _disagreement(terms, "its reservation has no project cap", CAP, settle, terms.values())
    elif terms.cap > terms.reserved:
        fault = f"its cap {terms.cap} is above the {terms.reserved} devices that records reserve"
        yield _disagreement(terms, fault, CAP, settle, terms.values())


def _hard_findings(terms: ProjectTerms) -> Iterable[Finding]:
    """The status shows the cap, or without one the organization's hard quota."""
    hard, status = terms.organization.quota.hard, terms.status
    wait = "wait for the Project's status to follow; where it does not, look at the manager"
    expected = hard if terms.cap is None else terms.cap
    if terms.cap_problem:
        return
    if status.problem:
        fault = f"its status cannot be read: {status.problem}"
        yield _disagreement(terms, fault, PROJECT, wait, terms.values()).model_copy(update={"unknown": True})
    elif not status.present:
        if terms.records and not terms.moving:
            yield _disagreement(terms, "its status has no entry", PROJECT, wait, terms.values())
    elif isinstance(expected, int) and status.hard != expected and not terms.moving:
        source = "quota" if terms.cap is None else "its cap"
        fault = f"its status says {said(status.hard)}, {source} {expected}"
        yield _disagreement(terms, fault, PROJECT, wait, terms.values())


def _used_findings(terms: ProjectTerms) -> Iterable[Finding]:
    """The status shows what its Pods use, within its cap."""
    status, recounted = terms.status, terms.recounted
    if recounted is None or not status.present or status.problem or terms.moving:
        return
    values = {PODS: str(recounted), PROJECT: said(status.used)}
    wait = "wait for the Project's status to be written again; where it is not, look at the manager"
    if status.used != recounted:
        yield _disagreement(terms, "used devices differ", PROJECT, wait, values)
    if terms.cap is not None and recounted > terms.cap:
        fault = f"{recounted} devices are used above its cap {terms.cap}"
        yield _disagreement(terms, fault, CAP, "raise the cap to what is used, or wait", values)


def project_findings(
    organizations: Iterable[OrganizationTerms],
    profile_id: str,
    resource: str,
    world: World,
    used: dict[str, int | None],
) -> tuple[Finding, ...]:
    """Every disagreement of a project's cap and status.

    While the lock's ticket changes the organization's entitlement, its caps and Project statuses lie
    between before and after; they are judged once the lock is let go.

    Args:
        organizations: everybody's terms.
        profile_id: the pool's profile.
        resource: its extended resource.
        world: the observation.
        used: devices that Pods use, by namespace, by quota's own rule.
    """
    found: list[Finding] = []
    for terms in organizations:
        for project in world.tenancy.projects.get(terms.organization, ()):
            count = total((used.get(project.status.namespace, 0),))
            own = project_terms(
                project, terms, profile_id, key=f"requests.{resource}", world=world, used=count
            )
            found += [*_cap_findings(own), *_hard_findings(own), *_used_findings(own), *_missing(own, world)]
        found += _gone(terms, world)
    return tuple(found)


def _missing(terms: ProjectTerms, world: World) -> Iterable[Finding]:
    """A record's project needs its namespace."""
    project = world.tenancy.project(terms.organization.organization, terms.name)
    if terms.records and project is not None and not project.status.namespace:
        action = "wait for the project to get its namespace, or look at the manager"
        yield _disagreement(terms, "it has no namespace", PROJECT, action, terms.values())


def _gone(terms: OrganizationTerms, world: World) -> Iterable[Finding]:
    """Records that name a project which does not exist."""
    names = {project.metadata.name for project in world.tenancy.projects.get(terms.organization, ())}
    for record in terms.records or ():
        if not terms.present or not record.spec.project or record.spec.project in names:
            continue
        yield Finding(
            id=ids.STATUS_DISAGREEMENT,
            severity="error",
            object=f"record/{record.id}",
            message=f"record {record.id} is for project {record.spec.project} of organization "
            f"{terms.organization}, which has no such project",
            expected=f"project {record.spec.project}",
            observed="no such project",
            odd=PROJECT,
            next_action=f"release {record.id} by playbooks/release.yml, or bring the project back",
        )
