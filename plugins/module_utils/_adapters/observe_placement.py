# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads one Pod, or what would make it, with its owners, Events and quotas."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from .._core.cluster_objects import Meta, OwnerReference, Quota
from .._core.errors import InputError
from .._core.placement_objects import Event, ManagedFields, Owner, PlacementPod
from .._core.reservation_objects import TENANT_LABEL
from .._core.strict_model import Field, ObservedModel
from .api_resource import DAEMONSETS, DEPLOYMENTS, NODES, PODS, RESOURCE_QUOTAS, ApiResource
from .kube import KubeClient

_EVENTS: Final = ApiResource("", "v1", "events")
OWNERS: Final = {
    "deployment": DEPLOYMENTS,
    "daemonset": DAEMONSETS,
    "replicaset": ApiResource("apps", "v1", "replicasets"),
    "statefulset": ApiResource("apps", "v1", "statefulsets"),
    "job": ApiResource("batch", "v1", "jobs"),
}
_KINDS: Final = {
    "deployment": "Deployment",
    "daemonset": "DaemonSet",
    "replicaset": "ReplicaSet",
    "statefulset": "StatefulSet",
    "job": "Job",
}


class _Controlled(ObservedModel):
    metadata: Meta


class _MarkedMeta(ObservedModel):
    managed_fields: tuple[ManagedFields, ...] = Field(default=(), alias="managedFields")


class _Marked(ObservedModel):
    metadata: _MarkedMeta = _MarkedMeta()


@dataclass(frozen=True)
class Target:
    """What was asked about.

    Attributes:
        pod: the Pod to be judged; made of the owner's template where no Pod of it exists.
        created: whether that Pod exists.
        owner: its nearest owner that has a template, where it is known.
        text: what was asked about, in words.
        events: about the Pod and its owners.
    """

    pod: PlacementPod | None
    created: bool
    owner: Owner | None
    text: str
    events: tuple[Event, ...]


def observe_pod(client: KubeClient, namespace: str, name: str) -> Target:
    """A Pod by name, with its owner; of one that does not exist, the Events that name it."""
    pod = client.get(PODS.path(namespace, name), PlacementPod)
    text = f"Pod {namespace}/{name}"
    if pod is None:
        events = client.list(_EVENTS.path(namespace), Event, select=lambda one: _names(one, name))
        return Target(pod=None, created=False, owner=None, text=text, events=events)
    owner = _owner_of(client, namespace, pod.metadata.controller)
    about = {pod.metadata.uid} | ({owner.metadata.uid} if owner else set())
    return Target(pod=pod, created=True, owner=owner, text=text, events=_events(client, namespace, about))


def observe_owner(client: KubeClient, namespace: str, kind: str, name: str) -> Target:
    """A Deployment, ReplicaSet, StatefulSet, DaemonSet or Job, with the Pod of it that says most.

    Raises:
        InputError: ``owner-kind-unknown``.
    """
    resource = OWNERS.get(kind.lower())
    if resource is None:
        raise InputError(
            "owner-kind-unknown",
            f"owner: {kind} is none of {', '.join(_KINDS.values())}",
            next_action="give owner as kind/name, for example deployment/training",
        )
    text = f"{_KINDS[kind.lower()]} {namespace}/{name}"
    owner = client.get(resource.path(namespace, name), Owner)
    if owner is None:
        return Target(pod=None, created=False, owner=None, text=text, events=())
    owner = owner.model_copy(update={"kind": _KINDS[kind.lower()]})
    owners = {owner.metadata.uid} | _replicasets(client, namespace, owner)
    pods = client.list(
        PODS.path(namespace), PlacementPod, select=lambda one: _owned(one.metadata.controller, owners)
    )
    events = _events(client, namespace, owners | {one.metadata.uid for one in pods})
    pod = _telling(pods, events)
    return Target(pod or _from_template(owner, namespace), pod is not None, owner, text, events)


def observe_pods(client: KubeClient, namespace: str) -> tuple[PlacementPod, ...]:
    """All Pods of a namespace."""
    return client.list(PODS.path(namespace), PlacementPod)


def observe_quotas(client: KubeClient, namespace: str) -> tuple[Quota, ...]:
    """The ResourceQuotas of a namespace."""
    return client.list(RESOURCE_QUOTAS.path(namespace), Quota)


def observe_marked_at(client: KubeClient, node: str) -> str:
    """When somebody last wrote a node's label of ours, by its managed fields; empty where they do not say."""
    found = client.get(NODES.path(name=node), _Marked)
    fields = found.metadata.managed_fields if found else ()
    return max((one.time for one in fields if one.has("metadata", "labels", TENANT_LABEL)), default="")


def _names(event: Event, pod: str) -> bool:
    return event.involved.name == pod or (event.reason == "FailedCreate" and f'"{pod}"' in event.message)


def _owned(controller: OwnerReference | None, owners: Iterable[str]) -> bool:
    return controller is not None and controller.uid in owners


def _events(client: KubeClient, namespace: str, about: set[str]) -> tuple[Event, ...]:
    return client.list(_EVENTS.path(namespace), Event, select=lambda one: one.involved.uid in about)


def _replicasets(client: KubeClient, namespace: str, owner: Owner) -> set[str]:
    if owner.kind != "Deployment":
        return set()
    sets = client.list(OWNERS["replicaset"].path(namespace), _Controlled)
    return {one.metadata.uid for one in sets if _owned(one.metadata.controller, {owner.metadata.uid})}


def _owner_of(client: KubeClient, namespace: str, reference: OwnerReference | None) -> Owner | None:
    resource = OWNERS.get(reference.kind.lower()) if reference else None
    if reference is None or resource is None:
        return None
    owner = client.get(resource.path(namespace, reference.name), Owner)
    if owner is None or owner.metadata.uid != reference.uid:
        return None
    return owner.model_copy(update={"kind": reference.kind})


def _telling(pods: tuple[PlacementPod, ...], events: tuple[Event, ...]) -> PlacementPod | None:
    """The Pod that says most: one that waits; none where a later one was refused; else the newest."""
    newest = sorted(pods, key=lambda one: one.metadata.creation_timestamp, reverse=True)
    waiting = [one for one in newest if not one.spec.node_name]
    if waiting:
        return waiting[0]
    refused = max((one.at for one in events if one.reason == "FailedCreate"), default="")
    if not newest or refused > newest[0].metadata.creation_timestamp:
        return None
    return newest[0]


def _from_template(owner: Owner, namespace: str) -> PlacementPod | None:
    template = owner.spec.template
    if template is None:
        return None
    return PlacementPod.model_validate(
        {
            "metadata": {
                "name": owner.metadata.name,
                "namespace": namespace,
                "labels": template.metadata.labels,
                "creationTimestamp": owner.metadata.creation_timestamp,
            },
            "spec": template.spec,
        }
    )
