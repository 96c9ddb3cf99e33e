# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fences on the API server: what they refuse and let pass, and an audit that misses one of them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import yaml

from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import PolicyBlocked
from ansible_collections.gpuops.reservations.plugins.module_utils._core.times import moment
from ansible_collections.gpuops.reservations.tests.integration.capacity import drifts
from ansible_collections.gpuops.reservations.tests.integration.capacity.assigned import survey
from ansible_collections.gpuops.reservations.tests.integration.capacity.auditing import LiveModules, found
from ansible_collections.gpuops.reservations.tests.integration.capacity.capacity_lab import (
    ADD_ONS,
    CapacityLab,
    eventually,
)
from ansible_collections.gpuops.reservations.tests.integration.capacity.put_back import (
    FENCE,
    MACHINES,
    instance_phase,
    put_back,
)
from ansible_collections.gpuops.reservations.tests.integration.capacity.stepwise import recorded_here
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.returning import cancel
from lab.api import Api, ApiError
from lab.fixture import cluster

pytestmark = [pytest.mark.lab, pytest.mark.slow]

INSTANCES = "/apis/kubevirt.io/v1/namespaces/{}/virtualmachineinstances"
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
EDITORS = "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/{}"
PEOPLE = ("admin", "kube-dc-backend", "borealis")
"""An administrator, the product's backend, and a tenant who may edit its Organization."""


@pytest.fixture(scope="module")
def lab(told_lab: CapacityLab) -> CapacityLab:
    return told_lab


@pytest.fixture(scope="module")
def stage(lab: CapacityLab) -> Iterator[CapacityLab]:
    """FENCE-1 holds the pool, up to its pending record; a tenant may edit Organization and instances."""
    with put_back(lab), editing(lab, "borealis", "borealis"), editing(lab, "aurora", "aurora-vision"):
        recorded_here(LiveModules(lab), "FENCE-1", **survey("borealis", 2, project="ml"))
        # The audit bears a fence that is not up for a minute after its lock was taken: this one is older.
        document = lab.lock()
        document["pools"]["h100-vm"]["since"] = earlier(document["pools"]["h100-vm"]["since"])
        drifts.set_lock(lab, yaml.safe_dump(document, sort_keys=False))
        yield lab


def earlier(text: str) -> str:
    return (moment(text) - timedelta(minutes=5)).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture(scope="module")
def modules(stage: CapacityLab) -> LiveModules:
    return LiveModules(stage)


@contextlib.contextmanager
def editing(lab: CapacityLab, who: str, namespace: str) -> Iterator[None]:
    """RBAC allows it, so that a refusal is the fence's."""
    group = "rbac.authorization.k8s.io"
    role, binding = EDITORS.format(namespace, "roles"), EDITORS.format(namespace, "rolebindings")
    rules = [
        {"apiGroups": ["kube-dc.com", "kubevirt.io"], "resources": ["*"], "verbs": ["*"]},
    ]
    lab.admin.create(role, {"metadata": {"name": "fence-test"}, "rules": rules})
    reference = {"apiGroup": group, "kind": "Role", "name": "fence-test"}
    subjects = [{"apiGroup": group, "kind": "User", "name": who}]
    lab.admin.create(
        binding, {"metadata": {"name": "fence-test"}, "roleRef": reference, "subjects": subjects}
    )
    try:
        yield
    finally:
        lab.admin.delete(f"{binding}/fence-test")
        lab.admin.delete(f"{role}/fence-test")


def instance(name: str, namespace: str, device: str | None = drifts.H100) -> dict[str, Any]:
    """A machine's instance, as somebody makes it without a machine."""
    spec = cluster.machine(name, namespace)["spec"]["template"]["spec"]
    if device is None:
        del spec["domain"]["devices"]["gpus"]
    metadata = {"name": name, "namespace": namespace}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": metadata,
        "spec": spec,
    }


