# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What stops an assignment, made on a real control plane and taken back: each item of the runbook's list."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from ansible_collections.gpuops.reservations.tests.integration.capacity.capacity_lab import (
    KEY,
    LEDGER,
    CapacityLab,
)
from ansible_collections.gpuops.reservations.tests.integration.capacity.drifts import (
    BILLING,
    DRIFTS,
    H100,
    HRQ,
    Injection,
    both,
    fault,
    file,
    patched,
)

PROFILES = "/api/v1/namespaces/kube-dc/configmaps/gpu-profiles"
CLUSTER_CONFIG = "/api/v1/namespaces/flux-system/configmaps/cluster-config"
KUBEVIRT = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts/kubevirt"
PROJECTED = "/api/v1/namespaces/aurora-vision/resourcequotas/hrq.hnc.x-k8s.io"
FROZEN = 'since: "2026-11-01T00:00:00Z"\naudit: daily\nfindings: [active-alert]\nthawed: null\n'
STILL = fault(freeze_hrq="*", freeze_projection="*", freeze_organization_status="*")
"""Nothing of the entitlement moves while a document that it comes from is edited."""


@dataclass(frozen=True)
class Stop:
    """What is wrong, the identifier under which it stops, and what the message names."""

    make: Injection
    id: str
    names: str


def document(path: str, key: str, edit: Callable[[Any], object]) -> Injection:
    """An edit of a YAML document in a ConfigMap, with everything that follows from it held still."""

    @contextlib.contextmanager
    def make(lab: CapacityLab) -> Iterator[None]:
        before = lab.admin.get(path)["data"][key]
        changed = yaml.safe_load(before)
        edit(changed)
        after = yaml.safe_dump(changed, sort_keys=False)
        with STILL(lab), patched(path, {"data": {key: after}}, {"data": {key: before}})(lab):
            yield

    return make


def add_on(**changes: Any) -> Injection:
    """The catalogue's reservation add-on, otherwise."""
    return document(BILLING, "plans.yaml", lambda plans: plans["addons"]["gpu-h100-reserved"].update(changes))


def second_profile(catalogue: Any) -> None:
    other = next(profile for profile in catalogue["profiles"] if profile["id"] == "v100-vm")
    other["resourceName"] = H100


def host_devices(keep: Callable[[dict[str, Any]], bool]) -> Injection:
    """KubeVirt's list of permitted host devices, with fewer entries."""

    @contextlib.contextmanager
    def make(lab: CapacityLab) -> Iterator[None]:
        configuration = lab.admin.get(KUBEVIRT)["spec"]["configuration"]
        devices = configuration["permittedHostDevices"]["pciHostDevices"]

        def patch(listed: list[dict[str, Any]]) -> dict[str, Any]:
            return {"spec": {"configuration": {"permittedHostDevices": {"pciHostDevices": listed}}}}

        kept = [device for device in devices if keep(device)]
        assert kept != devices
        with patched(KUBEVIRT, patch(kept), patch(devices))(lab):
            yield

    return make


def quota_key(value: str | None) -> Injection:
    """Aurora's hard quota of the profile, otherwise; without value, without the key."""
    return both(STILL, patched(HRQ, {"spec": {"hard": {KEY: value}}}, {"spec": {"hard": {KEY: "4"}}}))


@contextlib.contextmanager
def no_project_quota(lab: CapacityLab) -> Iterator[None]:
    """The only project of aurora has no quota with the key either; the platform makes it again."""
    lab.admin.delete(PROJECTED)
    yield


@contextlib.contextmanager
def no_hrq(lab: CapacityLab) -> Iterator[None]:
    """Aurora has no HRQ; the platform makes it again."""
    lab.admin.delete(HRQ)
    yield


def other_cluster(text: str) -> str:
    policy = yaml.safe_load(text)
    policy["spec"]["clusterUid"] = "00000000-0000-0000-0000-000000000000"
    return yaml.safe_dump(policy, sort_keys=False)


@contextlib.contextmanager
def claimant(lab: CapacityLab) -> Iterator[None]:
    """A tenant's Pod that waits for a device of the pool."""
    path = "/api/v1/namespaces/borealis-ml/pods"
    limits = {H100: "1", "cpu": "1", "memory": "1Gi"}
    container = {"name": "c", "image": "i", "resources": {"limits": limits, "requests": limits}}
    spec = {"containers": [container], "nodeSelector": {"nowhere": "at-all"}}
    lab.admin.create(path, {"metadata": {"name": "waiting"}, "spec": spec})
    try:
        yield
    finally:
        lab.admin.delete(f"{path}/waiting?gracePeriodSeconds=0")


