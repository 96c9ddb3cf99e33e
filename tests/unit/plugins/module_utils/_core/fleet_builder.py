# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lab's fixture as a snapshot that tests bend: plain dicts in the API server's spelling."""

from __future__ import annotations

import copy
import json
from typing import Any

import jmespath

from ansible_collections.gpuops.reservations.plugins.module_utils._core.document import Problem
from ansible_collections.gpuops.reservations.plugins.module_utils._core.fence_objects import FENCE_POLICIES
from ansible_collections.gpuops.reservations.plugins.module_utils._core.fleet_files import (
    FleetFile,
    FleetTree,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.invariant import prove
from ansible_collections.gpuops.reservations.plugins.module_utils._core.ledger import (
    LedgerReading,
    read_ledger,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.ledger_view import view_of
from ansible_collections.gpuops.reservations.plugins.module_utils._core.order import Order, resolve_order
from ansible_collections.gpuops.reservations.plugins.module_utils._core.proof import Proof
from ansible_collections.gpuops.reservations.plugins.module_utils._core.snapshot import FORMAT, Snapshot
from ansible_collections.gpuops.reservations.plugins.module_utils._core.world import World, world_of

NOW = "2026-11-10T12:00:00Z"
FRESH = "2026-11-10T11:59:50.000000Z"
UID = "7f0c2d1e-1b2c-4d3e-8f4a-5b6c7d8e9f01"
API_VERSION = "operations.kube-dc.com/v1alpha1"
H100 = "nvidia.com/GH100_H100_SXM5_80GB"
V100 = "nvidia.com/GV100GL_V100_PCIE_16GB"
KEY = f"requests.{H100}"
SANDBOX = "nvidia-sandbox-device-plugin-daemonset"
HAMI = "hami-device-plugin"
CONFIG = {"vm-passthrough": "vm-passthrough", "pod-hami": "container", "pod-hami-dra": "container"}
BILLING = "billing.kube-dc.com"

Doc = dict[str, Any]


def select(expression: str, entries: list[Doc]) -> Any:
    """JMESPath, as the shell injects it."""
    return jmespath.search(expression, entries)


def profile(name: str, resource: str, selector: str) -> Doc:
    return {
        "id": name,
        "workload": "vm",
        "allocation": "passthrough",
        "resourceName": resource,
        "pciVendorSelector": selector,
        "enabled": True,
        "billingEligible": True,
    }


def add_on(profile_id: str, *, self_service: bool | None = None, devices: int = 1) -> Doc:
    entry: Doc = {"displayName": "x", "price": 1.5, "gpu": {profile_id: {"devices": devices}}}
    if self_service is not None:
        entry["selfService"] = self_service
    return entry


def record(
    ticket: str,
    organization: str,
    devices: int,
    state: str = "active",
    *,
    project: str = "",
    profile_id: str = "h100-vm",
    add_on_id: str = "gpu-h100-reserved",
) -> Doc:
    live = state in ("active", "releasing", "released")
    reasons = {
        "pending": "awaiting-activation",
        "active": "active",
        "releasing": "release-requested",
        "released": "released",
        "canceled": "canceled-before-activation",
    }
    return {
        "apiVersion": API_VERSION,
        "kind": "GPUReservationRecord",
        "metadata": {"id": f"gpu-res-{ticket}"},
        "spec": {
            "organization": organization,
            "project": project,
            "profileId": profile_id,
            "devices": devices,
            "state": state,
            "requestedAt": "2026-11-01T09:00:00Z",
            "startsAt": "2026-11-02T09:00:00Z",
            "endsAt": "",
            "addonId": add_on_id,
            "billingReference": "INV-1",
            "approvedBy": {"product": "p.owner", "sre": "s.owner"},
        },
        "status": {
            "activatedAt": "2026-11-02T10:00:00Z" if live else "",
            "releasedAt": "2026-11-03T10:00:00Z" if state == "released" else "",
            "evidenceRevision": "sha256:0f" if live else "",
            "reason": reasons[state],
        },
    }


def fence_policy(name: str, **changes: Any) -> Doc:
    """One fence's admission policy with its binding, as role platform installs them."""
    return {
        "name": name,
        "failure_policy": "Fail",
        "bound_to": name,
        "actions": ["Deny"],
        "narrowed": False,
        "parameters": "gpuops-system/capacity-fence",
        "without_parameters": "Deny",
        **changes,
    }


def order_of(ticket: str, organization: str, devices: int, **changes: Any) -> Order:
    spec = {
        "organization": organization,
        "project": "",
        "profileId": "h100-vm",
        "devices": devices,
        "addonId": "gpu-h100-reserved",
        "requestedAt": "2026-11-01T09:00:00Z",
        "startsAt": "2026-11-02T09:00:00Z",
        "endsAt": "",
        "billingReference": "INV-1",
        "supportOwner": "desk@example.com",
        "maintenanceTerms": "standard",
        "approvedBy": {"product": "p.owner", "sre": "s.owner"},
    }
    return resolve_order(ticket, {}, {**spec, **changes})


LAB_1 = order_of("lab-1", "borealis", 8, project="ml")
LAB_2 = order_of("lab-2", "aurora", 18)
LAB_3 = order_of("lab-3", "borealis", 1, project="ml", profileId="v100-vm", addonId="gpu-v100-reserved")


class Fleet:
    """Cluster, fleet, lock and alerts, each a mutable value; every method answers the fleet itself."""

    def __init__(self) -> None:
        self.server_time = NOW
        self.uid = UID
        self.config: dict[str, str] | None = {"CLUSTER_NAME": "lab"}
        self.nodes: dict[str, Doc] = {}
        self.modes: dict[str, str] = {}
        self.leases: dict[str, str] = {}
        self.earlier: tuple[str, dict[str, str]] = ("", {})
        self.plugins: list[tuple[str, str, bool]] = []
        self.pods: list[Doc] = []
        self.vms: list[Doc] = []
        self.vmis: list[Doc] = []
        self.organizations: dict[str, Doc] = {}
        self.projects: dict[tuple[str, str], Doc] = {}
        self.hrqs: dict[str, Doc] = {}
        self.quotas: list[Doc] = []
        self.profiles: list[Doc] = [
            profile("h100-vm", H100, "10DE:2330"),
            profile("v100-vm", V100, "10DE:1DB4"),
            {
                "id": "v100-shared",
                "workload": "pod",
                "allocation": "hami",
                "resourceName": "nvidia.com/gpu",
                "enabled": True,
            },
        ]
        self.host_devices: list[Doc] = [
            {"resourceName": H100, "pciVendorSelector": "10DE:2330", "externalResourceProvider": True},
            {"resourceName": V100, "pciVendorSelector": "10DE:1DB4", "externalResourceProvider": True},
        ]
        self.kubevirt_phase = "Deployed"
        self.plans: Doc = {
            "plans": {"pro-pool": {"pods": 400}},
            "suspendedPlan": {"cpu": "1"},
            "addons": {
                "gpu-h100-vm": add_on("h100-vm"),
                "gpu-h100-reserved": add_on("h100-vm", self_service=False),
                "gpu-v100-reserved": add_on("v100-vm", self_service=False),
                "gpu-v100-shared-8g": {
                    "selfService": False,
                    "gpu": {"v100-shared": {"shares": 1, "memoryMiB": 8192}},
                },
            },
        }
        self.plans_text: str | None = None
        self.profiles_text: str | None = None
        self.without_plans = self.without_profiles = False
        self.alerts: Doc = {
            "readable": True,
            "rules": {"KubeDcOrganizationQuotaConfigInvalid": 1},
            "alerts": [],
        }
        self.gate_copies: Doc = {
            "helmrelease": {"GPU_VM_CREATION_ENABLED": "true", "GPU_SHARED_CREATION_ENABLED": "true"},
            "deployment": {"GPU_VM_CREATION_ENABLED": "true", "GPU_SHARED_CREATION_ENABLED": "true"},
            "deployment_rolled_out": True,
            "deployment_available": True,
        }
        self.gates = {"GPU_VM_CREATION_ENABLED": "true", "GPU_SHARED_CREATION_ENABLED": "true"}
        self.fence: dict[str, str] | None = None
        self.fence_policies: Doc = {"readable": False}
        self.policy: Doc | None = None
        self.records: dict[str, Doc] = {}
        self.freezes: dict[str, Doc] = {}
        self.lock: Doc | None = None
        self.extra_files: dict[str, str] = {}
        self.rule_text: str | None = None

    # ---- building

    def node(self, name: str, mode: str = "vm-passthrough", resources: dict[str, str] | None = None) -> Fleet:
        labels = {
            "kube-dc.com/gpu.workload-mode": mode,
            "kube-dc.com/gpu.expected-workload-mode": mode,
            "nvidia.com/gpu.workload.config": CONFIG.get(mode, mode),
        }
        self.nodes[name] = {
            "metadata": {"name": name, "labels": labels if mode else {}},
            "spec": {},
            "status": {
                "capacity": dict(resources or {}),
                "allocatable": dict(resources or {}),
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
        self.leases[name] = FRESH
        if mode:
            self.modes[name] = mode
            self.plugins.append((name, SANDBOX if mode == "vm-passthrough" else HAMI, False))
        return self

    def organization(
        self, name: str, add_ons: dict[str, int], *projects: str, plan: str = "pro-pool"
    ) -> Fleet:
        listed = [{"addonId": key, "quantity": count} for key, count in add_ons.items()]
        self.organizations[name] = {
            "metadata": {
                "name": name,
                "namespace": name,
                "annotations": {
                    f"{BILLING}/plan-id": plan,
                    f"{BILLING}/subscription": "active",
                    f"{BILLING}/addons": json.dumps(listed),
                },
            },
            "status": {"ready": True, "quotaUsage": {"accelerators": {}, "lastUpdated": FRESH}},
        }
        for project in projects:
            self.projects[name, project] = {
                "metadata": {"name": project, "namespace": name},
                "status": {
                    "ready": True,
                    "namespace": f"{name}-{project}",
                    "quotaUsage": {"accelerators": {}, "lastUpdated": FRESH},
                },
            }
        return self

    def quota(self, name: str, hard: int | str, used: int | str = 0, profile_id: str = "h100-vm") -> Fleet:
        """Hard quota, used, and both statuses, all saying the same."""
        self.hrq(name, hard, used, profile_id)
        self.status(name, hard, used, profile_id)
        for organization, project in self.projects:
            if organization == name:
                self.project_status(name, project, hard, used, profile_id)
        return self

    def hrq(self, name: str, hard: Any, used: Any = 0, profile_id: str = "h100-vm") -> Fleet:
        key = f"requests.{H100 if profile_id == 'h100-vm' else V100}"
        quota = self.hrqs.setdefault(
            name,
            {
                "metadata": {"name": "plan-quota", "namespace": name},
                "spec": {"hard": {}},
                "status": {"used": {}},
            },
        )
        quota["spec"]["hard"][key] = hard if isinstance(hard, float) else str(hard)
        quota["status"]["used"][key] = str(used)
        return self

    def status(self, name: str, hard: Any, used: Any = 0, profile_id: str = "h100-vm") -> Fleet:
        usage = self.organizations[name]["status"]["quotaUsage"]
        usage["accelerators"][profile_id] = {"devices": {"hard": str(hard), "used": str(used)}}
        return self

    def project_status(
        self, name: str, project: str, hard: Any, used: Any = 0, profile_id: str = "h100-vm"
    ) -> Fleet:
        usage = self.projects[name, project]["status"]["quotaUsage"]
        usage["accelerators"][profile_id] = {"devices": {"hard": str(hard), "used": str(used)}}
        return self

    def cap(self, name: str, project: str, hard: Any, used: Any = 0) -> Fleet:
        self.resource_quota(f"{name}-{project}", "project-quota", hard, used)
        self.project_status(name, project, hard, used)
        self.projects[name, project]["status"]["quotaUsage"]["perProjectQuotaSet"] = True
        return self

    def resource_quota(self, namespace: str, quota: str, hard: Any, used: Any = 0, key: str = KEY) -> Fleet:
        self.quotas.append(
            {
                "metadata": {"name": quota, "namespace": namespace},
                "spec": {"hard": {key: hard if isinstance(hard, (int, float)) else str(hard)}},
                "status": {"used": {key: str(used)}},
            }
        )
        return self

    def annotate(self, name: str, add_ons: dict[str, int] | str | None) -> Fleet:
        annotations = self.organizations[name]["metadata"]["annotations"]
        if add_ons is None:
            annotations.pop(f"{BILLING}/addons")
        elif isinstance(add_ons, str):
            annotations[f"{BILLING}/addons"] = add_ons
        else:
            listed = [{"addonId": key, "quantity": count} for key, count in add_ons.items()]
            annotations[f"{BILLING}/addons"] = json.dumps(listed)
        return self

    def subscription(self, name: str, standing: str) -> Fleet:
        self.organizations[name]["metadata"]["annotations"][f"{BILLING}/subscription"] = standing
        return self

    def keep(self, document: Doc) -> Fleet:
        """A record in the ledger."""
        self.records[document["metadata"]["id"]] = document
        return self

    def held_by(self, ticket: str, profile_id: str = "h100-vm", step: str = "entitle") -> Fleet:
        """The pool's lock."""
        lock = self.lock or {"pools": {}, "gate": gates(), "projectCaps": {}}
        lock["pools"][profile_id] = {"ticket": ticket, "run": "run-1", "since": NOW, "step": step}
        self.lock = lock
        return self

    def freeze(self, profile_id: str = "h100-vm", thawed: Doc | None = None) -> Fleet:
        self.freezes[profile_id] = {
            "since": NOW,
            "audit": "a",
            "findings": ["stale-capacity"],
            "thawed": thawed,
        }
        return self

    def with_fences(self, control: str = "both") -> Fleet:
        """The policy's creationControl, and fences that are installed and stand for nobody."""
        assert self.policy is not None
        self.policy["spec"]["creationControl"] = control
        self.fence = {"operators": "group:gpuops", "observers": ""}
        self.fence_policies = {"readable": True, "policies": [fence_policy(name) for name in FENCE_POLICIES]}
        return self

    def pod(
        self,
        namespace: str,
        name: str,
        devices: Any = 1,
        *,
        node: str = "gpu-01",
        owner: tuple[str, str] | None = None,
        phase: str = "Running",
        resource: str = H100,
        **changes: Any,
    ) -> Fleet:
        metadata: Doc = {"name": name, "namespace": namespace, "uid": f"uid-{name}"}
        if owner:
            metadata["ownerReferences"] = [{"kind": owner[0], "name": owner[1], "controller": True}]
        metadata.update(changes.pop("metadata", {}))
        spec: Doc = {"containers": [{"name": "c", "resources": {"requests": {resource: str(devices)}}}]}
        if node:
            spec["nodeName"] = node
        spec.update(changes.pop("spec", {}))
        self.pods.append({"metadata": metadata, "spec": spec, "status": {"phase": phase}})
        return self

    def machine(self, namespace: str, name: str, *, node: str = "gpu-01", resource: str = H100) -> Fleet:
        """A running virtual machine with one device: definition, instance and launcher."""
        self.vms.append(
            {
                "metadata": {"name": name, "namespace": namespace},
                "devices": [resource],
                "run_strategy": "Always",
                "printable_status": "Running",
            }
        )
        owner = [{"kind": "VirtualMachine", "name": name, "controller": True}]
        self.vmis.append(
            {
                "metadata": {"name": name, "namespace": namespace, "ownerReferences": owner},
                "devices": [resource],
                "phase": "Running",
                "node_name": node,
            }
        )
        launcher = f"virt-launcher-{name}"
        return self.pod(
            namespace, launcher, node=node, owner=("VirtualMachineInstance", name), resource=resource
        )

    def pool(self, profile_id: str = "h100-vm") -> Doc:
        """The policy's pool, to be bent."""
        assert self.policy is not None
        pool: Doc = self.policy["spec"]["pools"][profile_id]
        return pool

    def label(self, node: str, key: str, value: str | None) -> Fleet:
        labels = self.nodes[node]["metadata"]["labels"]
        labels.pop(key, None)
        if value is not None:
            labels[key] = value
        return self

    def ready(self, node: str, status: str) -> Fleet:
        self.nodes[node]["status"]["conditions"] = [
            {"type": "Ready", "status": status, "reason": "KubeletGone"}
        ]
        return self

    def devices(self, node: str, allocatable: Any, capacity: Any = None, resource: str = H100) -> Fleet:
        status = self.nodes[node]["status"]
        for key, value in (
            ("allocatable", allocatable),
            ("capacity", allocatable if capacity is None else capacity),
        ):
            if value is None:
                status[key].pop(resource, None)
            else:
                status[key][resource] = value
        return self

    def plugin(self, node: str, *owners: str, leaving: tuple[str, ...] = ()) -> Fleet:
        """Exactly these plugin owners on a node."""
        self.plugins = [entry for entry in self.plugins if entry[0] != node]
        self.plugins += [(node, owner, False) for owner in owners] + [
            (node, owner, True) for owner in leaving
        ]
        return self

    def alert(self, name: str, state: str = "firing") -> Fleet:
        self.alerts["alerts"].append({"labels": {"alertname": name}, "state": state})
        return self

    def copy(self) -> Fleet:
        return copy.deepcopy(self)

    # ---- answers

    def rules(self) -> str:
        rules = [
            {
                "name": f"{node}-{mode}",
                "labels": {
                    "kube-dc.com/gpu.workload-mode": mode,
                    "kube-dc.com/gpu.expected-workload-mode": mode,
                    "nvidia.com/gpu.workload.config": CONFIG[mode],
                },
                "matchFeatures": [
                    {
                        "feature": "system.name",
                        "matchExpressions": {"nodename": {"op": "In", "value": [node]}},
                    }
                ],
            }
            for node, mode in self.modes.items()
        ]
        document = {
            "apiVersion": "nfd.k8s-sigs.io/v1alpha1",
            "kind": "NodeFeatureRule",
            "metadata": {"name": "lab-gpu-node-modes"},
            "spec": {"rules": rules},
        }
        return _dump(document)

    def tree(self) -> FleetTree:
        config = "".join(f"{key}={value}\n" for key, value in {"CLUSTER_NAME": "lab", **self.gates}.items())
        files = {"clusters/lab/cluster-config.env": config}
        text = self.rules() if self.rule_text is None else self.rule_text
        if text:
            files["clusters/lab/gpu-node-modes/nodefeaturerule.yaml"] = text
        root = "gpu-reservations/lab"
        if self.policy is not None:
            files[f"{root}/policy.yaml"] = _dump(self.policy)
        for identifier, document in self.records.items():
            files[f"{root}/records/{identifier}.yaml"] = _dump(document)
        for profile_id, document in self.freezes.items():
            files[f"{root}/freezes/{profile_id}.yaml"] = _dump(document)
        files |= self.extra_files
        entries = tuple(FleetFile.of(path, text.encode()) for path, text in sorted(files.items()))
        return FleetTree(branch="main", revision="a" * 40, files=entries)

    def lock_tree(self) -> FleetTree:
        if self.lock is None:
            return FleetTree(branch="gpu-lock/lab")
        file = FleetFile.of("lock.yaml", _dump(self.lock).encode())
        return FleetTree(branch="gpu-lock/lab", revision="b" * 40, files=(file,))

    def _plugin_pods(self) -> list[Doc]:
        return [
            {
                "metadata": {
                    "name": f"plugin-{index}",
                    "namespace": "gpu-operator",
                    "ownerReferences": [{"kind": "DaemonSet", "name": owner, "controller": True}],
                    **({"deletionTimestamp": NOW} if leaving else {}),
                },
                "spec": {"nodeName": node},
                "status": {"phase": "Running"},
            }
            for index, (node, owner, leaving) in enumerate(self.plugins)
        ]

    def observed(self) -> Doc:
        plans = self.plans_text if self.plans_text is not None else _dump(self.plans)
        document = {"version": 3, "profiles": self.profiles}
        profiles = self.profiles_text if self.profiles_text is not None else _dump(document)
        config = None if self.config is None else {**self.config, **self.gates}
        earlier_time, earlier = self.earlier
        return {
            "uid": self.uid,
            "server_time": self.server_time,
            "server_version": "v1.36.3",
            "nodes": list(self.nodes.values()),
            "leases": [_lease(name, renewed) for name, renewed in self.leases.items()],
            "earlier_leases": [_lease(name, renewed) for name, renewed in earlier.items()],
            "earlier_server_time": earlier_time,
            "pods": self.pods,
            "plugin_pods": self._plugin_pods(),
            "organizations": list(self.organizations.values()),
            "projects": list(self.projects.values()),
            "hrqs": list(self.hrqs.values()),
            "resource_quotas": self.quotas,
            "vms": self.vms,
            "vmis": self.vmis,
            "kubevirts": [
                {
                    "metadata": {"name": "kubevirt", "namespace": "kubevirt"},
                    "host_devices": self.host_devices,
                    "phase": self.kubevirt_phase,
                }
            ],
            "billing_plans": None
            if self.without_plans
            else _config_map("billing-plans", {"plans.yaml": plans}),
            "gpu_profiles": None
            if self.without_profiles
            else _config_map("gpu-profiles", {"profiles.yaml": profiles}),
            "cluster_config": None if config is None else _config_map("cluster-config", config),
            "capacity_fence": None if self.fence is None else _config_map("capacity-fence", self.fence),
            "gate_copies": self.gate_copies,
            "fences": self.fence_policies,
        }

    def snapshot(self) -> Snapshot:
        return Snapshot.model_validate(
            {
                "format": FORMAT,
                "cluster": "lab",
                "observed": self.observed(),
                "fleet": self.tree().model_dump(),
                "lock": self.lock_tree().model_dump(),
                "alerts": self.alerts,
            }
        )

    def reading(self) -> LedgerReading:
        return read_ledger(self.tree(), "lab")

    def world(self) -> World:
        snapshot = self.snapshot()
        return world_of(snapshot, view_of(self.reading(), snapshot.lock))

    def problems(self) -> tuple[Problem, ...]:
        return self.reading().problems

    def prove(self, profile_id: str = "h100-vm", **question: Any) -> Proof:
        return prove(self.snapshot(), self.reading(), profile_id, select=select, **question)


def _dump(document: Any) -> str:
    """YAML without anchors, as people write it."""
    return json.dumps(document, indent=1)


def gates() -> Doc:
    """Gates that nobody has closed."""
    unused = {"openBefore": False, "closedFor": []}
    return {"vm": dict(unused), "shared": dict(unused)}


def _lease(name: str, renewed: str) -> Doc:
    return {"metadata": {"name": name, "namespace": "kube-node-lease"}, "spec": {"renewTime": renewed}}


def _config_map(name: str, data: dict[str, str]) -> Doc:
    return {"metadata": {"name": name, "namespace": "kube-dc"}, "data": data}


def lab() -> Fleet:
    """The lab's fixture: 32 H100 on four nodes, two V100 on a sequential node in Shared mode."""
    fleet = Fleet()
    for number in range(1, 5):
        fleet.node(f"gpu-0{number}", resources={H100: "8"})
    fleet.node("acc-01", "pod-hami", {"nvidia.com/gpu": "20"})
    for number in range(1, 7):
        fleet.node(f"train-0{number}", "", {"nvidia.com/gpu": "8"})
    fleet.organization("aurora", {"gpu-h100-vm": 4}, "vision").quota("aurora", 4, 2).quota(
        "aurora", 0, 0, "v100-vm"
    )
    fleet.organization("borealis", {"gpu-h100-vm": 2}, "ml").quota("borealis", 2).quota(
        "borealis", 0, 0, "v100-vm"
    )
    fleet.organization("cumulus", {"gpu-h100-reserved": 8}, "lab").quota("cumulus", 8)
    fleet.quota("cumulus", 0, 0, "v100-vm")
    fleet.machine("aurora-vision", "inference-1").machine("aurora-vision", "inference-2", node="gpu-02")
    fleet.keep(record("lab-0", "cumulus", 8))

    def pool(nodes: dict[str, int], add_on_id: str, *shared: str) -> Doc:
        return {
            "nodes": nodes,
            "reservationAddons": [add_on_id],
            "sharesNodesWith": list(shared),
            "quarantinedNodes": [],
            "spareDevices": 1,
        }

    fleet.policy = {
        "apiVersion": API_VERSION,
        "kind": "GPUReservationPolicy",
        "metadata": {"cluster": "lab"},
        "spec": {
            "clusterUid": UID,
            "reviewMode": "direct",
            "entitlementTransport": "annotation",
            "projectCap": "backend",
            "creationControl": "gate",
            "staleness": {
                "nodeLeaseSeconds": 60,
                "quotaStatusSeconds": 600,
                "lockHours": 24,
                "smokeDays": 90,
            },
            "operatorNamespaces": [],
            "maintenance": [],
            "pools": {
                "h100-vm": pool({f"gpu-0{number}": 8 for number in range(1, 5)}, "gpu-h100-reserved"),
                "v100-vm": pool({"acc-01": 2}, "gpu-v100-reserved", "v100-shared"),
            },
        },
    }
    return fleet