def refused(lab: CapacityLab) -> set[str]:
    """Instances whose creation the fence refused, by the API server's log."""
    return {
        event["objectRef"].get("name") or event.get("requestObject", {}).get("metadata", {}).get("name", "")
        for event in lab.audit_events()
        if event["verb"] == "create"
        and event.get("objectRef", {}).get("resource") == "virtualmachineinstances"
        and "creation fence" in event.get("responseStatus", {}).get("message", "")
    }


# Creation fence


@pytest.mark.parametrize("who", ["admin", "aurora"])
def test_an_instance_is_refused_to_everybody(stage: CapacityLab, who: str) -> None:
    api = Api(stage.lab.kubeconfig(who))
    with pytest.raises(ApiError, match="creation fence: a reservation of this pool is in progress") as raised:
        api.create(INSTANCES.format("aurora-vision"), instance("sneaky", "aurora-vision"))
    assert raised.value.status in (403, 422)
    assert instance_phase(stage, "aurora-vision", "sneaky") == ""


def test_a_device_asked_for_as_a_host_device_is_refused_too(stage: CapacityLab) -> None:
    sneaky = instance("sneaky", "aurora-vision")
    devices = sneaky["spec"]["domain"]["devices"]
    devices["hostDevices"] = devices.pop("gpus")
    with pytest.raises(ApiError, match="creation fence"):
        stage.admin.create(INSTANCES.format("aurora-vision"), sneaky)


def test_an_instance_without_the_pools_device_starts(stage: CapacityLab) -> None:
    path = INSTANCES.format("aurora-vision")
    stage.admin.create(path, instance("plain", "aurora-vision", None))
    stage.admin.delete(f"{path}/plain")


def test_the_smoke_vm_of_the_locks_ticket_starts_and_no_other_name_does(stage: CapacityLab) -> None:
    path = MACHINES.format("borealis-ml")
    with pytest.raises(ApiError, match="creation fence"):
        stage.admin.create(INSTANCES.format("borealis-ml"), instance("gpu-smoke-lab-9", "borealis-ml"))
    drifts.client(stage, "gpuops").create(path, cluster.machine("gpu-smoke-fence-1", "borealis-ml"))
    eventually(
        "the smoke VM runs",
        lambda: instance_phase(stage, "borealis-ml", "gpu-smoke-fence-1") == "Running",
        60,
    )
    stage.admin.delete(f"{path}/gpu-smoke-fence-1")
    eventually(
        "the smoke VM is gone", lambda: instance_phase(stage, "borealis-ml", "gpu-smoke-fence-1") == "", 60
    )


# Entitlement fence


def patch_add_ons(lab: CapacityLab, who: str, organization: str, quantities: dict[str, int]) -> None:
    entries = [{"addonId": key, "quantity": value} for key, value in quantities.items()]
    drifts.client(lab, who).patch(
        drifts.organization(organization), {"metadata": {"annotations": {ADD_ONS: json.dumps(entries)}}}
    )


CHANGES = {
    "granted": {"gpu-h100-vm": 2, "gpu-h100-reserved": 2},
    "granted under an ordinary change": {"gpu-h100-vm": 1, "gpu-h100-reserved": 1},
    "granted nothing, but named": {"gpu-h100-vm": 2, "gpu-h100-reserved": 0},
}


@pytest.mark.parametrize("who", PEOPLE)
@pytest.mark.parametrize("change", CHANGES)
def test_the_pools_reservation_add_on_is_refused_to_everybody_else(
    stage: CapacityLab, who: str, change: str
) -> None:
    before = stage.entitlements()
    with pytest.raises(PolicyBlocked, match="entitlement fence: gpu-h100-reserved may not be changed"):
        patch_add_ons(stage, who, "borealis", CHANGES[change])
    assert stage.entitlements() == before


def test_another_organizations_hold_may_not_be_changed_either(stage: CapacityLab) -> None:
    for quantities in ({"gpu-h100-reserved": 9}, {"gpu-h100-reserved": 7}, {}):
        with pytest.raises(PolicyBlocked, match="entitlement fence"):
            patch_add_ons(stage, "kube-dc-backend", "cumulus", quantities)
    assert stage.add_ons("cumulus") == {"gpu-h100-reserved": 8}


