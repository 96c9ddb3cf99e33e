# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes, leases, Pods and the product's own objects of a generated fleet."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

from lab.fixture import catalogue
from lab.fixture.cluster import configuration

from .items import Item, JsonObject, condition, instant, meta
from .shape import DEVICES_OF_A_NODE, Shape
from .tenants import backing, pool_node

PLUGIN = "nvidia-sandbox-device-plugin-daemonset"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
MODE_LABELS = {
    "kube-dc.com/gpu.nvidia": "true",
    "kube-dc.com/kubevirt-eligible": "true",
    "kube-dc.com/gpu.workload-mode": "vm-passthrough",
    "kube-dc.com/gpu.expected-workload-mode": "vm-passthrough",
    "nvidia.com/gpu.workload.config": "vm-passthrough",
}
PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure")
_UID = "00000000-0000-4000-8000-000000000000"


def node_name(number: int) -> str:
    """The name of a node; the pool's come first."""
    return f"node-{number:05}"


def nodes(shape: Shape) -> Iterator[Item]:
    """Nodes as a kubelet reports them; no controller changes them here."""
    for number in range(shape.nodes):
        in_pool = number < shape.pool_nodes
        name = node_name(number)
        labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
        resources = {"cpu": "192", "memory": "2Ti", "ephemeral-storage": "2Ti", "pods": "250"}
        if in_pool:
            labels |= MODE_LABELS
            resources[catalogue.H100] = str(DEVICES_OF_A_NODE)
        now = instant()
        quiet = [{**condition(kind, "KubeletHasSufficient"), "status": "False"} for kind in PRESSURES]
        conditions = [
            {**one, "lastHeartbeatTime": now} for one in (condition("Ready", "KubeletReady"), *quiet)
        ]
        image = {"names": [f"registry.invalid/image:{number}"], "sizeBytes": 1_000_000}
        status = {
            "capacity": resources,
            "allocatable": resources,
            "conditions": conditions,
            "addresses": [{"type": "Hostname", "address": name}],
            "images": [image] * 20,
            "nodeInfo": dict.fromkeys(_NODE_INFO, "generated"),
        }
        node = {"apiVersion": "v1", "kind": "Node", "metadata": meta(name, labels=labels), "status": status}
        # A new node is tainted as not ready; where nobody reports, nobody takes the taint away.
        yield Item("/api/v1/nodes", node, then={"spec": {"taints": None}})


def leases(shape: Shape) -> Iterator[Item]:
    """Heartbeats of all nodes."""
    for number in range(shape.nodes):
        name = node_name(number)
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": meta(name, "kube-node-lease"),
            "spec": {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": beat()},
        }
        yield Item(LEASES, lease)


def beat() -> str:
    """Now, as a lease's renewTime."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def pods(shape: Shape) -> Iterator[Item]:
    """Plugin Pods of the pool's nodes, launchers of the machines, and plain Pods up to the number."""
    for number in range(shape.pool_nodes):
        owner = ("apps/v1", "DaemonSet", PLUGIN)
        yield pod(f"{PLUGIN}-{number:05}", "gpu-operator", node_name(number), owner, {})
    for number in range(shape.machines):
        owner = ("kubevirt.io/v1", "VirtualMachineInstance", "machine")
        device = {catalogue.H100: "1"}
        yield pod("virt-launcher-machine-x", backing(number), pool_node(shape, number), owner, device)
    for number in range(shape.pods - shape.pool_nodes - shape.machines):
        space = backing(number % shape.organizations)
        owner = ("apps/v1", "ReplicaSet", "web-7d9c")
        yield pod(f"web-7d9c-{number:05}", space, node_name(number % shape.nodes), owner, {})


def pod(name: str, space: str, node: str, owner: tuple[str, str, str], devices: JsonObject) -> Item:
    """A Pod that runs, of the size that Pods have."""
    version, kind, owner_name = owner
    resources = {"cpu": "100m", "memory": "128Mi", **devices}
    reference = {"apiVersion": version, "kind": kind, "name": owner_name, "uid": _UID, "controller": True}
    variables = [{"name": f"SETTING_{number}", "value": "some value of a setting"} for number in range(8)]
    container = {
        "name": "main",
        "image": "registry.invalid/image:1",
        "env": variables,
        "resources": {"requests": resources, "limits": resources},
        "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
    }
    content = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta(name, space, labels={"app": owner_name}, ownerReferences=[reference]),
        "spec": {
            "nodeName": node,
            "automountServiceAccountToken": False,
            "containers": [container],
            "volumes": [{"name": "scratch", "emptyDir": {}}],
        },
    }
    kinds = ("Initialized", "Ready", "ContainersReady", "PodScheduled")
    running = {
        "name": "main",
        "image": "registry.invalid/image:1",
        "imageID": f"registry.invalid/image@sha256:{'0' * 64}",
        "containerID": f"containerd://{'0' * 64}",
        "ready": True,
        "started": True,
        "restartCount": 0,
        "state": {"running": {"startedAt": instant()}},
        "lastState": {},
    }
    status = {
        "phase": "Running",
        "podIP": "10.0.0.7",
        "podIPs": [{"ip": "10.0.0.7"}],
        "startTime": instant(),
        "conditions": [condition(kind) for kind in kinds],
        "containerStatuses": [running],
    }
    return Item(f"/api/v1/namespaces/{space}/pods", content, status)


def platform(cluster_config: dict[str, str]) -> Iterator[Item]:
    """Namespaces, catalogue, KubeVirt and backend of the product, and the gates' ConfigMap."""
    for name in ("kube-dc", "kubevirt", "flux-system", "gpu-operator", "lab"):
        yield Item("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": meta(name)})
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta("default", "gpu-operator")}
    yield Item("/api/v1/namespaces/gpu-operator/serviceaccounts", account)
    config = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": meta("cluster-config", "flux-system"),
        "data": cluster_config,
    }
    yield Item("/api/v1/namespaces/flux-system/configmaps", config)
    rolled_out = {
        "observedGeneration": 1,
        "replicas": 1,
        "updatedReplicas": 1,
        "availableReplicas": 1,
        "readyReplicas": 1,
    }
    states: dict[str, JsonObject] = {"KubeVirt": {"phase": "Deployed"}, "Deployment": rolled_out}
    for content in configuration():
        group = content["apiVersion"]
        space = content["metadata"]["namespace"]
        plural = content["kind"].lower() + "s"
        root = f"/api/{group}" if group == "v1" else f"/apis/{group}"
        yield Item(f"{root}/namespaces/{space}/{plural}", content, states.get(content["kind"]))


_NODE_INFO = (
    "architecture", "bootID", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion",
    "kubeletVersion", "machineID", "operatingSystem", "osImage", "systemUUID",
)  # fmt: skip
