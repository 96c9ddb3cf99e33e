# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Judges, before a node moves to whole-device VMs, whether a smoke cycle could run there afterwards."""

from __future__ import annotations

from dataclasses import dataclass

from .amount import QuantityError, device_count
from .catalogue import Catalogue
from .checks import Check, Status
from .cluster_objects import Project, Quota
from .unread import Unread


@dataclass(frozen=True)
class SmokeFacts:
    """Where the smoke VM is to run.

    Attributes:
        organization: the organization that was named.
        name: the project that was named.
        project: the project; None where there is none.
        catalogue: the GPU profiles.
        quotas: the quotas of the project's namespace.
    """

    organization: str
    name: str
    project: Project | None
    catalogue: Catalogue
    quotas: tuple[Quota, ...]


@dataclass(frozen=True)
class SmokePlace:
    """What the smoke cycle needs to know; texts are empty where they could not be found."""

    namespace: str = ""
    profile_id: str = ""
    resource: str = ""

    def result(self) -> dict[str, str]:
        """The place as a module returns it."""
        return {"namespace": self.namespace, "profile_id": self.profile_id, "resource": self.resource}


def smoke_place(facts: SmokeFacts, pools: tuple[str, ...]) -> SmokePlace:
    """Namespace, profile and device resource of a smoke VM on a node of these pools."""
    namespace = facts.project.status.namespace if facts.project is not None else ""
    profile_id = pools[0] if len(pools) == 1 else ""
    profiles = facts.catalogue.profiles.get(profile_id, ())
    return SmokePlace(namespace, profile_id, profiles[0].resource if len(profiles) == 1 else "")


def smoke_checks(node: str, facts: SmokeFacts | Unread, pools: tuple[str, ...]) -> tuple[Check, ...]:
    """One profile, a project with a namespace, and a quota there with room for one device.

    A quota that does not name the resource is no quota for it: whoever asked for the smoke cycle would
    wait for it in vain after the node had moved.
    """
    if isinstance(facts, Unread):
        message = f"{facts.what} cannot be read: {facts.cause}"
        return (_check("unknown", message, facts.next_action),)
    place = smoke_place(facts, pools)
    where = f"project {facts.organization}/{facts.name}"
    if not place.profile_id:
        message = f"node {node} belongs to {len(pools)} pools, so that the smoke cycle's profile is not known"
        action = "let the policy name the node for one pool, or leave the smoke cycle out"
        return (_check("fail", message, action),)
    if not place.resource:
        message = f"profile {place.profile_id} names no device resource in ConfigMap kube-dc/gpu-profiles"
        return (_check("unknown", message, "correct the profile in the catalogue"),)
    if not place.namespace:
        message = f"{where} does not exist, or has no namespace yet"
        return (_check("fail", message, "name a project by smoke_organization and smoke_project"),)
    return (_room(facts.quotas, place, where),)


def _room(quotas: tuple[Quota, ...], place: SmokePlace, where: str) -> Check:
    key = f"requests.{place.resource}"
    naming = [quota for quota in quotas if key in quota.spec.hard]
    action = f"give {where} quota for one device of {place.profile_id}, or leave the smoke cycle out"
    if not naming:
        return _check("fail", f"{where} has no quota for {key} in namespace {place.namespace}", action)
    for quota in naming:
        told = f"ResourceQuota {place.namespace}/{quota.metadata.name}"
        try:
            hard = device_count(quota.spec.hard[key])
            used = device_count((quota.status.used or {}).get(key))
        except QuantityError as error:
            return _check("unknown", f"{told} cannot be read: {error}", "correct the quota")
        if used >= hard:
            return _check("fail", f"{told} has no room for a smoke VM: {used} of {hard} devices used", action)
    return _check("pass", f"{where} has quota for a smoke VM of {place.profile_id}", "")


def _check(status: Status, message: str, next_action: str) -> Check:
    return Check(id="smoke-quota", status=status, message=message, next_action=next_action, object="smoke")
