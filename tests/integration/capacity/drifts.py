# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drifts of a real cluster and fleet, each made and taken back: what an audit has to find."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import yaml

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.connection import (
    ConnectionOptions,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.kube import KubeClient
from ansible_collections.gpuops.reservations.plugins.module_utils._core.times import moment
from ansible_collections.gpuops.reservations.tests.integration.capacity.capacity_lab import (
    ADD_ONS,
    CONFIG_FILE,
    KEY,
    LEDGER,
    LOCK_BRANCH,
    CapacityLab,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.capacity_world import import_commit
from lab.platform import faults
from lab.platform.api import Api as PlatformApi

H100 = KEY.removeprefix("requests.")
RECORD = f"{LEDGER}/records/gpu-res-lab-0.yaml"
BILLING = "/api/v1/namespaces/kube-dc/configmaps/billing-plans"
Back = contextlib.AbstractContextManager[None]
Injection = Callable[[CapacityLab], Back]


@dataclass(frozen=True)
class Drift:
    """One drift.

    Attributes:
        make: makes it, and takes it back at the end of its block.
        found: ids and objects of the findings that it gives, and no others of their severity.
        odd: the odd one out that a status disagreement names.
        severity: a warning leaves the exit code at zero.
    """

    make: Injection
    found: frozenset[tuple[str, str]]
    odd: str = ""
    severity: str = "error"


def client(lab: CapacityLab, identity: str = "admin") -> KubeClient:
    return KubeClient.connect(ConnectionOptions(kubeconfig=str(lab.lab.kubeconfig(identity))))


def organization(name: str) -> str:
    return f"/apis/kube-dc.com/v1/namespaces/{name}/organizations/{name}"


def fault(**given: Any) -> Injection:
    """The platform's fault, lifted afterwards."""

    @contextlib.contextmanager
    def make(lab: CapacityLab) -> Iterator[None]:
        api = PlatformApi(lab.lab.kubeconfig("admin"))
        faults.set_fault(api, **given)
        try:
            yield
        finally:
            faults.clear_faults(api, *(key.replace("_", "-") for key in given))

    return make


def file(path: str, edit: Callable[[str], str | None]) -> Injection:
    """A person's commit, taken back by another one."""

    @contextlib.contextmanager
    def make(lab: CapacityLab) -> Iterator[None]:
        before = lab.file(path)
        after = edit(before)
        assert after != before, f"the edit of {path} changes nothing"
        lab.commit(path, after)
        try:
            yield
        finally:
            lab.commit(path, before or None)

    return make


def record(**changes: Any) -> Injection:
    """Keys of LAB-0's record, spec and status alike."""

    def edit(text: str) -> str:
        document = yaml.safe_load(text)
        for key, value in changes.items():
            document["status" if key in document["status"] else "spec"][key] = value
        return yaml.safe_dump(document, sort_keys=False)

    return file(RECORD, edit)


def lock(text: str) -> Injection:
    """The lock document, as somebody left it."""

    @contextlib.contextmanager
    def make(lab: CapacityLab) -> Iterator[None]:
        set_lock(lab, text)
        try:
            yield
        finally:
            set_lock(lab, lock_text())

    return make


def set_lock(lab: CapacityLab, text: str) -> None:
    reference = f"refs/heads/{LOCK_BRANCH}"
    parent = f"from {reference}^0\n" if LOCK_BRANCH in lab.refs() else ""
    import_commit(lab.fleet, reference, parent, {"lock.yaml": text})


def lock_text(pools: Mapping[str, Any] | None = None, closed_for: tuple[str, ...] = ()) -> str:
    gate = {
        "vm": {"openBefore": bool(closed_for), "closedFor": list(closed_for)},
        "shared": {"openBefore": False, "closedFor": []},
    }
    return yaml.safe_dump({"pools": dict(pools or {}), "gate": gate, "projectCaps": {}}, sort_keys=False)


def add_ons(name: str, quantities: Mapping[str, int]) -> Injection:
    """An Organization's add-on annotation."""

    @contextlib.contextmanager
    def make(lab: CapacityLab) -> Iterator[None]:
        admin = client(lab)
        before = lab.organization(name)["metadata"]["annotations"][ADD_ONS]
        entries = [{"addonId": key, "quantity": value} for key, value in quantities.items()]
        admin.patch(organization(name), {"metadata": {"annotations": {ADD_ONS: json.dumps(entries)}}})
        try:
            yield
        finally:
            admin.patch(organization(name), {"metadata": {"annotations": {ADD_ONS: before}}})

    return make


def patched(path: str, patch: Mapping[str, Any], back: Mapping[str, Any]) -> Injection:
    """A merge patch by the administrator, and the one that takes it back."""

    @contextlib.contextmanager
    def make(lab: CapacityLab) -> Iterator[None]:
        client(lab).patch(path, dict(patch))
        try:
            yield
        finally:
            client(lab).patch(path, dict(back))

    return make


def both(*makers: Injection) -> Injection:
    """Several at once, made in this order and taken back in the other."""

    @contextlib.contextmanager
    def make(lab: CapacityLab) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            for maker in makers:
                stack.enter_context(maker(lab))
            yield

    return make


def accelerators(hard: str) -> dict[str, Any]:
    return {"status": {"quotaUsage": {"accelerators": {"h100-vm": {"devices": {"hard": hard}}}}}}


def twice_the_devices(lab: CapacityLab) -> Back:
    """An edit of the catalogue: the ordinary add-on grants two devices."""
    plans = lab.admin.get(BILLING)["data"]["plans.yaml"]
    document = yaml.safe_load(plans)
    document["addons"]["gpu-h100-vm"]["gpu"]["h100-vm"]["devices"] = 2
    changed = yaml.safe_dump(document, sort_keys=False)
    return patched(BILLING, {"data": {"plans.yaml": changed}}, {"data": {"plans.yaml": plans}})(lab)


@contextlib.contextmanager
def foreign_pod(lab: CapacityLab) -> Iterator[None]:
    """A Pod with a device of the pool, in a namespace of nobody."""
    path = "/api/v1/namespaces/default/pods"
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "stray"},
        "spec": {
            "containers": [{"name": "c", "image": "i", "resources": {"limits": {H100: "1"}}}],
            "nodeName": "gpu-04",
        },
    }
    lab.admin.create(path, pod)
    try:
        yield
    finally:
        lab.admin.delete(f"{path}/stray?gracePeriodSeconds=0")


