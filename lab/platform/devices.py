# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Device plugins and what they advertise: from the plugin Pods on a node to its allocatable devices."""

from __future__ import annotations

import json
import logging

from .api import DAEMONSETS, NODES, PODS, JsonObject
from .product import Product, each
from .store import dig

LOG = logging.getLogger("lab.platform")
# What a node's hardware is, by the plugin that advertises it: {"<DaemonSet>": {"<resource>": devices}}.
HARDWARE = "lab.gpuops.reservations/hardware"
# Node label <prefix><DaemonSet>: present makes that plugin run there, absent keeps it away, whatever the
# mode label says. The values of faults are apart, so that lifting a fault leaves what a test labelled.
OVERRIDE = "plugin.lab.gpuops.reservations/"
PLUGINS = {
    "hami-device-plugin": ("gpu-operator", "pod-hami"),
    "hami-dra-driver-kubelet-plugin": ("hami-system", "pod-hami-dra"),
    "nvidia-sandbox-device-plugin-daemonset": ("gpu-operator", "vm-passthrough"),
    "nvidia-device-plugin-daemonset": ("gpu-operator", None),
}
CONFLICTING = "nvidia-device-plugin-daemonset"
MODE = "kube-dc.com/gpu.workload-mode"
WATCHED = (DAEMONSETS, NODES, PODS)


def daemonsets() -> list[JsonObject]:
    """The plugin DaemonSets: each follows the active mode label of nodes, and the overrides above."""
    return [_daemonset(name, namespace, mode) for name, (namespace, mode) in PLUGINS.items()]


def _daemonset(name: str, namespace: str, mode: str | None) -> JsonObject:
    override = OVERRIDE + name
    terms = [
        {"matchExpressions": [{"key": override, "operator": "In", "values": ["present", "fault-present"]}]}
    ]
    if mode is not None:
        terms.append(
            {
                "matchExpressions": [
                    {"key": MODE, "operator": "In", "values": [mode]},
                    {"key": override, "operator": "NotIn", "values": ["absent", "fault-absent"]},
                ]
            }
        )
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": name}},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "updateStrategy": {"type": "RollingUpdate"},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {
                    "affinity": {
                        "nodeAffinity": {
                            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}
                        }
                    },
                    "priorityClassName": "system-node-critical",
                    "terminationGracePeriodSeconds": 1,
                    "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
                    "containers": [{"name": "plugin", "image": f"lab.invalid/{name}:1"}],
                },
            },
        },
    }


def running_plugins(pods: list[JsonObject], node: str) -> set[str]:
    """The plugin DaemonSets that have a Pod on a node which is ready and not about to leave."""
    found = set()
    for pod in pods:
        if dig(pod, "spec", "nodeName") != node or pod["metadata"].get("deletionTimestamp"):
            continue
        ready = any(
            entry["type"] == "Ready" and entry["status"] == "True"
            for entry in dig(pod, "status", "conditions", default=[])
        )
        for owner in pod["metadata"].get("ownerReferences", []):
            if owner.get("controller") and owner["kind"] == "DaemonSet" and ready:
                found.add(owner["name"])
    return found


class Devices:
    """The controllers that play device plugins, and the faults of theirs."""

    def __init__(self, product: Product) -> None:
        self._product = product

    def advertise(self) -> None:
        """Plugin Pods to allocatable and capacity: one that died leaves capacity, and nothing to allocate."""
        store, current = self._product.store, self._product.faults()
        pods = [
            pod for pod in store.list(PODS) if pod["metadata"]["namespace"] in {"gpu-operator", "hami-system"}
        ]

        def node(item: JsonObject) -> None:
            name = item["metadata"]["name"]
            hardware = dig(item, "metadata", "annotations", default={}).get(HARDWARE)
            if hardware is None or current.hits("freeze-devices", name):
                return
            running = running_plugins(pods, name)
            mode = dig(item, "metadata", "labels", default={}).get(MODE)
            allocatable, capacity = {}, {}
            for plugin, resources in json.loads(hardware).items():
                for resource, devices in resources.items():
                    count = max(int(devices) - current.lost_devices(name), 0)
                    mine = PLUGINS[plugin][1] == mode
                    allocatable[resource] = str(count if plugin in running else 0)
                    capacity[resource] = str(count if plugin in running or mine else 0)
            wanted = {"allocatable": allocatable, "capacity": capacity}
            present = {
                part: {resource: dig(item, "status", part, default={}).get(resource) for resource in amounts}
                for part, amounts in wanted.items()
            }
            key = f"devices/{name}"
            if present == wanted:
                self._product.lag.forget(key)
            elif self._product.lag.due(key, wanted, current.seconds("delay-devices")):
                store.wrote(
                    NODES, self._product.api.admin.patch(NODES, name, {"status": wanted}, None, "status")
                )
                LOG.info("node %s: devices %s", name, allocatable)

        each("devices", store.list(NODES), node)

    def override(self) -> None:
        """Faults of plugins to the labels that place or remove their Pods."""
        store, current = self._product.store, self._product.faults()

        def node(item: JsonObject) -> None:
            name = item["metadata"]["name"]
            labels = item["metadata"].get("labels") or {}
            change: dict[str, str | None] = {}
            for plugin in PLUGINS:
                wanted = None
                if plugin == CONFLICTING and current.hits("plugin-conflict", name):
                    wanted = "fault-present"
                elif plugin != CONFLICTING and current.hits("plugin-dead", name):
                    wanted = "fault-absent"
                present = labels.get(OVERRIDE + plugin)
                if present != wanted and (wanted or str(present).startswith("fault-")):
                    change[OVERRIDE + plugin] = wanted
            if change:
                patch = {"metadata": {"labels": change}}
                store.wrote(NODES, self._product.api.admin.patch(NODES, name, patch))

        each("plugins", store.list(NODES), node)
