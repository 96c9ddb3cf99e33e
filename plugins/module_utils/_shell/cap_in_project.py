# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The device cap of a record's project: what it is on one observation, and what it has to become."""

from __future__ import annotations

from .._core.amount import QuantityError
from .._core.cluster_objects import Project
from .._core.errors import ObservationError
from .._core.pod_devices import counts_for_quota, names_resource, pod_devices
from .._core.project_cap import CapChange, cap_afterwards, cap_change, cap_of, capped_devices, wanted_cap
from .._core.record import Record
from .._core.tenancy import tenancy_of
from .._core.times import moment
from .holders import resource_of
from .observation import Observation


def project_of(seen: Observation, record: Record) -> Project | None:
    """The record's project with its namespace; None where it is gone."""
    observed = seen.snapshot.observed
    tenancy = tenancy_of(observed.organizations, observed.projects)
    project = tenancy.project(record.spec.organization, record.spec.project)
    return project if project is not None and project.status.namespace else None


def cap_change_in(seen: Observation, record: Record, *, restore: bool) -> CapChange | None:
    """The change that the project's cap needs; None without a project, and to put back where it is gone.

    Raises:
        ObservationError: ``project-missing``, where a cap is to be set; ``project-cap-unreadable``;
            ``profile-unfit``.
    """
    if not record.spec.project:
        return None
    project = project_of(seen, record)
    if project is None:
        if restore:
            return None
        raise ObservationError(
            "project-missing",
            f"project {record.spec.project} of organization {record.spec.organization} has no namespace",
            next_action="see what became of the project, then run again",
        )
    namespace = project.status.namespace
    key = f"requests.{resource_of(seen, record.spec.profile_id)}"
    quota = cap_of(seen.snapshot.observed.resource_quotas, namespace)
    records = seen.ledger.records.values()
    wanted: int | None = wanted_cap(record, records)
    if restore:
        present = capped_devices(quota, namespace, key)
        wanted = cap_afterwards(record, records, seen.lock.project_caps, present)
    return cap_change(quota, namespace, key, wanted)


def used_in_project(seen: Observation, change: CapChange) -> int | None:
    """Devices that Pods of the namespace use, by quota's rule; None where a quantity cannot be read."""
    resource = change.key.removeprefix("requests.")
    now = moment(seen.now)
    pods = [
        pod
        for pod in seen.snapshot.observed.pods
        if pod.metadata.namespace == change.namespace
        and names_resource(pod, resource)
        and counts_for_quota(pod, now)
    ]
    try:
        return sum(pod_devices(pod, resource) for pod in pods)
    except QuantityError:
        return None