def pending_v100(_text: str) -> str:
    return """apiVersion: operations.kube-dc.com/v1alpha1
kind: GPUReservationRecord
metadata: {id: gpu-res-seq-1}
spec:
  organization: borealis
  project: ""
  profileId: v100-vm
  devices: 1
  state: pending
  requestedAt: "2026-11-21T00:00:00Z"
  startsAt: "2026-11-21T02:00:00Z"
  endsAt: ""
  addonId: gpu-v100-reserved
  billingReference: INV-2
  approvedBy: {product: p.owner, sre: s.owner}
status: {activatedAt: "", releasedAt: "", evidenceRevision: "", reason: awaiting-activation}
"""


def ended_an_hour_after_its_activation(text: str) -> str:
    """LAB-0 is active for days: the fixture counts its times back from now."""
    document = yaml.safe_load(text)
    ends = moment(document["status"]["activatedAt"]) + timedelta(hours=1)
    document["spec"]["endsAt"] = ends.strftime("%Y-%m-%dT%H:%M:%SZ")
    return yaml.safe_dump(document, sort_keys=False)


def node_undeclared(text: str) -> str:
    policy = yaml.safe_load(text)
    del policy["spec"]["pools"]["h100-vm"]["nodes"]["gpu-04"]
    return yaml.safe_dump(policy, sort_keys=False)


