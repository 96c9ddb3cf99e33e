# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a case says about Pods, as the objects that the API server keeps."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any

from ansible_collections.gpuops.reservations.tests.node_mode_cases.case_format import (
    NotUnderstood,
    Section,
    boolean,
    merged,
)

_VERSIONS = {
    "Job": "batch/v1",
    "CronJob": "batch/v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "Deployment": "apps/v1",
    "ReplicationController": "v1",
    "VirtualMachineInstance": "kubevirt.io/v1",
    "Node": "v1",
    "Pod": "v1",
}
_PHASES = ("Pending", "Running", "Succeeded", "Failed", "Unknown")
_MADE = "2026-01-02T03:04:05Z"
_DELETED = "2026-01-02T03:05:05Z"


def pod_key(pod: Mapping[str, Any]) -> str:
    """Where the API server keeps a Pod."""
    return f"/registry/pods/{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def content(pod: Mapping[str, Any]) -> bytes:
    """A Pod as it is kept."""
    return json.dumps(pod).encode()


def owner_pod(node: str, number: int, owner: Mapping[str, Any]) -> dict[str, Any]:
    """The Pod of a plugin owner."""
    namespace, kind, name = owner["owner"].split("/")
    return _pod(
        {"namespace": namespace, "name": f"{name}-{number}", "node": owner["node"] or node},
        phase=_phase(owner["phase"], "owner"),
        terminating=owner["terminating"],
        owners=[_reference(kind, name, controller=owner["controller"])],
        spec={"containers": [{"name": "plugin", "image": "plugin"}]},
    )


def case_pod(entry: Any, fixtures: Mapping[str, Any], node: str, where: str) -> dict[str, Any]:
    """A Pod of a case: a fixture's name, a fixture with changes, or all of it. Raises NotUnderstood."""
    if isinstance(entry, str):
        entry = {"fixture": entry}
    section = Section(where, entry)
    fixture = section.take("fixture", "base")
    if fixture is not None:
        if fixture not in fixtures:
            raise NotUnderstood(f"{where}: no Pod fixture is named {fixture!r}")
        section = Section(where, merged(fixtures[fixture], section.rest()))
    where_it_is = {
        "namespace": section.take("namespace"),
        "name": section.take("name"),
        "node": section.take("node", default=node),
    }
    if not where_it_is["namespace"] or not where_it_is["name"]:
        raise NotUnderstood(f"{where}: a Pod has a namespace and a name")
    phase = section.take("phase", default="Running")
    terminating = boolean(
        section.take("terminating", "deleting", "deleted", "being_deleted", default=False), where
    )
    if section.take("deletionTimestamp", "deletion_timestamp") or phase == "Terminating":
        terminating = True
    owners = _owners(section, where)
    spec = _spec(section, where)
    pod = _pod(
        where_it_is,
        phase="Running" if phase == "Terminating" else _phase(phase, where),
        terminating=terminating,
        owners=owners,
        spec=spec,
    )
    for part in ("labels", "annotations"):
        pod["metadata"][part] = dict(section.take(part) or {})
    section.take("note")
    section.done()
    return pod


def _owners(section: Section, where: str) -> list[dict[str, Any]]:
    owners = []
    for key, controls in (("controller", True), ("owner", False)):
        value = section.take(key)
        if value is None:
            continue
        kind, _, name = str(value).rpartition("/")
        kind = kind.rpartition("/")[2]
        if not kind or not name:
            raise NotUnderstood(f"{where}.{key}: Kind/name, not {value!r}")
        owners.append(_reference(kind, name, controller=controls))
    return owners


def _reference(kind: str, name: str, *, controller: bool) -> dict[str, Any]:
    return {
        "apiVersion": _VERSIONS.get(kind, "example.com/v1"),
        "kind": kind,
        "name": name,
        "uid": str(uuid.uuid5(uuid.NAMESPACE_OID, f"{kind}/{name}")),
        "controller": controller,
    }


def _spec(section: Section, where: str) -> dict[str, Any]:
    containers = [_container(each, f"c{i}", where) for i, each in enumerate(section.take("containers") or [])]
    resources = section.take("resources")
    if section.has("requests", "limits"):
        containers.append(
            _container(
                {"requests": section.take("requests") or {}, "limits": section.take("limits") or {}},
                "x",
                where,
            )
        )
    spec: dict[str, Any] = {"containers": containers or [{"name": "main", "image": "main"}]}
    if isinstance(resources, dict):
        spec["resources"] = _resources(resources, where)
    elif resources is not None:
        raise NotUnderstood(f"{where}.resources: a mapping")
    for names, key, policy in (
        (("init_containers", "initContainers", "init"), "initContainers", {}),
        (("ephemeral_containers", "ephemeralContainers", "ephemeral"), "ephemeralContainers", {}),
        (("sidecars", "sidecar_containers"), "initContainers", {"restartPolicy": "Always"}),
    ):
        made = [
            _container(each, f"{names[0][0]}{i}", where) for i, each in enumerate(section.take(*names) or [])
        ]
        if made:
            spec[key] = [*spec.get(key, []), *({**each, **policy} for each in made)]
    overhead = section.take("overhead")
    if overhead:
        spec["overhead"] = {str(name): str(value) for name, value in overhead.items()}
    claims = section.take("resource_claims", "resourceClaims", "claims")
    if claims:
        spec["resourceClaims"] = [_claim(each) for each in claims]
    return spec


def _container(entry: Any, name: str, where: str) -> dict[str, Any]:
    section = Section(f"{where}.containers", entry)
    resources = dict(section.take("resources") or {})
    for part in ("requests", "limits"):
        value = section.take(part)
        if value is not None:
            resources[part] = value
    made = {
        "name": str(section.take("name", default=name)),
        "image": str(section.take("image", default="image")),
        "resources": _resources(resources, where),
    }
    policy = section.take("restart_policy", "restartPolicy")
    if policy is not None:
        made["restartPolicy"] = str(policy)
    section.done()
    return made


def _resources(value: Mapping[str, Any], where: str) -> dict[str, Any]:
    unknown = set(value) - {"requests", "limits", "claims"}
    if unknown:
        raise NotUnderstood(f"{where}: resources do not know {', '.join(sorted(unknown))}")
    found: dict[str, Any] = {
        part: {str(name): str(amount) for name, amount in (value.get(part) or {}).items()}
        for part in ("requests", "limits")
        if part in value
    }
    if "claims" in value:
        found["claims"] = value["claims"]
    return found


def _claim(entry: Any) -> dict[str, Any]:
    if isinstance(entry, dict):
        return entry
    return {"name": str(entry), "resourceClaimName": str(entry)}


def _phase(phase: Any, where: str) -> str:
    if phase not in _PHASES:
        raise NotUnderstood(f"{where}.phase: one of {', '.join(_PHASES)}, not {phase!r}")
    return str(phase)


def _pod(
    where: Mapping[str, Any],
    *,
    phase: str,
    terminating: bool,
    owners: list[dict[str, Any]],
    spec: dict[str, Any],
) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "namespace": where["namespace"],
        "name": where["name"],
        "uid": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{where['namespace']}/{where['name']}")),
        "creationTimestamp": _MADE,
    }
    if owners:
        metadata["ownerReferences"] = owners
    if terminating:
        metadata["deletionTimestamp"] = _DELETED
        metadata["deletionGracePeriodSeconds"] = 30
        metadata["finalizers"] = ["cases.example.com/held"]
    full = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 30, **spec}
    if where["node"]:
        full["nodeName"] = str(where["node"])
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": full, "status": {"phase": phase}}
