# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the product installs before anything else: definitions, identities, policies, device plugins."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import yaml

from .api import DEFINITIONS, Api, ApiError, JsonObject
from .catalogue import Profile
from .devices import daemonsets
from .store import dig

MANIFESTS = Path(__file__).parent / "manifests"
MACHINE_POLICY = "vap-gpu-virtualmachines"


def manifests(name: str) -> list[JsonObject]:
    """The documents of one of the files beside this one."""
    return [item for item in yaml.safe_load_all((MANIFESTS / f"{name}.yaml").read_text()) if item]


def install(api: Api, timeout: float = 30.0) -> None:
    """Apply everything and wait until every definition is served. Running it again changes nothing.

    Raises TimeoutError, naming the definitions that are not served.
    """
    definitions = manifests("definitions")
    identities = manifests("identities")
    namespaces = [item for item in identities if item["kind"] == "Namespace"]
    others = [item for item in identities if item["kind"] != "Namespace"]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(api.apply, definitions + namespaces))
        list(pool.map(api.apply, others + daemonsets()))
    _await_served(api, [item["metadata"]["name"] for item in definitions], timeout)
    for document in manifests("policies"):
        api.apply(document)


def _await_served(api: Api, names: list[str], timeout: float) -> None:
    end = time.monotonic() + timeout
    while True:
        missing = [name for name in names if not _served(api, name)]
        if not missing:
            return
        if time.monotonic() > end:
            raise TimeoutError(f"not served after {timeout:.0f} s: {', '.join(missing)}")
        time.sleep(0.1)


def _served(api: Api, name: str) -> bool:
    definition = api.get(DEFINITIONS, name)
    established = any(
        entry["type"] == "Established" and entry["status"] == "True"
        for entry in dig(definition, "status", "conditions", default=[])
    )
    if definition is None or not established:
        return False
    version = definition["spec"]["versions"][0]["name"]
    path = f"/apis/{definition['spec']['group']}/{version}/{definition['spec']['names']['plural']}"
    try:
        api.request("GET", path, query={"limit": "1"})
    except ApiError:
        return False
    return True


def machine_policy(profiles: Mapping[str, Profile]) -> JsonObject:
    """The product's policy on GPU machines, with the devices of the catalogue's VM profiles in it."""
    devices = {profile.id: profile.resource_name for profile in profiles.values() if profile.workload == "vm"}
    table = ", ".join(f"'{name}': '{device}'" for name, device in sorted(devices.items()))
    devices_path = "object.?spec.?template.?spec.?domain.?devices"
    label = "metadata.?labels[?'kube-dc.com/gpu-profile'].orValue('')"
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": MACHINE_POLICY},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": ["kubevirt.io"],
                        "apiVersions": ["v1"],
                        "resources": ["virtualmachines"],
                        "operations": ["CREATE", "UPDATE"],
                    }
                ]
            },
            "matchConditions": [
                {"name": "no-administrator", "expression": "!('system:masters' in request.userInfo.groups)"},
                {"name": "not-on-its-way-out", "expression": "!has(object.metadata.deletionTimestamp)"},
            ],
            "variables": [
                {"name": "devices", "expression": f"{{{table}}}" if table else "{'': ''}"},
                {"name": "gpus", "expression": f"{devices_path}.?gpus.orValue([])"},
                {"name": "profile", "expression": f"object.?{label}"},
                {"name": "templateProfile", "expression": f"object.?spec.?template.?{label}"},
                {
                    "name": "pinned",
                    "expression": (
                        "object.?spec.?template.?spec.?nodeSelector.hasValue() && "
                        "'kubernetes.io/hostname' in object.spec.template.spec.nodeSelector"
                    ),
                },
                {
                    "name": "terms",
                    "expression": (
                        "object.?spec.?template.?spec.?affinity.?nodeAffinity"
                        ".?requiredDuringSchedulingIgnoredDuringExecution.?nodeSelectorTerms.orValue([])"
                    ),
                },
            ],
            "validations": [
                {
                    "expression": f"size({devices_path}.?hostDevices.orValue([])) == 0",
                    "message": "hostDevices are not allowed: ask for a GPU profile",
                },
                {
                    "expression": (
                        "size(variables.gpus) == 0 || (variables.profile in variables.devices && "
                        "variables.profile == variables.templateProfile && "
                        "variables.gpus.all(gpu, gpu.deviceName == variables.devices[variables.profile]))"
                    ),
                    "message": (
                        "label kube-dc.com/gpu-profile of the machine and of its template must name a VM "
                        "profile, and every GPU must be exactly that profile's device"
                    ),
                },
                {
                    "expression": (
                        "size(variables.gpus) == 0 || (!variables.pinned && !variables.terms.exists(term, "
                        "has(term.matchFields) || term.?matchExpressions.orValue([]).exists(expression, "
                        "expression.key == 'kubernetes.io/hostname')))"
                    ),
                    "message": "a GPU machine may not choose its node by name",
                },
            ],
        },
    }
