# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fleet's branch, applied as Flux, node feature discovery and Helm apply it."""

from __future__ import annotations

import logging
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from . import faults, node_features
from .api import (
    CONFIGMAPS,
    DEPLOYMENTS,
    HELM_RELEASES,
    NODE_FEATURE_RULES,
    NODES,
    ApiError,
    JsonObject,
)
from .product import Product, each
from .store import dig

LOG = logging.getLogger("lab.platform")
CLUSTER = "lab"
POLL_SECONDS = 0.5
OWN_LABELS = "nfd.node.kubernetes.io/feature-labels"
NO_GPU = "lab.gpuops.reservations/no-gpu"
GATES = {
    "sharedCreation": "GPU_SHARED_CREATION_ENABLED",
    "vmCreation": "GPU_VM_CREATION_ENABLED",
}
WATCHED = (CONFIGMAPS, DEPLOYMENTS, HELM_RELEASES, NODE_FEATURE_RULES, NODES)


class Branch:
    """The branch that Flux follows, read straight from the bare repository."""

    def __init__(self, repository: Path, branch: str = "main") -> None:
        self._repository = repository
        self._branch = branch

    def revision(self) -> str | None:
        """The commit at the branch's tip; None while there is no repository or branch."""
        found = self._git("rev-parse", "--verify", "--quiet", f"refs/heads/{self._branch}")
        return found.decode().strip() if found else None

    def file(self, revision: str, path: str) -> bytes | None:
        """A file's bytes at a commit, or None."""
        return self._git("cat-file", "blob", f"{revision}:{path}")

    def _git(self, *arguments: str) -> bytes | None:
        if not self._repository.is_dir():
            return None
        done = subprocess.run(
            ["git", f"--git-dir={self._repository}", *arguments], capture_output=True, check=False, timeout=30
        )
        return done.stdout if done.returncode == 0 else None


def environment(text: str) -> dict[str, str]:
    """KEY=VALUE lines as Kustomize reads them: values as they stand; of a duplicate the last one holds."""
    values = {}
    for raw in text.splitlines():
        line = raw.lstrip()
        if line and not line.startswith("#") and "=" in line:
            key, _, value = line.partition("=")
            values[key.strip()] = value
    return values


def switch(text: str | None) -> bool | str:
    """A gate's value where YAML has been in between: true, false, or what it says instead."""
    bare = (text or "").strip().strip("\"'")
    return {"true": True, "false": False}.get(bare, bare)


