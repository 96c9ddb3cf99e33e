# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A stateful stand-in for the API server's transport, with the platform's entitlement controller in it.

It keeps objects as JSON, answers lists and objects, applies merge patches with their resourceVersion,
counts every write, and lets quota and status follow an Organization's annotation after some reads.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters import callsites
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.api_reply import Reply

OBJECTS = Path(__file__).with_name("cluster_objects.json")
ORGANIZATIONS = "/apis/kube-dc.com/v1/organizations"
HRQS = "/apis/hnc.x-k8s.io/v1alpha2/hierarchicalresourcequotas"
PROJECTS = "/apis/kube-dc.com/v1/projects"
PODS = "/api/v1/pods"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
CONFIG = "/api/v1/namespaces/flux-system/configmaps/cluster-config"
HELM = "/apis/helm.toolkit.fluxcd.io/v2/namespaces/kube-dc/helmreleases/kube-dc"
BACKEND = "/apis/apps/v1/namespaces/kube-dc/deployments/kube-dc-backend"
RESOURCES = {
    "h100-vm": "nvidia.com/GH100_H100_SXM5_80GB",
    "v100-vm": "nvidia.com/GV100GL_V100_PCIE_16GB",
}
GRANTS = {"gpu-h100-vm": "h100-vm", "gpu-h100-reserved": "h100-vm", "gpu-v100-reserved": "v100-vm"}
ADD_ONS = "billing.kube-dc.com/addons"


