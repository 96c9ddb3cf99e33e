# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Puts a lab back to what it was by direct writes: seconds, where a reset takes half a minute."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from typing import Any

from ansible_collections.gpuops.reservations.tests.integration.capacity import drifts
from ansible_collections.gpuops.reservations.tests.integration.capacity.auditing import LiveModules, found
from ansible_collections.gpuops.reservations.tests.integration.capacity.capacity_lab import (
    LOCK_BRANCH,
    CapacityLab,
    eventually,
)
from ansible_collections.gpuops.reservations.tests.integration.capacity.drifts import organization
from lab.api import ApiError
from lab.fixture import cluster
from lab.platform import faults
from lab.platform.api import Api as PlatformApi

FENCE = "/api/v1/namespaces/gpuops-system/configmaps/capacity-fence"
MACHINES = "/apis/kubevirt.io/v1/namespaces/{}/virtualmachines"
CAPS = "/api/v1/namespaces/{}/resourcequotas"
ORGANIZATIONS = ("aurora", "borealis", "cumulus")


def require_clean(lab: CapacityLab, seconds: float = 120) -> None:
    """An audit finds nothing wrong, and nothing on its way: the platform has followed."""
    modules = LiveModules(lab)

    def clean() -> bool:
        result = modules.audit()
        return not found(result) and not found(result, "warning")

    eventually("an audit without errors and warnings", clean, seconds)


@contextlib.contextmanager
def put_back(lab: CapacityLab) -> Iterator[None]:
    """Fleet, lock, fences, add-ons, caps, machines, faults and evidence are afterwards what they were."""
    require_clean(lab)
    trees = {branch: lab.git("rev-parse", f"{commit}^{{tree}}").strip() for branch, commit in _tips(lab)}
    annotations = {name: lab.organization(name)["metadata"]["annotations"] for name in ORGANIZATIONS}
    caps, machines = _caps(lab), set(_machines(lab))
    kept = lab.folder / "evidence"
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(lab.lab.evidence, kept)
    try:
        yield
    finally:
        faults.clear_faults(PlatformApi(lab.lab.kubeconfig("admin")))
        for namespace, name in set(_machines(lab)) - machines:
            lab.admin.delete(f"{MACHINES.format(namespace)}/{name}")
        _lower_fences(lab)
        admin = drifts.client(lab)
        for name, before in annotations.items():
            admin.patch(organization(name), {"metadata": {"annotations": before}})
        _restore_caps(lab, caps)
        for branch, _commit in _tips(lab):
            _restore_tree(lab, branch, trees.get(branch, ""))
        shutil.rmtree(lab.lab.evidence)
        shutil.copytree(kept, lab.lab.evidence)
        require_clean(lab)


def _tips(lab: CapacityLab) -> list[tuple[str, str]]:
    return [(branch, commit) for branch, commit in lab.refs().items() if branch in ("main", LOCK_BRANCH)]


def _restore_tree(lab: CapacityLab, branch: str, tree: str) -> None:
    """A person's commit on the branch that has an earlier one's files; a lock that is new is let go of."""
    if not tree:
        drifts.set_lock(lab, drifts.lock_text())
        return
    tip = lab.refs()[branch]
    if lab.git("rev-parse", f"{tip}^{{tree}}").strip() == tree:
        return
    who = ("-c", "user.name=person", "-c", "user.email=person@example.com")
    commit = lab.git(*who, "commit-tree", tree, "-p", tip, "-m", "as it was").strip()
    lab.git("update-ref", f"refs/heads/{branch}", commit, tip)


def _caps(lab: CapacityLab) -> dict[str, dict[str, Any]]:
    items = lab.admin.get("/api/v1/resourcequotas")["items"]
    return {
        item["metadata"]["namespace"]: item["spec"]
        for item in items
        if item["metadata"]["name"] == "project-quota"
    }


def _restore_caps(lab: CapacityLab, before: dict[str, dict[str, Any]]) -> None:
    now = _caps(lab)
    for namespace in now.keys() - before.keys():
        lab.admin.delete(f"{CAPS.format(namespace)}/project-quota")
    for namespace, spec in before.items():
        if now.get(namespace) != spec:
            set_cap(lab, namespace, spec["hard"])


def set_cap(lab: CapacityLab, namespace: str, hard: dict[str, str]) -> None:
    """A project's own cap, as somebody set it in the product."""
    path = CAPS.format(namespace)
    with contextlib.suppress(ApiError):
        lab.admin.delete(f"{path}/project-quota")
    lab.admin.create(path, {"metadata": {"name": "project-quota"}, "spec": {"hard": hard}})


def _lower_fences(lab: CapacityLab) -> None:
    standing = dict.fromkeys(key for key in lab.admin.get(FENCE)["data"] if "." in key)
    drifts.client(lab).patch(FENCE, {"data": standing})


def _machines(lab: CapacityLab) -> list[tuple[str, str]]:
    items = lab.admin.get("/apis/kubevirt.io/v1/virtualmachines")["items"]
    return [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in items]


def start_machine(lab: CapacityLab, namespace: str, name: str, *, clean: bool = True) -> None:
    """A tenant's machine with one device, until it runs, and quota and status count it where all is clean."""
    lab.admin.create(MACHINES.format(namespace), cluster.machine(name, namespace))
    eventually(f"{namespace}/{name} runs", lambda: instance_phase(lab, namespace, name) == "Running", 60)
    if clean:
        require_clean(lab, 60)


def instance_phase(lab: CapacityLab, namespace: str, name: str) -> str:
    """The phase of a machine's instance; empty where there is none."""
    with contextlib.suppress(ApiError):
        path = f"/apis/kubevirt.io/v1/namespaces/{namespace}/virtualmachineinstances/{name}"
        return str(lab.admin.get(path).get("status", {}).get("phase", ""))
    return ""


def stop_machine(lab: CapacityLab, namespace: str, name: str) -> None:
    """Its owner stops it normally."""
    drifts.client(lab).patch(f"{MACHINES.format(namespace)}/{name}", {"spec": {"runStrategy": "Halted"}})


def launchers(lab: CapacityLab, namespace: str, name: str) -> list[dict[str, Any]]:
    """The Pods of a machine."""
    pods = lab.admin.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
    return [pod for pod in pods if pod["metadata"]["name"].startswith(f"virt-launcher-{name}-")]
