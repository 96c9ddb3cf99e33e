# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A whole small cluster as a scripted server answers it."""

from __future__ import annotations

from typing import Any

from .scripted_server import ScriptedServer, status

UID = "11111111-2222-3333-4444-555555555555"
H100 = "nvidia.com/GH100"


def named(name: str, namespace: str = "", **rest: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **({"namespace": namespace} if namespace else {})}, **rest}


def listed(kind: str, *items: dict[str, Any]) -> dict[str, Any]:
    return {"kind": f"{kind}List", "metadata": {"resourceVersion": "7"}, "items": list(items)}


def pod(name: str, namespace: str, requests: dict[str, str], **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "resources": {"requests": requests}}
    return named(name, namespace, spec={"containers": [container], **spec}, status={"phase": "Running"})


def config_map(server: ScriptedServer, namespace: str, name: str, data: dict[str, str] | None) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps/{name}"
    if data is None:
        server.on("GET", path, status(404, "NotFound", f"{name} not found", name=name, kind="configmaps"))
    else:
        server.on_json(path, named(name, namespace, data=data))


def script_cluster(server: ScriptedServer) -> None:
    """Every path that an observation reads, with something in each list."""
    server.on_json("/api/v1/namespaces/kube-system", {"metadata": {"name": "kube-system", "uid": UID}})
    config_map(server, "flux-system", "cluster-config", {"CLUSTER_NAME": "lab"})
    config_map(server, "kube-dc", "billing-plans", {"plans.yaml": "{}"})
    config_map(server, "kube-dc", "gpu-profiles", {"profiles.yaml": "{}"})
    config_map(server, "gpuops-system", "capacity-fence", None)
    groups = ["kubevirt.io", "helm.toolkit.fluxcd.io", "kube-dc.com", "hnc.x-k8s.io"]
    server.on_json("/apis", {"groups": [{"name": name} for name in groups]})
    server.on_json("/version", {"gitVersion": "v1.36.3"})
    server.on_json("/api/v1/namespaces", listed("Namespace", named("ns")))
    server.on_json("/api/v1/nodes", listed("Node", named("gpu-01")))
    server.on_json(
        "/api/v1/pods",
        listed(
            "Pod",
            pod("plain", "ns", {"cpu": "1"}),
            pod("holder", "ns", {H100: "1"}),
            pod("nvidia-sandbox-device-plugin-daemonset-x", "gpu-operator", {"cpu": "1"}),
        ),
    )
    server.on_json("/api/v1/resourcequotas", listed("ResourceQuota", named("q", "ns")))
    server.on_json(
        "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
        listed("Lease", named("gpu-01", "kube-node-lease")),
    )
    server.on_json("/apis/kube-dc.com/v1/organizations", listed("Organization", named("o", "o")))
    server.on_json("/apis/kube-dc.com/v1/projects", listed("Project", named("p", "o")))
    server.on_json(
        "/apis/hnc.x-k8s.io/v1alpha2/hierarchicalresourcequotas",
        listed("HierarchicalResourceQuota", named("plan-quota", "o")),
    )
    domain = {"domain": {"devices": {"gpus": [{"name": "gpu0", "deviceName": H100}]}}}
    server.on_json("/apis/kubevirt.io/v1/kubevirts", listed("KubeVirt", named("kubevirt", "kubevirt")))
    machine = named("vm", "ns", spec={"runStrategy": "Manual", "template": {"spec": domain}})
    server.on_json("/apis/kubevirt.io/v1/virtualmachines", listed("VirtualMachine", machine))
    instance = named("vm", "ns", spec=domain, status={"phase": "Running", "nodeName": "gpu-01"})
    server.on_json("/apis/kubevirt.io/v1/virtualmachineinstances", listed("VirtualMachineInstance", instance))
    release = "/apis/helm.toolkit.fluxcd.io/v2/namespaces/kube-dc/helmreleases/kube-dc"
    server.on("GET", release, status(404, "NotFound", "no", name="kube-dc", kind="helmreleases"))
    backend = "/apis/apps/v1/namespaces/kube-dc/deployments/kube-dc-backend"
    for kind in ("validatingadmissionpolicies", "validatingadmissionpolicybindings"):
        for name in ("gpuops-creation-fence", "gpuops-entitlement-fence"):
            path = f"/apis/admissionregistration.k8s.io/v1/{kind}/{name}"
            server.on("GET", path, status(404, "NotFound", "no", name=name, kind=kind))
    server.on("GET", backend, status(404, "NotFound", "no", name="kube-dc-backend", kind="deployments"))