class StandInServer:
    """Objects by list path and by object path; ``writes`` has what was sent, in order.

    Args:
        settings: answers the fleet's cluster-config.env as key to value, as Flux would have applied it.
        lag: reads of the organizations after which quota and status follow a changed annotation.
    """

    url = "https://stand-in"

    def __init__(self, settings: Callable[[], Mapping[str, str]], *, lag: int = 0) -> None:
        content = json.loads(OBJECTS.read_text(encoding="utf-8"))
        self.lists: dict[str, dict[str, Any]] = content["lists"]
        self.objects: dict[str, dict[str, Any]] = content["objects"]
        self.writes: list[tuple[str, str, Any]] = []
        self.reads: list[str] = []
        self.lag = lag
        self.frozen_gates = False
        self.failing: dict[str, int] = {}
        self._settings = settings
        self._left = 0
        self._version = 100_000
        written = [item["status"]["quotaUsage"]["lastUpdated"] for item in self.items(ORGANIZATIONS)]
        renewed = [item["spec"]["renewTime"] for item in self.items(LEASES)]
        self.date = max(*written, *renewed)[:19]

    def items(self, path: str) -> list[dict[str, Any]]:
        """The objects of a list, to be changed in place."""
        items: list[dict[str, Any]] = self.lists[path]["items"]
        return items

    def named(self, path: str, name: str) -> dict[str, Any]:
        """One object of a list, to be changed in place."""
        return next(item for item in self.items(path) if item["metadata"]["name"] == name)

    def entitle(self, organization: str, add_ons: Mapping[str, int]) -> None:
        """An operator's click: the annotation, followed at once by quota and status."""
        entries = [{"addonId": name, "quantity": quantity} for name, quantity in add_ons.items()]
        meta = self.named(ORGANIZATIONS, organization)["metadata"]
        meta["annotations"][ADD_ONS] = json.dumps(entries, separators=(",", ":"))
        self.touch(meta)
        self._follow_annotations()

    def use(self, organization: str, devices: int, profile: str = "h100-vm") -> None:
        """Running Pods of an organization's only project hold devices; quota and status show it."""
        project = next(p for p in self.items(PROJECTS) if p["metadata"]["namespace"] == organization)
        resource, namespace = RESOURCES[profile], project["status"]["namespace"]
        for number in range(devices):
            containers = [
                {"name": "c", "resources": {"requests": {resource: "1"}, "limits": {resource: "1"}}}
            ]
            meta = {"name": f"worker-{number}", "namespace": namespace, "uid": f"{namespace}-{number}"}
            spec = {"containers": containers, "nodeName": "gpu-02"}
            self.items(PODS).append({"metadata": meta, "spec": spec, "status": {"phase": "Running"}})
        for hrq in (item for item in self.items(HRQS) if item["metadata"]["namespace"] == organization):
            hrq["status"]["used"][f"requests.{resource}"] = str(devices)
        for tenant in (self.named(ORGANIZATIONS, organization), project):
            tenant["status"]["quotaUsage"]["accelerators"][profile]["devices"]["used"] = str(devices)

    def touch(self, metadata: dict[str, Any]) -> None:
        """Somebody else's write: the object has another resourceVersion."""
        self._version += 1
        metadata["resourceVersion"] = str(self._version)

    def read(self, path: str, query: Mapping[str, str] | None = None) -> Reply:
        """GET."""
        callsites.reached(f"kube GET {path}")
        self.reads.append(path)
        if path in self.failing:
            return self._reply(self.failing[path], _status(self.failing[path], "Forbidden", path))
        if path == ORGANIZATIONS:
            self._follow_later()
        if path in (CONFIG, HELM, BACKEND) and not self.frozen_gates:
            self._follow_fleet()
        if path == "/version":
            return self._reply(200, {"gitVersion": "v1.36.3"})
        if path == "/apis":
            served = {
                name.split("/")[2] for name in (*self.lists, *self.objects) if name.startswith("/apis/")
            }
            return self._reply(200, {"groups": [{"name": name} for name in sorted(served)]})
        if path in self.lists:
            return self._reply(200, {**self.lists[path], "metadata": {"resourceVersion": str(self._version)}})
        if path in self.objects:
            return self._reply(200, self.objects[path])
        found = self._object(path)
        if found is not None:
            return self._reply(200, found)
        return self._reply(404, _status(404, "NotFound", path))

    def ask(self, path: str, _body: bytes) -> Reply:
        """An access review: everything is allowed."""
        return self._reply(201, {"status": {"allowed": True}, "path": path})

    def write(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
    ) -> Reply:
        """A merge patch of an object of a list; anything else is refused."""
        callsites.reached(f"kube {method} {path}")
        sent = json.loads(body or b"{}")
        self.writes.append((method, path, sent))
        target = self._object(path)
        if target is None or method != "PATCH" or content_type != "application/merge-patch+json":
            return self._reply(405, _status(405, "MethodNotAllowed", path))
        wanted = sent.get("metadata", {}).get("resourceVersion")
        if wanted not in (None, target["metadata"]["resourceVersion"]):
            return self._reply(409, _status(409, "Conflict", path))
        _merge(target, sent)
        self.touch(target["metadata"])
        self._left = self.lag
        if self.lag == 0:
            self._follow_annotations()
        callsites.reached(f"kube {method} {path} answered")
        return self._reply(200, target)

    def _follow_later(self) -> None:
        if self._left:
            self._left -= 1
            if self._left == 0:
                self._follow_annotations()

    def _follow_annotations(self) -> None:
        """What the platform's manager does: annotation times catalogue to quota and status."""
        for organization in self.items(ORGANIZATIONS):
            name = organization["metadata"]["name"]
            entries = json.loads(organization["metadata"]["annotations"].get(ADD_ONS, "[]"))
            for profile, resource in RESOURCES.items():
                devices = sum(
                    entry["quantity"] for entry in entries if GRANTS.get(entry["addonId"]) == profile
                )
                for hrq in self.items(HRQS):
                    if hrq["metadata"]["namespace"] == name:
                        hrq["spec"]["hard"][f"requests.{resource}"] = str(devices)
                        hrq["status"]["hard"][f"requests.{resource}"] = str(devices)
                usage = organization["status"]["quotaUsage"]["accelerators"]
                usage[profile]["devices"]["hard"] = str(devices)

    def _follow_fleet(self) -> None:
        """What Flux, Helm and the rollout do with the gates' lines."""
        values = dict(self._settings())
        self.objects[CONFIG]["data"] = values
        vm, shared = values.get("GPU_VM_CREATION_ENABLED"), values.get("GPU_SHARED_CREATION_ENABLED")
        gpu = self.objects[HELM]["spec"]["values"]["gpu"]
        gpu["vmCreation"]["enabled"], gpu["sharedCreation"]["enabled"] = vm == "true", shared == "true"
        for container in self.objects[BACKEND]["spec"]["template"]["spec"]["containers"]:
            for variable in container.get("env", []):
                if variable["name"] in values:
                    variable["value"] = values[variable["name"]]

    def _object(self, path: str) -> dict[str, Any] | None:
        """The object of a list at this path."""
        every = ((name, item) for name in self.lists for item in self.items(name))
        return next((item for name, item in every if _path_of(name, item) == path), None)

    def _reply(self, status: int, value: Mapping[str, Any]) -> Reply:
        day, _, clock = self.date.partition("T")
        year, month, number = day.split("-")
        names = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
        date = f"Mon, {number} {names[int(month) - 1]} {year} {clock} GMT"
        return Reply(status, json.dumps(copy.deepcopy(dict(value))).encode(), {"date": date})


def _path_of(list_path: str, item: Mapping[str, Any]) -> str:
    name, namespace = item["metadata"]["name"], item["metadata"].get("namespace")
    if not namespace or f"/namespaces/{namespace}/" in list_path:
        return f"{list_path}/{name}"
    base, _, plural = list_path.rpartition("/")
    return f"{base}/namespaces/{namespace}/{plural}/{name}"


def _merge(target: dict[str, Any], patch: Mapping[str, Any]) -> None:
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(target.get(key), dict):
            _merge(target[key], value)
        else:
            target[key] = value


def _status(code: int, reason: str, path: str) -> dict[str, Any]:
    details = {"name": path.rpartition("/")[2]}
    return {
        "kind": "Status",
        "code": code,
        "reason": reason,
        "message": f"{reason} {path}",
        "details": details,
    }