@pytest.mark.parametrize("who", PEOPLE)
def test_other_add_ons_change(stage: CapacityLab, who: str) -> None:
    for quantities in ({"gpu-h100-vm": 2, "gpu-v100-reserved": 1}, {"gpu-h100-vm": 3}, {"gpu-h100-vm": 2}):
        patch_add_ons(stage, who, "borealis", quantities)
        assert stage.add_ons("borealis") == quantities


def test_our_identity_changes_it(stage: CapacityLab, modules: LiveModules) -> None:
    patch_add_ons(stage, "gpuops", "borealis", {"gpu-h100-vm": 2, "gpu-h100-reserved": 2})
    patch_add_ons(stage, "gpuops", "borealis", {"gpu-h100-vm": 2})
    eventually("the platform has followed", lambda: found(modules.audit()) == set(), 60)


# A fence that is down


@contextlib.contextmanager
def without_parameter(lab: CapacityLab, key: str) -> Iterator[None]:
    before = lab.admin.get(FENCE)["data"]
    drifts.client(lab).patch(FENCE, {"data": {key: None}})
    try:
        yield
    finally:
        drifts.client(lab).patch(FENCE, {"data": {key: before[key]}})


@contextlib.contextmanager
def without_binding(lab: CapacityLab, name: str) -> Iterator[None]:
    binding = lab.admin.get(f"{BINDINGS}/{name}")
    lab.admin.delete(f"{BINDINGS}/{name}")
    try:
        yield
    finally:
        for key in ("resourceVersion", "uid", "creationTimestamp", "managedFields", "generation"):
            binding["metadata"].pop(key, None)
        lab.admin.create(BINDINGS, binding)


DOWN = {
    "creation fence lowered": lambda lab: without_parameter(lab, "creation.h100-vm"),
    "entitlement fence lowered": lambda lab: without_parameter(lab, "entitlement.h100-vm"),
    "creation fence unbound": lambda lab: without_binding(lab, "gpuops-creation-fence"),
    "entitlement fence unbound": lambda lab: without_binding(lab, "gpuops-entitlement-fence"),
}


@pytest.mark.parametrize("how", DOWN)
def test_a_fence_that_is_down_while_the_pool_is_locked_fails_the_audit(
    stage: CapacityLab, modules: LiveModules, how: str
) -> None:
    eventually("nothing else is wrong", lambda: found(modules.audit()) == set(), 60)
    with DOWN[how](stage):
        wanted = {("fence-down", "fence/h100-vm")}
        eventually("the finding", lambda: found(modules.audit()) == wanted, 90)
        [finding] = [item for item in modules.audit()["findings"] if item["id"] == "fence-down"]
        assert "has to be fenced for the lock of fence-1" in finding["message"]
        assert how.partition(" ")[0] in " ".join(finding["values"])
        reader = LiveModules(stage, "reader").audit()
        assert found(reader) == wanted, "the reader may read the fences"
    eventually("it is as it was", lambda: found(modules.audit()) == set(), 60)


# A machine that waits; the last test, because it lets the pool go


def test_a_machine_that_waits_starts_when_the_fence_is_lowered(
    stage: CapacityLab, modules: LiveModules
) -> None:
    api = Api(stage.lab.kubeconfig("aurora"))
    api.create(MACHINES.format("aurora-vision"), cluster.machine("waiting", "aurora-vision"))
    eventually("its instance is refused", lambda: "waiting" in refused(stage), 60)
    assert instance_phase(stage, "aurora-vision", "waiting") == ""
    cancel(modules, "FENCE-1", wait_timeout=20)
    assert {key for key in stage.admin.get(FENCE)["data"] if "." in key} == set()
    eventually("it starts", lambda: instance_phase(stage, "aurora-vision", "waiting") == "Running", 60)