class Fleet:
    """The controllers between the fleet's branch and the cluster."""

    def __init__(self, product: Product, branch: Branch, cluster: str = CLUSTER) -> None:
        self._product = product
        self._branch = branch
        self._folder = f"clusters/{cluster}"
        self._lock = threading.Lock()
        self._applied: dict[str, object] = {}

    def follow(self) -> None:
        """The branch's tip to the objects that are made from it."""
        current = self._product.faults()
        if current.hits("freeze-fleet", "*", "fleet"):
            return
        revision = self._branch.revision()
        if revision is None:
            return
        self._follow_rules(revision, current)
        self._follow_config(revision, current)

    def _follow_rules(self, revision: str, current: faults.Faults) -> None:
        data = self._branch.file(revision, f"{self._folder}/gpu-node-modes/nodefeaturerule.yaml")
        if data is None or self._applied.get("rules") == data:
            return
        if not self._product.lag.due("rules", data, current.seconds("delay-rules")):
            return
        try:
            documents = [item for item in yaml.safe_load_all(data) if item]
        except (yaml.YAMLError, UnicodeDecodeError) as err:
            if self._product.lag.first("rules-unreadable", data):
                LOG.warning(
                    "fleet %s: the rule file cannot be read, nothing of it is applied: %s", revision, err
                )
            return
        for document in documents:
            if document.get("kind") == NODE_FEATURE_RULES.kind:
                self._product.api.flux.apply(document)
        self._applied["rules"] = data
        LOG.info("fleet %s: node rules applied", revision[:12])

    def _follow_config(self, revision: str, current: faults.Faults) -> None:
        data = self._branch.file(revision, f"{self._folder}/cluster-config.env")
        if data is None or current.hits("freeze-config", "*", "config"):
            return
        wanted = environment(data.decode(errors="replace"))
        present = self._product.store.get(CONFIGMAPS, "cluster-config", "flux-system")
        if dig(present, "data") == wanted:
            self._product.lag.forget("config")
            return
        # Flux writes what it last applied; what a person wrote into the live object since is put right, too.
        if not self._product.lag.due("config", wanted, current.seconds("delay-config")):
            return
        document: JsonObject = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "cluster-config", "namespace": "flux-system"},
            "data": wanted,
        }
        api = self._product.api.flux
        try:
            written = api.replace(CONFIGMAPS, document)
        except ApiError as err:
            if err.status != 404:
                raise
            written = api.create(CONFIGMAPS, document)
        self._product.store.wrote(CONFIGMAPS, written)
        LOG.info("fleet %s: cluster-config applied", revision[:12])

    def gates(self) -> None:
        """Cluster configuration to the product's release, and the release to the backend's Deployment."""
        store, current = self._product.store, self._product.faults()
        config = store.get(CONFIGMAPS, "cluster-config", "flux-system")
        release = store.get(HELM_RELEASES, "kube-dc", "kube-dc")
        if (
            config is not None
            and release is not None
            and not current.hits("freeze-helmrelease", "*", "helmrelease")
        ):
            data = config.get("data") or {}
            self._keep(
                "helmrelease",
                {name: {"enabled": switch(data.get(key))} for name, key in GATES.items()},
                {name: dig(release, "spec", "values", "gpu", name) for name in GATES},
                current.seconds("delay-helmrelease"),
                lambda gates: store.wrote(
                    HELM_RELEASES,
                    self._product.api.flux.patch(
                        HELM_RELEASES, "kube-dc", {"spec": {"values": {"gpu": gates}}}, "kube-dc"
                    ),
                ),
            )
        release = store.get(HELM_RELEASES, "kube-dc", "kube-dc")
        deployment = store.get(DEPLOYMENTS, "kube-dc-backend", "kube-dc")
        if release is None or deployment is None or current.hits("freeze-deployment", "*", "deployment"):
            return
        wanted = {
            key: _word(dig(release, "spec", "values", "gpu", name, "enabled")) for name, key in GATES.items()
        }
        self._keep(
            "deployment",
            wanted,
            _environment_of(deployment),
            current.seconds("delay-deployment"),
            lambda values: self._roll_out(deployment, values),
        )

    def _keep(self, key: str, wanted: Any, present: Any, delay: float, write: Any) -> None:
        if wanted == present:
            self._product.lag.forget(key)
        elif self._product.lag.due(key, wanted, delay):
            write(wanted)

    def _roll_out(self, deployment: JsonObject, values: Mapping[str, str]) -> None:
        container = dig(deployment, "spec", "template", "spec", "containers")[0]
        others = [entry for entry in container.get("env", []) if entry["name"] not in values]
        env = others + [{"name": name, "value": value} for name, value in values.items()]
        patch = [
            {
                "op": "test",
                "path": "/metadata/resourceVersion",
                "value": deployment["metadata"]["resourceVersion"],
            },
            {"op": "add", "path": "/spec/template/spec/containers/0/env", "value": env},
        ]
        written = self._product.api.helm.patch(DEPLOYMENTS, "kube-dc-backend", patch, "kube-dc")
        self._product.store.wrote(DEPLOYMENTS, written)

    def label(self) -> None:
        """Node rules to node labels; labels that a rule no longer gives are taken away."""
        store, current = self._product.store, self._product.faults()
        rules = [
            rule for item in store.list(NODE_FEATURE_RULES) for rule in dig(item, "spec", "rules", default=[])
        ]

        def node(item: JsonObject) -> None:
            name, labels = item["metadata"]["name"], item["metadata"].get("labels") or {}
            if current.hits("freeze-labels", name):
                return
            annotations = item["metadata"].get("annotations") or {}
            features = node_features.of_node(name, has_gpu=NO_GPU not in labels)
            wanted = node_features.labels_for(rules, features)
            own = [text for text in annotations.get(OWN_LABELS, "").split(",") if text]
            gone = [key for key in own if key not in wanted]
            names = ",".join(sorted(wanted))
            right = all(labels.get(key) == value for key, value in wanted.items())
            key = f"labels/{name}"
            if right and not gone and names == annotations.get(OWN_LABELS, ""):
                self._product.lag.forget(key)
                return
            if not self._product.lag.due(key, wanted, current.seconds("delay-labels")):
                return
            patch = {
                "metadata": {
                    "labels": {**dict.fromkeys(gone), **wanted},
                    "annotations": {OWN_LABELS: names or None},
                }
            }
            store.wrote(NODES, self._product.api.nfd.patch(NODES, name, patch))
            LOG.info("node %s: labels of its rule written", name)

        each("labels", store.list(NODES), node)


def _environment_of(deployment: JsonObject) -> dict[str, str | None]:
    containers = dig(deployment, "spec", "template", "spec", "containers", default=[{}])
    present = {entry["name"]: entry.get("value") for entry in containers[0].get("env") or []}
    return {key: present.get(key) for key in GATES.values()}


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value or "")
