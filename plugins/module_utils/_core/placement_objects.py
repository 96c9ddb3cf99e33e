# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A Pod as the scheduler sees it, and the objects that say why it is where it is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from .cluster_objects import Condition, Container, Meta, OwnerReference, Toleration
from .label_selector import LabelRequirement, LabelSelector
from .reservation_objects import ReservableNode, TemplateMeta
from .strict_model import Field, ObservedModel

DEFAULT_SCHEDULER: Final = "default-scheduler"


class NodeSelectorTerm(ObservedModel):
    match_expressions: tuple[LabelRequirement, ...] = Field(default=(), alias="matchExpressions")
    match_fields: tuple[LabelRequirement, ...] = Field(default=(), alias="matchFields")

    def mismatches(self, node: ReservableNode) -> tuple[str, ...]:
        """The requirements that a node does not meet; an empty term matches nothing."""
        if not self.match_expressions and not self.match_fields:
            return ("an empty term, which matches no node",)
        fields = {"metadata.name": node.name}
        wrong = [one.text for one in self.match_expressions if not one.matches(node.metadata.labels)]
        return (*wrong, *(one.text for one in self.match_fields if not one.matches(fields)))


class RequiredTerms(ObservedModel):
    terms: tuple[NodeSelectorTerm, ...] = Field(default=(), alias="nodeSelectorTerms")


class NodeAffinity(ObservedModel):
    required: RequiredTerms | None = Field(
        default=None, alias="requiredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(ObservedModel):
    node_affinity: NodeAffinity | None = Field(default=None, alias="nodeAffinity")


class PlacementSpec(ObservedModel):
    """A Pod's spec with its wishes about nodes."""

    node_name: str = Field(default="", alias="nodeName")
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = Field(default=(), alias="initContainers")
    overhead: dict[str, Any] = {}
    tolerations: tuple[Toleration, ...] = ()
    node_selector: dict[str, str] = Field(default={}, alias="nodeSelector")
    affinity: Affinity | None = None
    scheduler_name: str = Field(default=DEFAULT_SCHEDULER, alias="schedulerName")
    scheduling_gates: tuple[dict[str, Any], ...] = Field(default=(), alias="schedulingGates")

    @property
    def required_terms(self) -> tuple[NodeSelectorTerm, ...]:
        """The required node selector terms, of which one has to match; none where all nodes will do."""
        affinity = self.affinity.node_affinity if self.affinity else None
        return affinity.required.terms if affinity and affinity.required else ()

    def unmet_wishes(self, node: ReservableNode) -> tuple[str, ...]:
        """What the Pod asks of a node's labels, and this node does not have; empty where it fits."""
        selector = LabelSelector(match_labels=self.node_selector)
        unmet = list(selector.mismatches(node.metadata.labels))
        terms = [term.mismatches(node) for term in self.required_terms]
        if terms and all(terms):
            unmet.append(" or ".join(" and ".join(term) for term in terms))
        return tuple(unmet)


class ManagedFields(ObservedModel):
    """Who wrote which fields of an object."""

    manager: str = ""
    operation: str = ""
    subresource: str = ""
    time: str = ""
    fields: dict[str, Any] = Field(default={}, alias="fieldsV1")

    def has(self, *path: str) -> bool:
        """Whether a field is among them, for example ``("spec", "nodeName")``."""
        level: Any = self.fields
        for part in path:
            level = level.get(f"f:{part}") if isinstance(level, dict) else None
        return level is not None


class PlacementMeta(ObservedModel):
    name: str
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    creation_timestamp: str = Field(default="", alias="creationTimestamp")
    owner_references: tuple[OwnerReference, ...] = Field(default=(), alias="ownerReferences")
    managed_fields: tuple[ManagedFields, ...] = Field(default=(), alias="managedFields")

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that controls the Pod."""
        return next((owner for owner in self.owner_references if owner.controller), None)


class PlacementStatus(ObservedModel):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    reason: str = ""
    message: str = ""


class PlacementPod(ObservedModel):
    metadata: PlacementMeta
    spec: PlacementSpec = PlacementSpec()
    status: PlacementStatus = PlacementStatus()

    @property
    def scheduled_at(self) -> str:
        """When it was given its node, RFC 3339; empty where it has none."""
        return next(
            (
                one.last_transition_time
                for one in self.status.conditions
                if one.type == "PodScheduled" and one.status == "True"
            ),
            "",
        )

    @property
    def scheduler_words(self) -> str:
        """What the scheduler says of a Pod that it has not placed."""
        return next(
            (
                one.message
                for one in self.status.conditions
                if one.type == "PodScheduled" and one.status == "False"
            ),
            "",
        )


class Template(ObservedModel):
    metadata: TemplateMeta = TemplateMeta()
    spec: PlacementSpec = PlacementSpec()


class OwnerSpec(ObservedModel):
    template: Template | None = None
    selector: dict[str, Any] = {}
    replicas: int | None = None


class Owner(ObservedModel):
    """What makes Pods: a Deployment, ReplicaSet, StatefulSet, DaemonSet or Job."""

    kind: str = ""
    metadata: Meta
    spec: OwnerSpec = OwnerSpec()


class EventObject(ObservedModel):
    kind: str = ""
    name: str = ""
    uid: str = ""


class Event(ObservedModel):
    """An Event of the core group."""

    metadata: Meta
    involved: EventObject = Field(default=EventObject(), alias="involvedObject")
    reason: str = ""
    message: str = ""
    last_timestamp: str | None = Field(default=None, alias="lastTimestamp")
    event_time: str | None = Field(default=None, alias="eventTime")

    @property
    def at(self) -> str:
        """When it was last seen, RFC 3339."""
        return self.last_timestamp or self.event_time or self.metadata.creation_timestamp


def latest(events: Iterable[Event], reason: str) -> Event | None:
    """The newest Event with a reason."""
    return max((one for one in events if one.reason == reason), key=lambda one: one.at, default=None)


def owner_text(owner: OwnerReference | None) -> str:
    """A controller as ``kind/name``; empty where there is none."""
    return f"{owner.kind}/{owner.name}" if owner else ""
