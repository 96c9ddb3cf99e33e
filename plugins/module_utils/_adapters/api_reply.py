# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""An answer of the API server, and the error that an unwelcome one stands for."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from .._core.errors import ConflictError, GpuopsError, ObservationError, PolicyBlocked
from .api_resource import parse_path
from .outcome_unknown import OutcomeUnknown

_READ_METHODS: Final = ("GET", "HEAD")
_SHOWN_LETTERS: Final = 400
# All that the server says of a JSON patch that does not fit the object: a test failed, or a path is gone.
_UNFITTING_PATCH: Final = "the server rejected our request due to an error in our request"
_RBAC: Final = re.compile(r'User ".*" cannot ')


@dataclass(frozen=True)
class Reply:
    """Status, headers (names in lower case) and whole body of an HTTP answer."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def status_object(self) -> dict[str, Any]:
        """The Kubernetes Status in the body; empty where the body is none."""
        try:
            value = json.loads(self.body)
        except ValueError:
            return {}
        return value if isinstance(value, dict) and value.get("kind") == "Status" else {}

    @property
    def words(self) -> str:
        """What the server said, shortened."""
        said = self.status_object.get("message") or self.body[:_SHOWN_LETTERS].decode("utf-8", "replace")
        return " ".join(str(said).split())[:_SHOWN_LETTERS] or f"HTTP status {self.status}"


def is_absent(path: str, reply: Reply) -> bool:
    """Whether a 404 means that the object of this path does not exist.

    A path that the server does not serve at all (an unknown API, a definition that is gone) answers 404
    too, and so does a proxy on the way: then nothing is known about the object.
    """
    status = reply.status_object
    details = status.get("details") or {}
    name = parse_path(path).name
    return (
        reply.status == 404
        and status.get("reason") == "NotFound"
        and bool(name)
        and details.get("name") == name
    )


def error_of(method: str, path: str, reply: Reply) -> GpuopsError:
    """The error for an answer that is no success, with its own code and next step.

    Reads: not-authenticated, permission-missing, api-not-served, list-expired, api-failed.
    Writes besides: object-changed, already-exists (both ConflictError), object-gone, request-refused
    (PolicyBlocked: admission, quota or validation), api-busy, write-outcome-unknown.
    """
    details = {"method": method, "path": path, "status": reply.status}
    if reply.status == 401:
        return ObservationError(
            "not-authenticated",
            f"the API server does not know who asks for {path}: {reply.words}",
            next_action="renew the credentials in the kubeconfig, or api_key",
            details=details,
        )
    if reply.status == 403 and (method in _READ_METHODS or _RBAC.search(reply.words)):
        return permission_missing(method, path, reply.words)
    if reply.status == 404:
        return _not_found(path, reply, details)
    if method in _READ_METHODS:
        code = "list-expired" if reply.status == 410 else "api-failed"
        return ObservationError(
            code,
            f"the API server answered {reply.status} for {path}: {reply.words}",
            next_action="see why the API server fails; run again when it answers",
            details=details,
        )
    return _write_error(method, path, reply, details)


def permission_missing(method: str, path: str, words: str) -> ObservationError:
    """The error for what RBAC does not allow, naming the permission."""
    permission = parse_path(path).permission(method)
    return ObservationError(
        "permission-missing",
        f"this identity may not {permission}: {words}",
        next_action=f"run playbook install.yml as an administrator, or bind a role that allows: {permission}",
        details={"method": method, "path": path, "permission": permission},
    )


def outcome_unknown(method: str, path: str, why: str) -> OutcomeUnknown:
    """The error for a write whose answer never came, or says nothing about what was done."""
    return OutcomeUnknown(
        "write-outcome-unknown",
        f"{method} {path} had no clear answer, and whether it was carried out is not known: {why}",
        next_action="run again: the run reads what is there and goes on from that",
        details={"method": method, "path": path},
    )


def _not_found(path: str, reply: Reply, details: dict[str, Any]) -> ObservationError:
    parts = parse_path(path)
    if is_absent(path, reply):
        where = f"{parts.namespace}/{parts.name}" if parts.namespace else parts.name
        return ObservationError(
            "object-gone",
            f"{parts.resource} {where} does not exist: {reply.words}",
            next_action="run again: everything is read anew",
            details=details,
        )
    return ObservationError(
        "api-not-served",
        f"the API server has no {parts.api} at {path}: {reply.words}",
        next_action=f"install what serves {parts.api}, or connect to the right API server",
        details=details,
    )


def _write_error(method: str, path: str, reply: Reply, details: dict[str, Any]) -> GpuopsError:
    reason = str(reply.status_object.get("reason", ""))
    if reply.status == 409 or (reply.status == 422 and _UNFITTING_PATCH in reply.words):
        exists = reason == "AlreadyExists"
        return ConflictError(
            "already-exists" if exists else "object-changed",
            f"{path}: {reply.words}",
            next_action="run again: everything is read and proved anew",
            details=details,
        )
    if reply.status == 429:
        return ObservationError(
            "api-busy",
            f"the API server turned {method} {path} away as too much: {reply.words}",
            next_action="run again when the API server is less busy",
            details=details,
        )
    if 400 <= reply.status < 500:
        return PolicyBlocked(
            "request-refused",
            f"the API server refused {method} {path}: {reply.words}",
            next_action="see which policy, quota or validation the message names",
            details=details,
        )
    return outcome_unknown(method, path, f"HTTP status {reply.status}: {reply.words}")
