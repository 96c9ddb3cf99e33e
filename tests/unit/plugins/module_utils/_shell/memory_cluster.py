# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""An API server in memory, as far as a reconcile uses one: versions, conflicts, finalizers, merge patches.

It remembers every write, and can be told to fall over before or after a certain one, as a killed run does.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.api_reply import Reply, error_of
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.api_resource import parse_path
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import (
    ConflictError,
    ObservationError,
    PolicyBlocked,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.reservation_objects import CANARY

Json = dict[str, Any]
_KINDS = {
    "nodes": "Node",
    "pods": "Pod",
    "namespaces": "Namespace",
    "daemonsets": "DaemonSet",
    "reservations": "Reservation",
    "reservationbindings": "ReservationBinding",
    "events": "Event",
}


class Killed(BaseException):
    """The run was killed; nothing catches this."""


@dataclass
class MemoryCluster:
    """Objects by path.

    Attributes:
        objects: by path.
        writes: method and path of each write that was carried out, in order.
        reads: method and path of each read.
        kill_at: the number of the write, from 1, at which the run is killed; 0 for never.
        killed_after: whether that write is carried out first.
        denied: permissions that access reviews deny, as ``verb resource``.
        on_write: called with each path before it is written, to race the writer.
        budgets: Pods whose eviction a budget refuses, as namespace/name.
    """

    objects: dict[str, Json] = field(default_factory=dict)
    writes: list[tuple[str, str]] = field(default_factory=list)
    reads: list[tuple[str, str]] = field(default_factory=list)
    kill_at: int = 0
    killed_after: bool = False
    denied: set[str] = field(default_factory=set)
    on_write: Callable[[str], None] | None = None
    budgets: set[str] = field(default_factory=set)
    injects: bool = True
    refuses: bool = True
    version_number: int = 1
    url: str = "memory"
    server_time: str = "2026-11-30T12:00:00Z"

    # Set-up

    def put(self, path: str, document: Json) -> None:
        """Store an object as somebody else would."""
        self.version_number += 1
        meta = document.setdefault("metadata", {})
        meta.setdefault("name", path.rpartition("/")[2])
        meta.setdefault("uid", f"uid-{path}")
        meta.setdefault("generation", 1)
        meta.setdefault("creationTimestamp", f"2026-11-01T00:00:{len(self.objects) % 60:02d}Z")
        meta["resourceVersion"] = str(self.version_number)
        namespace = parse_path(path).namespace
        if namespace:
            meta["namespace"] = namespace
        self.objects[path] = document

    def change(self, path: str, patch: Json) -> None:
        """Change an object as somebody else would: no write of the run's."""
        self._store(path, _merged(self.objects[path], patch), self.objects[path])

    def remove(self, path: str) -> None:
        self.objects.pop(path, None)

    # What KubeClient offers

    def version(self) -> str:
        return "v1.36.3"

    def get(self, path: str, model: Any) -> Any:
        self.reads.append(("GET", path))
        found = self.objects.get(path)
        if found is None:
            return None
        return copy.deepcopy(found) if model is Json else model.model_validate(copy.deepcopy(found))

    def list(
        self, path: str, model: Any, *, select: Callable[[Any], bool] | None = None, **_: Any
    ) -> tuple[Any, ...]:
        self.reads.append(("LIST", path))
        wanted = parse_path(path)
        found = [
            model.model_validate(copy.deepcopy(document))
            for at, document in sorted(self.objects.items())
            if (parts := parse_path(at)).resource == wanted.resource
            and parts.group == wanted.group
            and wanted.namespace in ("", parts.namespace)
        ]
        return tuple(one for one in found if select is None or select(one))

    def access_review(self, verb: str, resource: str, *, subresource: str = "", **_: Any) -> bool:
        what = f"{resource}/{subresource}" if subresource else resource
        return f"{verb} {what}" not in self.denied and verb not in ("place", "bind")

    def create(self, path: str, body: Mapping[str, Any], *, dry_run: bool = False) -> Json:
        document = copy.deepcopy(dict(body))
        if dry_run and path.endswith(f"namespaces/{CANARY}/pods"):
            return self._canary(path, document)
        name = document["metadata"]["name"]
        target = f"{path}/{name}"
        if target in self.objects:
            raise ConflictError("already-exists", f"{target} exists", next_action="")
        if dry_run:
            return {**document, "metadata": {**document["metadata"], "uid": "dry", "generation": 1}}
        self._writing("POST", target)
        self.put(target, document)
        return self._written("POST", target)

    def patch(
        self, path: str, body: Json, *, resource_version: str = "", dry_run: bool = False, **_: Any
    ) -> Json:
        target = path.removesuffix("/status")
        if target not in self.objects:
            raise self._gone("PATCH", target)
        if dry_run:
            return dict(_merged(self.objects[target], body))
        self._writing("PATCH", path)
        if target not in self.objects:
            raise self._gone("PATCH", target)
        stored = self.objects[target]
        if resource_version and stored["metadata"]["resourceVersion"] != resource_version:
            raise ConflictError("object-changed", f"{target} has been modified", next_action="")
        if path.endswith("/status"):
            body = {"status": body["status"]}
        self._store(target, _merged(stored, body), stored, status=path.endswith("/status"))
        return self._written("PATCH", path)

    def update_status(self, path: str, status: Json, *, resource_version: str, dry_run: bool = False) -> Json:
        return self.patch(
            f"{path}/status", {"status": status}, resource_version=resource_version, dry_run=dry_run
        )

    def delete(self, path: str, *, dry_run: bool = False, **_: Any) -> bool:
        if path not in self.objects:
            return False
        if dry_run:
            return True
        self._writing("DELETE", path)
        self.start_deletion(path)
        self._written("DELETE", path)
        return True

    def start_deletion(self, path: str) -> None:
        """Deleted at once, or marked where finalizers hold it."""
        stored = self.objects[path]
        if not stored["metadata"].get("finalizers"):
            del self.objects[path]
            return
        meta = stored["metadata"]
        meta["deletionTimestamp"] = self.server_time
        meta["generation"] += 1

    def evict(self, namespace: str, pod: str, *, uid: str = "", **_: Any) -> str:
        path = f"/api/v1/namespaces/{namespace}/pods/{pod}"
        if path not in self.objects:
            return "gone"
        if f"{namespace}/{pod}" in self.budgets:
            return "budget"
        if uid and self.objects[path]["metadata"]["uid"] != uid:
            raise ConflictError("object-changed", "the UID does not match", next_action="")
        self._writing("EVICT", path)
        del self.objects[path]
        self._written("EVICT", path)
        return "evicted"

    # Inside

    def _writing(self, method: str, path: str) -> None:
        if self.on_write is not None:
            self.on_write(path)
        if self.kill_at == len(self.writes) + 1 and not self.killed_after:
            raise Killed(f"before {method} {path}")

    def _written(self, method: str, path: str) -> Json:
        self.writes.append((method, path))
        if self.kill_at == len(self.writes) and self.killed_after:
            raise Killed(f"after {method} {path}")
        found = self.objects.get(
            path.removesuffix("/status"), {"metadata": {"name": "gone"}, "spec": {"tenant": "-"}}
        )
        return copy.deepcopy(found)

    def _store(self, path: str, document: Json, stored: Json, *, status: bool = False) -> None:
        self.version_number += 1
        document["metadata"]["resourceVersion"] = str(self.version_number)
        if not status and document.get("spec") != stored.get("spec"):
            document["metadata"]["generation"] = stored["metadata"].get("generation", 1) + 1
        self.objects[path] = document
        if document["metadata"].get("deletionTimestamp") and not document["metadata"].get("finalizers"):
            del self.objects[path]

    def _gone(self, method: str, path: str) -> ObservationError:
        parts = parse_path(path)
        status = {
            "kind": "Status",
            "reason": "NotFound",
            "details": {"name": parts.name},
            "message": "not found",
        }
        found = error_of(method, path, Reply(404, json.dumps(status).encode()))
        assert isinstance(found, ObservationError)
        return found

    def _canary(self, path: str, document: Json) -> Json:
        spec = document["spec"]
        if spec.get("nodeName") or spec.get("tolerations"):
            if self.refuses:
                words = "ValidatingAdmissionPolicy 'gpuops-reservation-tolerations' denied request"
                raise PolicyBlocked("request-refused", f"refused POST {path}: {words}", next_action="")
            return document
        if self.injects:
            requirement = {"key": "reserved.tenant", "operator": "In", "values": [CANARY]}
            term = {"matchExpressions": [requirement]}
            required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
            spec["affinity"] = {"nodeAffinity": required}
            spec["tolerations"] = [
                {"key": "reserved", "operator": "Equal", "value": CANARY, "effect": "NoSchedule"}
            ]
        return document


def _merged(target: Any, change: Any) -> Any:
    """A JSON merge patch, applied to a copy."""
    if not isinstance(change, dict):
        return copy.deepcopy(change)
    result = copy.deepcopy(target) if isinstance(target, dict) else {}
    for key, value in change.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merged(result.get(key), value)
    return result