def closed_in_the_file(text: str) -> str:
    return text.replace("GPU_VM_CREATION_ENABLED=true", "GPU_VM_CREATION_ENABLED=false")


HRQ = "/apis/hnc.x-k8s.io/v1alpha2/namespaces/aurora/hierarchicalresourcequotas/plan-quota"
PROJECT = "/apis/kube-dc.com/v1/namespaces/aurora/projects/vision/status"
EXPECTED = "kube-dc.com/gpu.expected-workload-mode"
FREEZE = 'since: "2026-11-01T00:00:00Z"\naudit: daily\nfindings: [active-alert]\nthawed: null\n'
FENCE = "/api/v1/namespaces/gpuops-system/configmaps/capacity-fence"
RAISED = {"creation.h100-vm": f"{H100} -", "entitlement.h100-vm": "gpu-h100-reserved"}
LOWERED = dict.fromkeys(RAISED)
OLD = {"ticket": "lab-7", "run": "01X", "since": "2026-01-01T00:00:00Z", "step": "freeze"}


def one(identifier: str, where: str) -> frozenset[tuple[str, str]]:
    return frozenset({(identifier, where)})


def disagreement(where: str) -> frozenset[tuple[str, str]]:
    return one("status-disagreement", where)


def label(value: str) -> dict[str, Any]:
    return {"metadata": {"labels": {EXPECTED: value}}}


