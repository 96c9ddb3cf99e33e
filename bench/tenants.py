# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Organizations of a generated fleet, with projects, quotas, machines and Pods."""

from __future__ import annotations

import json
from collections.abc import Iterator

from lab.fixture.catalogue import H100, PLAN, V100

from .items import Item, JsonObject, instant, meta, ready
from .shape import Shape

PLAIN_KEYS: JsonObject = {
    "limits.cpu": "256",
    "limits.memory": "2Ti",
    "pods": "400",
    "requests.cpu": "256",
    "requests.memory": "2Ti",
    "requests.nvidia.com/gpu": "0",
    "requests.nvidia.com/gpucores": "0",
    "requests.nvidia.com/gpumem": "0",
    f"requests.{V100}": "0",
    "requests.storage": "8Ti",
    "services.loadbalancers": "10",
}
H100_KEY = f"requests.{H100}"


def organization(number: int) -> str:
    """The name of an organization, and of its namespace."""
    return f"org-{number:05}"


def backing(number: int) -> str:
    """The namespace of its one project."""
    return f"{organization(number)}-p"


def usage(shape: Shape, number: int) -> JsonObject:
    """status.quotaUsage as the product writes it."""
    none = {"hard": "0", "used": "0"}
    devices = {"hard": str(shape.hard(number)), "used": str(shape.used(number))}
    return {
        "accelerators": {
            "h100-vm": {"devices": devices},
            "v100-shared": {"shares": none, "memoryMiB": none, "corePercent": none},
            "v100-vm": {"devices": none},
        },
        "lastUpdated": instant(),
    }


def namespaces(shape: Shape) -> Iterator[Item]:
    """Namespaces of organizations and projects, and the account that Pods there run as."""
    for number in range(shape.organizations):
        for name, labels in ((organization(number), {}), (backing(number), {"kube-dc.com/project": ""})):
            yield Item(
                "/api/v1/namespaces",
                {"apiVersion": "v1", "kind": "Namespace", "metadata": meta(name, labels=labels)},
            )


def accounts(shape: Shape) -> Iterator[Item]:
    """The account that Pods of a project run as; no controller makes it here."""
    for number in range(shape.organizations):
        space = backing(number)
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta("default", space)}
        yield Item(f"/api/v1/namespaces/{space}/serviceaccounts", account)


def organizations(shape: Shape) -> Iterator[Item]:
    """Organizations with what they bought, and their projects, both with status."""
    for number in range(shape.organizations):
        name = organization(number)
        addon = "gpu-h100-reserved" if number < shape.holds else "gpu-h100-vm"
        hard = shape.hard(number)
        annotations = {
            "billing.kube-dc.com/plan-id": PLAN,
            "billing.kube-dc.com/subscription": "active",
            "billing.kube-dc.com/addons": json.dumps([{"addonId": addon, "quantity": hard}] if hard else []),
        }
        yield Item(
            f"/apis/kube-dc.com/v1/namespaces/{name}/organizations",
            {
                "apiVersion": "kube-dc.com/v1",
                "kind": "Organization",
                "metadata": meta(name, name, annotations=annotations),
                "spec": {"email": f"owner@{name}.example.com", "description": name},
            },
            {
                "ready": True,
                "quotaPlanId": PLAN,
                "quotaEnforced": True,
                "quotaUsage": usage(shape, number),
                **ready(),
            },
        )
        yield Item(
            f"/apis/kube-dc.com/v1/namespaces/{name}/projects",
            {
                "apiVersion": "kube-dc.com/v1",
                "kind": "Project",
                "metadata": meta("p", name),
                "spec": {"cidrBlock": "10.100.0.0/16", "egressNetworkType": "cloud"},
            },
            {
                "ready": True,
                "namespace": backing(number),
                "quotaUsage": {**usage(shape, number), "perProjectQuotaSet": False},
                **ready(),
            },
        )


def quotas(shape: Shape) -> Iterator[Item]:
    """Hard quotas of organizations, and their projections; after the Pods, which no quota is to count."""
    for number in range(shape.organizations):
        hard = {**PLAIN_KEYS, H100_KEY: str(shape.hard(number))}
        used = {**dict.fromkeys(PLAIN_KEYS, "0"), H100_KEY: str(shape.used(number))}
        name, space = organization(number), backing(number)
        labels = {"billing.kube-dc.com/auto-managed": "true", "billing.kube-dc.com/plan-id": PLAN}
        yield Item(
            f"/apis/hnc.x-k8s.io/v1alpha2/namespaces/{name}/hierarchicalresourcequotas",
            {
                "apiVersion": "hnc.x-k8s.io/v1alpha2",
                "kind": "HierarchicalResourceQuota",
                "metadata": meta("plan-quota", name, labels=labels),
                "spec": {"hard": hard},
            },
            {"hard": hard, "used": used},
        )
        yield Item(
            f"/api/v1/namespaces/{space}/resourcequotas",
            {
                "apiVersion": "v1",
                "kind": "ResourceQuota",
                "metadata": meta("hrq.hnc.x-k8s.io", space, labels={"hnc.x-k8s.io/inherited-from": name}),
                "spec": {"hard": hard},
            },
            {"hard": hard, "used": used},
        )


def machines(shape: Shape) -> Iterator[Item]:
    """Machines that run, with their instances."""
    label = {"kube-dc.com/gpu-profile": "h100-vm"}
    for number in range(shape.machines):
        space = backing(number)
        spec = {
            "evictionStrategy": "None",
            "nodeSelector": {"kube-dc.com/gpu.workload-mode": "vm-passthrough"},
            "domain": {
                "cpu": {"cores": 8},
                "memory": {"guest": "64Gi"},
                "devices": {
                    "gpus": [{"name": "gpu0", "deviceName": H100}],
                    "disks": [{"name": "root", "disk": {"bus": "virtio"}}],
                    "interfaces": [{"name": "default", "masquerade": {}}],
                },
            },
            "networks": [{"name": "default", "pod": {}}],
            "volumes": [{"name": "root", "containerDisk": {"image": "registry.invalid/machine:1"}}],
        }
        yield Item(
            f"/apis/kubevirt.io/v1/namespaces/{space}/virtualmachines",
            {
                "apiVersion": "kubevirt.io/v1",
                "kind": "VirtualMachine",
                "metadata": meta("machine", space, labels=label),
                "spec": {"runStrategy": "Always", "template": {"metadata": {"labels": label}, "spec": spec}},
            },
            {"printableStatus": "Running", "ready": True, "created": True},
        )
        yield Item(
            f"/apis/kubevirt.io/v1/namespaces/{space}/virtualmachineinstances",
            {
                "apiVersion": "kubevirt.io/v1",
                "kind": "VirtualMachineInstance",
                "metadata": meta("machine", space, labels=label),
                "spec": spec,
            },
            {"phase": "Running", "nodeName": pool_node(shape, number), **ready()},
        )


def pool_node(shape: Shape, number: int) -> str:
    """The pool's node that a machine runs on."""
    return f"node-{number % shape.pool_nodes:05}"
