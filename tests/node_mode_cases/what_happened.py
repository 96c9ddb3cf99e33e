# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run did to the world, told by the world itself: requests, commits, and the state at the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from ansible_collections.gpuops.reservations.tests.node_mode_cases.api_proxy import Request
from ansible_collections.gpuops.reservations.tests.node_mode_cases.case_world import CaseWorld
from ansible_collections.gpuops.reservations.tests.node_mode_cases.module_run import Outcome
from ansible_collections.gpuops.reservations.tests.node_mode_cases.node_state import (
    ACTIVE,
    CONFIG,
    CORDON,
    EXPECTED,
)
from lab.api import ApiError

_PLUGIN_NAMESPACES = ("gpu-operator", "hami-system")
_PLUGINS = {
    "pod-hami": "hami-device-plugin",
    "pod-hami-dra": "hami-dra-driver-kubelet-plugin",
    "vm-passthrough": "nvidia-sandbox-device-plugin-daemonset",
}
_NEVER = "nvidia-device-plugin-daemonset"


class WhatHappened:
    """Facts about one run that is over."""

    def __init__(self, world: CaseWorld, outcome: Outcome) -> None:
        self.world = world
        self.outcome = outcome
        self.events = list(world.record.events)
        self.requests = world.record.requests
        self.commits = world.remote.commits(world.start_revision)

    def patches(self, operation: str) -> list[Request]:
        """The module's patches of the node that cordon, uncordon, or do neither (patch_node)."""
        return [request for request in self.requests if request.operation == operation and request.writes]

    def counted(self, operation: str) -> set[int]:
        """How many patches there were. Where the case fails some, sent and accepted ones both count."""
        sent = self.patches(operation)
        return {len(sent), len([request for request in sent if request.reached and request.status == 200])}

    @property
    def writes(self) -> list[Request]:
        """Every request that could change the cluster."""
        return [request for request in self.requests if request.writes]

    @property
    def node(self) -> dict[str, Any] | None:
        """The node as it is now."""
        try:
            return self.world.servers.plane.api.get(f"/api/v1/nodes/{self.world.node.name}")
        except ApiError as error:
            if error.status != 404:
                raise
            return None

    @property
    def cordoned(self) -> bool:
        """Whether the node is unschedulable now."""
        return bool((self.node or {}).get("spec", {}).get("unschedulable", False))

    @property
    def mark(self) -> str | None:
        """Our annotation on the node now."""
        found: str | None = ((self.node or {})["metadata"].get("annotations") or {}).get(CORDON)
        return found

    @property
    def labels(self) -> dict[str, str]:
        """The node's labels now."""
        labels: dict[str, str] = (self.node or {}).get("metadata", {}).get("labels") or {}
        return labels

    @property
    def head(self) -> str:
        """The fleet branch's commit now."""
        return self.world.remote.tip()

    @property
    def lock_holders(self) -> dict[str, str]:
        """Who holds which pool now."""
        text = self.world.remote.file("lock.yaml", self.world.ledger.lock_branch)
        if text is None:
            return {}
        return {pool: lock["ticket"] for pool, lock in (yaml.safe_load(text)["pools"] or {}).items()}

    def rule_file(self, revision: str) -> bytes | None:
        """The rule file at a revision."""
        return self.world.remote.file(self.world.fleet.rule_path, revision)

    def settings_file(self, revision: str) -> bytes | None:
        """cluster-config.env at a revision."""
        return self.world.remote.file(self.world.fleet.settings_path, revision)

    def rule(self, node: str, revision: str) -> dict[str, str] | None:
        """A node's rule by name, active, expected and config; None where there is not exactly one."""
        content = self.rule_file(revision)
        if content is None:
            return None
        rules = yaml.safe_load(content.decode("utf-8-sig"))["spec"]["rules"]
        named = [rule for rule in rules if node in _nodes(rule)]
        if len(named) != 1:
            return None
        labels = named[0]["labels"]
        found = {"name": named[0]["name"]}
        for key, label in (("active", ACTIVE), ("expected", EXPECTED), ("config", CONFIG)):
            if label in labels:
                found[key] = labels[label]
        return found

    def node_modes(self, revision: str) -> str | None:
        """GPU_NODE_MODES at a revision: the value of its last line."""
        content = self.settings_file(revision)
        lines = [] if content is None else content.decode().splitlines()
        found = [line.partition("=")[2] for line in lines if line.startswith("GPU_NODE_MODES=")]
        return found[-1] if found else None

    def plugin_owners(self) -> set[str]:
        """DaemonSets that own plugin Pods on the node now, finished Pods aside."""
        owners = set()
        for pod in self.world.servers.plane.api.get("/api/v1/pods")["items"]:
            if (
                pod["spec"].get("nodeName") != self.world.node.name
                or pod["metadata"]["namespace"] not in _PLUGIN_NAMESPACES
                or pod["status"].get("phase") in ("Succeeded", "Failed")
            ):
                continue
            owners |= {
                reference["name"]
                for reference in pod["metadata"].get("ownerReferences", [])
                if reference.get("controller") and reference["kind"] == "DaemonSet"
            }
        return owners & {*_PLUGINS.values(), _NEVER}

    def target_alone(self, mode: str) -> bool:
        """Whether the mode's plugin is the only one on the node."""
        return self.plugin_owners() == {_PLUGINS[mode]}

    def index(self, kind: str, after: int = -1) -> int:
        """Where the first event of a kind stands after another one; -1 where there is none."""
        for position, event in enumerate(self.events):
            if position > after and (
                event == kind if isinstance(event, str) else event.operation == kind and event.status == 200
            ):
                return position
        return -1


def _nodes(rule: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    for element in rule.get("matchFeatures") or []:
        if element.get("feature") == "system.name":
            found += (element.get("matchExpressions") or {}).get("nodename", {}).get("value") or []
    return found