DRIFTS: dict[str, Drift] = {
    "missing-ledger-record": Drift(
        file(RECORD, lambda _text: None), one("missing-ledger-record", "organization/cumulus")
    ),
    "unknown-add-on": Drift(
        add_ons("aurora", {"gpu-h100-vm": 4, "gpu-b200": 1}), one("unknown-add-on", "organization/aurora")
    ),
    "stale-capacity, a node": Drift(fault(stale_lease="gpu-01"), one("stale-capacity", "node/gpu-01")),
    "stale-capacity, a status": Drift(
        fault(stale_organization_status="aurora"), one("stale-capacity", "organization/aurora")
    ),
    "degraded-capacity, a device": Drift(
        fault(device_lost="gpu-02=1"), one("degraded-capacity", "node/gpu-02")
    ),
    "degraded-capacity, not ready": Drift(
        fault(node_not_ready="gpu-02"), one("degraded-capacity", "node/gpu-02")
    ),
    "degraded and stale, a dead kubelet": Drift(
        fault(node_unknown="gpu-02"),
        frozenset({("degraded-capacity", "node/gpu-02"), ("stale-capacity", "node/gpu-02")}),
    ),
    "hard-quota-above-equation": Drift(
        add_ons("aurora", {"gpu-h100-vm": 22}), one("hard-quota-above-equation", "pool/h100-vm")
    ),
    "duplicate-reservation-id": Drift(
        file(
            "gpu-reservations/east/records/gpu-res-lab-0.yaml", lambda _: "metadata: {id: gpu-res-lab-0}\n"
        ),
        one("duplicate-reservation-id", f"file/{RECORD}"),
    ),
    "ledger-invalid, a record": Drift(record(devices=0), one("ledger-invalid", f"file/{RECORD}")),
    "ledger-invalid, the lock": Drift(
        lock("pools: 1\n"), one("ledger-invalid", f"file/{LOCK_BRANCH}:lock.yaml")
    ),
    "profile-mode-mismatch": Drift(
        both(
            fault(freeze_labels="gpu-03"),
            patched("/api/v1/nodes/gpu-03", label("pod-hami"), label("vm-passthrough")),
        ),
        one("profile-mode-mismatch", "node/gpu-03"),
    ),
    "plugin-conflict": Drift(fault(plugin_conflict="gpu-04"), one("plugin-conflict", "node/gpu-04")),
    "active-alert": Drift(fault(alerts_firing="KubeDcLabTest"), one("active-alert", "alert/KubeDcLabTest")),
    "active-alert, pending": Drift(
        fault(alerts_pending="KubeDcLabTest"), one("active-alert", "alert/KubeDcLabTest")
    ),
    "active-alert, unreadable": Drift(fault(alerts_source="unreachable"), one("active-alert", "alerts")),
    "active-alert, no rules": Drift(fault(alerts_source="no-rules"), one("active-alert", "alerts")),
    "status-disagreement, annotation": Drift(
        both(fault(freeze_hrq="aurora"), add_ons("aurora", {"gpu-h100-vm": 5})),
        disagreement("organization/aurora"),
        odd="annotation",
    ),
    "status-disagreement, catalogue": Drift(
        both(fault(freeze_hrq="*"), twice_the_devices),
        disagreement("organization/aurora") | disagreement("organization/borealis"),
        odd="catalogue",
    ),
    "status-disagreement, HRQ": Drift(
        both(
            fault(freeze_hrq="aurora", freeze_organization_status="aurora"),
            patched(HRQ, {"spec": {"hard": {KEY: "5"}}}, {"spec": {"hard": {KEY: "4"}}}),
        ),
        disagreement("organization/aurora"),
        odd="HRQ",
    ),
    "status-disagreement, Organization": Drift(
        both(
            fault(freeze_organization_status="aurora"),
            patched(f"{organization('aurora')}/status", accelerators("5"), accelerators("4")),
        ),
        disagreement("organization/aurora"),
        odd="Organization",
    ),
    "status-disagreement, Project": Drift(
        both(
            fault(freeze_project_status="aurora"),
            patched(PROJECT, accelerators("3"), accelerators("4")),
        ),
        disagreement("project/aurora/vision"),
        odd="Project",
    ),
    "status-disagreement, cap": Drift(
        record(project="lab"), disagreement("project/cumulus/lab"), odd="cap"
    ),
    "unattributed-holder": Drift(foreign_pod, one("unattributed-holder", "holder/default/Pod/stray")),
    "sequential-pool-conflict": Drift(
        file(f"{LEDGER}/records/gpu-res-seq-1.yaml", pending_v100),
        frozenset(
            {("sequential-pool-conflict", "node/acc-01"), ("hard-quota-above-equation", "pool/v100-vm")}
        ),
    ),
    "gate-state-unexpected, frozen and open": Drift(
        file(f"{LEDGER}/freezes/v100-vm.yaml", lambda _: FREEZE),
        frozenset({("gate-state-unexpected", "gate/vm"), ("fence-down", "fence/v100-vm")}),
    ),
    "gate-state-unexpected, copies differ": Drift(
        both(fault(freeze_config="*"), file(CONFIG_FILE, closed_in_the_file)),
        one("gate-state-unexpected", "gate/vm"),
    ),
    "fence-down, a lock without its fence": Drift(
        lock(lock_text({"h100-vm": OLD})), one("fence-down", "fence/h100-vm")
    ),
    "fence-not-lowered": Drift(
        patched(FENCE, {"data": RAISED}, {"data": LOWERED}),
        one("fence-not-lowered", "fence/h100-vm"),
        severity="warning",
    ),
    "stale-lock": Drift(
        both(patched(FENCE, {"data": RAISED}, {"data": LOWERED}), lock(lock_text({"h100-vm": OLD}))),
        one("stale-lock", "lock/h100-vm"),
        severity="warning",
    ),
    "undeclared-node": Drift(
        file(f"{LEDGER}/policy.yaml", node_undeclared),
        one("undeclared-node", "node/gpu-04"),
        severity="warning",
    ),
    "overdue-reservation": Drift(
        file(RECORD, ended_an_hour_after_its_activation),
        one("overdue-reservation", "record/gpu-res-lab-0"),
        severity="warning",
    ),
    "smoke-age": Drift(
        record(
            requestedAt="2026-01-01T00:00:00Z",
            startsAt="2026-01-21T02:00:00Z",
            activatedAt="2026-01-21T03:00:00Z",
        ),
        one("smoke-age", "pool/h100-vm"),
        severity="warning",
    ),
}  # fmt: skip