def subscription(name: str, standing: str) -> Injection:
    """An organization's subscription, as billing writes it; afterwards in good standing."""
    path = f"/apis/kube-dc.com/v1/namespaces/{name}/organizations/{name}"

    def annotated(value: str) -> dict[str, Any]:
        return {"metadata": {"annotations": {"billing.kube-dc.com/subscription": value}}}

    return patched(path, annotated(standing), annotated("active"))


RECORD = f"{LEDGER}/records/gpu-res-lab-0.yaml"
STOPS: dict[str, Stop] = {
    "stale lease": Stop(fault(stale_lease="gpu-01"), "stale-capacity", "gpu-01"),
    "stale Organization status": Stop(fault(stale_organization_status="aurora"), "stale-capacity", "aurora"),
    "NotReady": Stop(fault(node_not_ready="gpu-02"), "degraded-capacity", "gpu-02"),
    "vanished device": Stop(fault(device_lost="gpu-02=1"), "degraded-capacity", "gpu-02"),
    "dead plugin": Stop(fault(plugin_dead="gpu-02"), "plugin-conflict", "gpu-02"),
    "label drift": Stop(DRIFTS["profile-mode-mismatch"].make, "profile-mode-mismatch", "gpu-03"),
    "both plugins": Stop(fault(plugin_conflict="gpu-04"), "plugin-conflict", "gpu-04"),
    "active alert": Stop(fault(alerts_firing="KubeDcLabTest"), "active-alert", "KubeDcLabTest"),
    "alert source unreachable": Stop(fault(alerts_source="unreachable"), "active-alert", "alerts"),
    "HRQ missing": Stop(both(STILL, no_project_quota, no_hrq), "hard-quota-above-equation", "aurora"),
    "key missing without project quotas": Stop(
        both(quota_key(None), no_project_quota), "hard-quota-above-equation", "aurora"
    ),
    "0x8 as quantity": Stop(quota_key("0x8"), "status-disagreement", "0x8"),
    "status disagreement": Stop(
        DRIFTS["status-disagreement, Organization"].make, "status-disagreement", "aurora"
    ),
    "suspended organization, in use": Stop(
        subscription("aurora", "suspended"), "status-disagreement", "more is used than hard quota 0"
    ),
    "unknown add-on": Stop(DRIFTS["unknown-add-on"].make, "unknown-add-on", "gpu-b200"),
    "self-service add-on": Stop(add_on(selfService=True), "add-on-unfit", "gpu-h100-reserved"),
    "add-on that also grants cpu": Stop(add_on(cpu="4"), "add-on-unfit", "gpu-h100-reserved"),
    "second profile with the resource": Stop(
        document(PROFILES, "profiles.yaml", second_profile), "profile-mode-mismatch", "v100-vm"
    ),
    "permitted host device missing": Stop(
        host_devices(lambda device: device["resourceName"] != H100), "profile-mode-mismatch", "h100-vm"
    ),
    "unattributed holder": Stop(DRIFTS["unattributed-holder"].make, "unattributed-holder", "default"),
    "invalid record": Stop(
        file(RECORD, lambda text: text.replace("devices: 8", "devices: 08")), "ledger-invalid", RECORD
    ),
    "duplicate id": Stop(
        DRIFTS["duplicate-reservation-id"].make, "duplicate-reservation-id", "gpu-res-lab-0"
    ),
    "frozen": Stop(file(f"{LEDGER}/freezes/h100-vm.yaml", lambda _: FROZEN), "pool-frozen", "h100-vm"),
    "wrong cluster UID": Stop(file(f"{LEDGER}/policy.yaml", other_cluster), "wrong-cluster-uid", "uid"),
    "wrong CLUSTER_NAME": Stop(
        both(
            fault(freeze_config="*"),
            patched(CLUSTER_CONFIG, {"data": {"CLUSTER_NAME": "other"}}, {"data": {"CLUSTER_NAME": "lab"}}),
        ),
        "wrong-cluster-name",
        "other",
    ),
}
