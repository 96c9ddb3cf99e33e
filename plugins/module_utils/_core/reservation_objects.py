# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reservation, ReservationBinding and what they are judged by, as the API server has them."""

from __future__ import annotations

from typing import Any, Final

from .cluster_objects import Condition, Meta, OwnerReference, PodSpec, Toleration
from .label_selector import LabelSelector
from .strict_model import Field, ObservedModel

GROUP_VERSION: Final = "scheduling.coreweave.cloud/v1alpha1"
TENANT_LABEL: Final = "reserved.tenant"
TAINT_KEY: Final = "reserved"
RESERVED_BY: Final = "gpuops.reservations/reserved-by"
FINALIZER: Final = "gpuops.reservations/release"
CANARY: Final = "gpuops-reservation-canary"
"""Namespace, tenant and (missing) Reservation of the canary."""


class ReservationSpec(ObservedModel):
    tenant: str
    node_selector: LabelSelector | None = Field(default=None, alias="nodeSelector")
    reserved_nodes: tuple[str, ...] | None = Field(default=None, alias="reservedNodes")
    apply_taint: bool = Field(default=True, alias="applyTaint")
    taint_effect: str = Field(default="NoSchedule", alias="taintEffect")
    evict_on_release: bool = Field(default=False, alias="evictOnRelease")


class ReservedNode(ObservedModel):
    """One node of a Reservation's status; phase is Reserved, Draining or Missing."""

    name: str
    phase: str
    tenant_pods: int = Field(default=0, alias="tenantPods")


class ReservationStatus(ObservedModel):
    observed_generation: int = Field(default=0, alias="observedGeneration")
    reserved: int | None = None
    nodes: tuple[ReservedNode, ...] = ()
    conditions: tuple[Condition, ...] = ()


class Reservation(ObservedModel):
    metadata: Meta
    spec: ReservationSpec
    status: ReservationStatus = ReservationStatus()

    @property
    def name(self) -> str:
        """Its name, which is also what its nodes' annotation says."""
        return self.metadata.name

    @property
    def deleting(self) -> bool:
        """Whether it is being deleted, which releases its nodes."""
        return bool(self.metadata.deletion_timestamp)

    @property
    def taint(self) -> dict[str, str] | None:
        """The taint that its nodes carry; None without applyTaint."""
        if not self.spec.apply_taint:
            return None
        return {"key": TAINT_KEY, "value": self.spec.tenant, "effect": self.spec.taint_effect}

    @property
    def age_order(self) -> tuple[str, str]:
        """Of two new claims the earlier Reservation's wins: creation time, then name."""
        return (self.metadata.creation_timestamp, self.name)

    def phase_of(self, node: str) -> str:
        """The phase that its status records for a node; empty where it records none."""
        return next((one.phase for one in self.status.nodes if one.name == node), "")


class BindingSpec(ObservedModel):
    reservation_name: str = Field(alias="reservationName")
    pod_selector: LabelSelector = Field(alias="podSelector")
    inject_affinity: bool = Field(default=True, alias="injectAffinity")
    inject_toleration: bool = Field(default=True, alias="injectToleration")


class BindingStatus(ObservedModel):
    observed_generation: int = Field(default=0, alias="observedGeneration")
    tenant: str = ""
    toleration_effects: tuple[str, ...] | None = Field(default=None, alias="tolerationEffects")
    conditions: tuple[Condition, ...] = ()


class ReservationBinding(ObservedModel):
    metadata: Meta
    spec: BindingSpec
    status: BindingStatus = BindingStatus()

    @property
    def shown(self) -> str:
        """Namespace and name, for messages."""
        return f"{self.metadata.namespace}/{self.metadata.name}"


class RawNodeSpec(ObservedModel):
    """Taints stay as they came: everybody else's are written back with every field."""

    unschedulable: bool = False
    taints: tuple[dict[str, Any], ...] = ()


class RawNodeStatus(ObservedModel):
    allocatable: dict[str, Any] = {}
    conditions: tuple[Condition, ...] = ()


class ReservableNode(ObservedModel):
    metadata: Meta
    spec: RawNodeSpec = RawNodeSpec()
    status: RawNodeStatus = RawNodeStatus()

    @property
    def name(self) -> str:
        """Its name."""
        return self.metadata.name

    @property
    def tenant(self) -> str:
        """What the label reserved.tenant says; empty without it."""
        return self.metadata.labels.get(TENANT_LABEL, "")

    @property
    def reserved_by(self) -> str:
        """The Reservation that our annotation names; empty without it."""
        return self.metadata.annotations.get(RESERVED_BY, "")


class TemplateMeta(ObservedModel):
    labels: dict[str, str] = {}


class PodTemplate(ObservedModel):
    metadata: TemplateMeta = TemplateMeta()
    spec: PodSpec = PodSpec()


class DaemonSetSpec(ObservedModel):
    selector: LabelSelector = LabelSelector()
    template: PodTemplate = PodTemplate()


class DaemonSet(ObservedModel):
    metadata: Meta
    spec: DaemonSetSpec = DaemonSetSpec()

    @property
    def shown(self) -> str:
        """Namespace and name, for messages."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def tolerations(self) -> tuple[Toleration, ...]:
        """Tolerations that its next Pods have."""
        return self.spec.template.spec.tolerations

    def controls(self, owner: OwnerReference | None, labels: dict[str, str]) -> bool:
        """Whether a Pod with this controller and these labels is really one of its own."""
        return (
            owner is not None
            and owner.kind == "DaemonSet"
            and owner.uid == self.metadata.uid
            and self.spec.selector.matches(labels)
        )
