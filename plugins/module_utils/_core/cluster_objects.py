# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The fields that we use of objects in the cluster, validated straight from response bytes.

Values that an organization's or a vendor's controller writes as free JSON (quantities, annotations)
stay as they came: what they mean is judged where they are counted, so that a bad one stops the run
with the object's name and does not fail the whole list.
"""

from __future__ import annotations

from typing import Any

from .strict_model import Field, ObservedModel

JsonValues = dict[str, Any]


class OwnerReference(ObservedModel):
    kind: str
    name: str
    uid: str = ""
    controller: bool = False


class Meta(ObservedModel):
    """An object's metadata; times are RFC 3339 text as the API server writes them."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = Field(default="", alias="resourceVersion")
    generation: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    creation_timestamp: str = Field(default="", alias="creationTimestamp")
    deletion_timestamp: str = Field(default="", alias="deletionTimestamp")
    deletion_grace_period_seconds: int | None = Field(default=None, alias="deletionGracePeriodSeconds")
    owner_references: tuple[OwnerReference, ...] = Field(default=(), alias="ownerReferences")
    finalizers: tuple[str, ...] = ()

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that controls the object."""
        return next((owner for owner in self.owner_references if owner.controller), None)


class Condition(ObservedModel):
    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str = Field(default="", alias="lastTransitionTime")


class Taint(ObservedModel):
    key: str
    value: str = ""
    effect: str


class NodeSpec(ObservedModel):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeStatus(ObservedModel):
    capacity: JsonValues = {}
    allocatable: JsonValues = {}
    conditions: tuple[Condition, ...] = ()


class Node(ObservedModel):
    metadata: Meta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class LeaseSpec(ObservedModel):
    holder_identity: str = Field(default="", alias="holderIdentity")
    renew_time: str = Field(default="", alias="renewTime")
    lease_duration_seconds: int | None = Field(default=None, alias="leaseDurationSeconds")


class Lease(ObservedModel):
    """A node's heartbeat in namespace kube-node-lease."""

    metadata: Meta
    spec: LeaseSpec = LeaseSpec()


class Resources(ObservedModel):
    requests: JsonValues = {}
    limits: JsonValues = {}


class Container(ObservedModel):
    name: str = ""
    resources: Resources = Resources()
    restart_policy: str = Field(default="", alias="restartPolicy")


class Toleration(ObservedModel):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class PodSpec(ObservedModel):
    node_name: str = Field(default="", alias="nodeName")
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = Field(default=(), alias="initContainers")
    ephemeral_containers: tuple[Container, ...] = Field(default=(), alias="ephemeralContainers")
    overhead: JsonValues = {}
    resources: Resources = Resources()
    resource_claims: tuple[JsonValues, ...] = Field(default=(), alias="resourceClaims")
    tolerations: tuple[Toleration, ...] = ()


class PodStatus(ObservedModel):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()


class Pod(ObservedModel):
    metadata: Meta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class QuotaUsage(ObservedModel):
    """status.quotaUsage: accelerators.<profile id>.devices is {hard, used}, both text by the CRD."""

    accelerators: JsonValues = {}
    last_updated: str = Field(default="", alias="lastUpdated")
    per_project_quota_set: bool | None = Field(default=None, alias="perProjectQuotaSet")


class TenantStatus(ObservedModel):
    ready: bool = False
    namespace: str = ""
    quota_usage: QuotaUsage | None = Field(default=None, alias="quotaUsage")
    conditions: tuple[Condition, ...] = ()


class Organization(ObservedModel):
    metadata: Meta
    status: TenantStatus = TenantStatus()


class Project(ObservedModel):
    """A project lives in its organization's namespace; status.namespace is its backing namespace."""

    metadata: Meta
    status: TenantStatus = TenantStatus()


class QuotaSpec(ObservedModel):
    hard: JsonValues = {}


class QuotaStatus(ObservedModel):
    hard: JsonValues | None = None
    used: JsonValues | None = None


class Quota(ObservedModel):
    """A ResourceQuota or a HierarchicalResourceQuota."""

    metadata: Meta
    spec: QuotaSpec = QuotaSpec()
    status: QuotaStatus = QuotaStatus()


class ConfigMap(ObservedModel):
    metadata: Meta
    data: dict[str, str] = {}


class Namespace(ObservedModel):
    metadata: Meta


class HostDevice(ObservedModel):
    resource_name: str = Field(default="", alias="resourceName")
    pci_vendor_selector: str = Field(default="", alias="pciVendorSelector")
    external_resource_provider: bool = Field(default=False, alias="externalResourceProvider")


class KubeVirt(ObservedModel):
    """The KubeVirt installation: permitted PCI host devices and phase."""

    metadata: Meta
    host_devices: tuple[HostDevice, ...] = ()
    phase: str = ""


class VirtualMachineInstance(ObservedModel):
    """A running guest; devices are the resource names it asks for, one entry a device."""

    metadata: Meta
    devices: tuple[str, ...] = ()
    phase: str = ""
    node_name: str = ""
    conditions: tuple[Condition, ...] = ()


class VirtualMachine(ObservedModel):
    """A guest's definition; devices are the resource names it asks for, one entry a device."""

    metadata: Meta
    devices: tuple[str, ...] = ()
    run_strategy: str = ""
    printable_status: str = ""


class GateCopies(ObservedModel):
    """Downstream copies of the creation gates; None where the object does not exist.

    Keys are the fleet's: GPU_SHARED_CREATION_ENABLED and GPU_VM_CREATION_ENABLED. Values are the
    text that stands there; a key that is missing in an object that exists is left out.
    """

    helmrelease: dict[str, str] | None = None
    deployment: dict[str, str] | None = None
    deployment_rolled_out: bool | None = None
    deployment_available: bool | None = None


class Alert(ObservedModel):
    """An active alert as /api/v1/alerts returns it."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    state: str = ""
    active_at: str = Field(default="", alias="activeAt")
