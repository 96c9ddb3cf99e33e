# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""GPU modes of a node: their labels, their plugin owners, and who owns the plugins on a node now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from .cluster_objects import Pod

POD_HAMI: Final = "pod-hami"
POD_HAMI_DRA: Final = "pod-hami-dra"
VM_PASSTHROUGH: Final = "vm-passthrough"

MODES: Final = (POD_HAMI, POD_HAMI_DRA, VM_PASSTHROUGH)
SHARED_MODES: Final = frozenset({POD_HAMI, POD_HAMI_DRA})

ACTIVE_LABEL: Final = "kube-dc.com/gpu.workload-mode"
EXPECTED_LABEL: Final = "kube-dc.com/gpu.expected-workload-mode"
CONFIG_LABEL: Final = "nvidia.com/gpu.workload.config"

CONFIG_WRITTEN: Final[Mapping[str, str]] = {
    POD_HAMI: "container",
    POD_HAMI_DRA: "container",
    VM_PASSTHROUGH: VM_PASSTHROUGH,
}
"""The third label's value for a mode, as we write it."""

CONFIG_ACCEPTED: Final[Mapping[str, frozenset[str]]] = {
    POD_HAMI: frozenset({"container"}),
    POD_HAMI_DRA: frozenset({"container", POD_HAMI_DRA}),
    VM_PASSTHROUGH: frozenset({VM_PASSTHROUGH}),
}
"""The third label's values for a mode, as we read it."""

PLUGIN_NAMESPACES: Final = frozenset({"gpu-operator", "hami-system"})

PLUGIN_OWNER: Final[Mapping[str, str]] = {
    POD_HAMI: "hami-device-plugin",
    POD_HAMI_DRA: "hami-dra-driver-kubelet-plugin",
    VM_PASSTHROUGH: "nvidia-sandbox-device-plugin-daemonset",
}
NEVER_ALLOWED_OWNER: Final = "nvidia-device-plugin-daemonset"
_OWNERS: Final = frozenset({*PLUGIN_OWNER.values(), NEVER_ALLOWED_OWNER})
_FINISHED: Final = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True)
class PluginOwners:
    """DaemonSets that own device plugins on one node.

    Attributes:
        running: names with a Pod that is neither finished nor Terminating.
        leaving: names whose only Pods left are Terminating; they have not left yet.
    """

    running: frozenset[str] = frozenset()
    leaving: frozenset[str] = frozenset()

    @property
    def all(self) -> frozenset[str]:
        """Every owner that still has a Pod."""
        return self.running | self.leaving

    def sole(self, mode: str) -> bool:
        """Whether the mode's owner runs here and every other owner is gone ("Plugin owners")."""
        owner = PLUGIN_OWNER[mode]
        return owner in self.running and self.all == frozenset({owner})

    def foreign(self, mode: str) -> frozenset[str]:
        """Owners that may not be here in this mode."""
        return self.all - {PLUGIN_OWNER[mode]}

    def __str__(self) -> str:
        names = sorted(self.running) + sorted(f"{name} (Terminating)" for name in self.leaving)
        return ", ".join(names) or "none"


NO_OWNERS: Final = PluginOwners()


def owners_by_node(pods: Iterable[Pod]) -> dict[str, PluginOwners]:
    """Plugin owners of every node that has a plugin Pod, from the Pods of the plugin namespaces."""
    running: dict[str, set[str]] = {}
    seen: dict[str, set[str]] = {}
    for pod in pods:
        owner = pod.metadata.controller
        if (
            owner is None
            or owner.kind != "DaemonSet"
            or owner.name not in _OWNERS
            or pod.metadata.namespace not in PLUGIN_NAMESPACES
            or pod.status.phase in _FINISHED
            or not pod.spec.node_name
        ):
            continue
        seen.setdefault(pod.spec.node_name, set()).add(owner.name)
        if not pod.metadata.deletion_timestamp:
            running.setdefault(pod.spec.node_name, set()).add(owner.name)
    return {
        node: PluginOwners(
            running=frozenset(running.get(node, ())),
            leaving=frozenset(names - running.get(node, set())),
        )
        for node, names in seen.items()
    }


def owners_on(node: str, pods: Iterable[Pod]) -> PluginOwners:
    """Plugin owners of one node ("Plugin owners")."""
    return owners_by_node(pod for pod in pods if pod.spec.node_name == node).get(node, NO_OWNERS)
