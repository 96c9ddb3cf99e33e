# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which error an answer stands for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.api_reply import (
    Reply,
    error_of,
    is_absent,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.outcome_unknown import (
    OutcomeUnknown,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import (
    ConflictError,
    GpuopsError,
    ObservationError,
    PolicyBlocked,
)

POD = "/api/v1/namespaces/ns/pods/p"
PODS = "/api/v1/pods"


def answer(code: int, reason: str = "", message: str = "", **details: Any) -> Reply:
    body = {"kind": "Status", "reason": reason, "message": message, "details": details}
    return Reply(code, json.dumps(body).encode())


def test_only_the_servers_word_about_this_object_makes_it_absent() -> None:
    assert is_absent(POD, answer(404, "NotFound", name="p", kind="pods"))
    assert not is_absent(POD, answer(404, "NotFound", name="ns", kind="namespaces"))
    assert not is_absent(POD, answer(404, "NotFound"))
    assert not is_absent(POD, Reply(404, b"404 page not found\n"))
    assert not is_absent(POD, Reply(404, b"<html>not found</html>"))
    assert not is_absent(POD, Reply(404, b'{"kind":"Error","reason":"NotFound","details":{"name":"p"}}'))
    assert not is_absent(POD, answer(403, "Forbidden", name="p"))
    assert not is_absent(PODS, answer(404, "NotFound"))


UNFITTING = "the server rejected our request due to an error in our request"
RBAC = 'pods is forbidden: User "gpuops" cannot list resource "pods" in API group "" at the cluster scope'
POLICY = "pods \"p\" is forbidden: ValidatingAdmissionPolicy 'fence' with binding 'b' denied request: locked"


@pytest.mark.parametrize(
    ("method", "path", "reply", "code", "kind"),
    [
        ("GET", PODS, answer(401, "Unauthorized", "Unauthorized"), "not-authenticated", ObservationError),
        ("GET", PODS, answer(403, "Forbidden", RBAC), "permission-missing", ObservationError),
        ("PATCH", POD, answer(403, "Forbidden", RBAC), "permission-missing", ObservationError),
        ("GET", PODS, Reply(404, b"404 page not found"), "api-not-served", ObservationError),
        ("PATCH", POD, Reply(404, b"404 page not found"), "api-not-served", ObservationError),
        ("PATCH", POD, answer(404, "NotFound", "gone", name="p"), "object-gone", ObservationError),
        ("GET", PODS, answer(410, "Expired", "old"), "list-expired", ObservationError),
        ("GET", PODS, answer(500, "InternalError", "etcd"), "api-failed", ObservationError),
        ("GET", PODS, Reply(302, b""), "api-failed", ObservationError),
        ("GET", PODS, answer(429, "TooManyRequests", "slow"), "api-failed", ObservationError),
        ("PATCH", POD, answer(409, "Conflict", "changed"), "object-changed", ConflictError),
        ("POST", PODS, answer(409, "AlreadyExists", "there"), "already-exists", ConflictError),
        ("PATCH", POD, answer(422, "Invalid", UNFITTING), "object-changed", ConflictError),
        ("PATCH", POD, answer(422, "Invalid", "must be positive"), "request-refused", PolicyBlocked),
        ("POST", PODS, answer(403, "Forbidden", POLICY), "request-refused", PolicyBlocked),
        ("POST", PODS, answer(403, "Forbidden", "exceeded quota: q"), "request-refused", PolicyBlocked),
        ("PATCH", POD, answer(429, "TooManyRequests", "slow"), "api-busy", ObservationError),
        ("PATCH", POD, answer(500, "InternalError", "etcd"), "write-outcome-unknown", OutcomeUnknown),
        ("DELETE", POD, answer(504, "Timeout", "late"), "write-outcome-unknown", OutcomeUnknown),
    ],
)
def test_errors(method: str, path: str, reply: Reply, code: str, kind: type[GpuopsError]) -> None:
    error = error_of(method, path, reply)
    assert (error.code, type(error)) == (code, kind)
    assert error.next_action
    assert error.details["path"] == path


def test_a_missing_permission_is_named_with_the_servers_words() -> None:
    error = error_of("GET", PODS, answer(403, "Forbidden", RBAC))
    assert "list pods" in error.next_action
    assert "gpuops" in error.message
    assert error.details["permission"] == "list pods"


def test_long_answers_are_shortened_and_empty_ones_say_their_status() -> None:
    assert len(error_of("GET", PODS, Reply(500, b"x" * 10_000)).message) < 600
    assert "HTTP status 500" in error_of("GET", PODS, Reply(500, b"")).message
