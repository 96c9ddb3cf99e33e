# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which requests the API server is made to fail, and how: read from a case's words."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ansible_collections.gpuops.reservations.tests.node_mode_cases.case_format import NotUnderstood, Section

_STATUS = {
    "bad_request": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "denied": 403,
    "rejected": 403,
    "not_found": 404,
    "missing": 404,
    "conflict": 409,
    "conflicts": 409,
    "invalid": 422,
    "too_many_requests": 429,
    "throttled": 429,
    "error": 500,
    "errors": 500,
    "fails": 500,
    "unreadable": 500,
    "internal_error": 500,
    "server_error": 500,
    "unavailable": 503,
    "unreachable": 0,
    "reset": 0,
    "timeout": 0,
    "times_out": 0,
}
LOST = -1
"""Carried out, and the answer never comes."""
_LOST = ("lost", "answer_lost", "response_lost", "no_answer", "unknown")
_REASONS = {
    400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 409: "Conflict",
    422: "Invalid", 429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable",
}  # fmt: skip
_TIMES = {"once": 1, "twice": 2, "thrice": 3, "three_times": 3}
_OPERATIONS = {
    "patch_node": "patch_node",
    "cordon": "cordon",
    "uncordon": "uncordon",
    "patch_cordon": "cordon",
    "patch_uncordon": "uncordon",
    "get_node": "get_node",
    "read_node": "get_node",
    "list_pods": "list_pods",
    "read_pods": "list_pods",
    "get_pods": "list_pods",
    "get_configmap": "get_configmap",
    "get_config": "get_configmap",
    "read_configmap": "get_configmap",
    "read_gates": "get_configmap",
    "get_deployment": "get_deployment",
    "get_namespace": "get_namespace",
    "read": "read",
    "reads": "read",
    "all": "all",
    "everything": "all",
}
_PARTS = {
    "read": ("get_node", "list_pods"),
    "patch_node": ("cordon", "uncordon", "patch_node"),
}


@dataclass
class Fault:
    """A failure of one kind of request. ``left`` counts what is still to fail; None is for ever."""

    operation: str
    status: int
    left: int | None = None
    passed: int = 0
    """How many requests succeed before the first one fails."""

    def meets(self, operation: str) -> bool:
        """Whether a request is to fail now; counts it."""
        wanted = _PARTS.get(self.operation, (self.operation,))
        if (self.operation != "all" and operation not in wanted) or self.left == 0:
            return False
        if self.passed:
            self.passed -= 1
            return False
        if self.left is not None:
            self.left -= 1
        return True

    def body(self) -> bytes:
        """The Status object that the API server would answer with."""
        reason = _REASONS.get(self.status, "")
        message = f"{self.operation} is made to fail by this case"
        if self.status == 403:
            message = f'User "cases" cannot {self.operation}: {message}'
        return json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Status",
                "status": "Failure",
                "reason": reason,
                "message": message,
                "code": self.status,
            }
        ).encode()


def read_faults(where: str, mapping: Any) -> dict[str, Fault | None]:
    """Faults by operation; None where one ends. Raises NotUnderstood."""
    found: dict[str, Fault | None] = {}
    for key, value in Section(where, mapping).rest().items():
        operation = _OPERATIONS.get(str(key))
        if operation is None:
            raise NotUnderstood(f"{where}: does not know {key}; known are {', '.join(_OPERATIONS)}")
        found[operation] = _fault(f"{where}.{key}", operation, value)
    return found


def _fault(where: str, operation: str, value: Any) -> Fault | None:
    if value in (None, "ok", "works", "normal", "served"):
        return None
    if isinstance(value, dict):
        section = Section(where, value)
        fault = _fault(where, operation, section.take("fault", "status", "answer", "error"))
        times = section.take("times", "count", "first")
        passed = int(section.take("after", "passed", default=0))
        section.done()
        if fault is None:
            raise NotUnderstood(f"{where}: says no fault")
        fault.left = None if times is None else int(times)
        fault.passed = passed
        return fault
    if isinstance(value, list):
        return _sequence(where, operation, value)
    if isinstance(value, int) and not isinstance(value, bool):
        if value not in _REASONS:
            raise NotUnderstood(f"{where}: does not know the status {value}")
        return Fault(operation, value)
    word = str(value)
    for ending, times in _TIMES.items():
        if word.endswith((f"_{ending}", f" {ending}")):
            fault = _fault(where, operation, word[: -len(ending) - 1])
            if fault is not None:
                fault.left = times
            return fault
    if word in _LOST:
        return Fault(operation, LOST, 1)
    if word not in _STATUS:
        raise NotUnderstood(f"{where}: does not know {word!r}; known are {', '.join((*_STATUS, *_LOST))}")
    return Fault(operation, _STATUS[word])


def _sequence(where: str, operation: str, values: list[Any]) -> Fault | None:
    """Answers one after the other: any number of good ones, then one kind of failure, then good ones."""
    faults = [_fault(where, operation, value) for value in values]
    bad = [number for number, fault in enumerate(faults) if fault is not None]
    if not bad:
        return None
    kinds = {fault.status for fault in faults if fault is not None}
    if len(kinds) != 1 or bad != list(range(bad[0], bad[-1] + 1)):
        raise NotUnderstood(f"{where}: only one run of one kind of failure is known, not {values!r}")
    first = faults[bad[0]]
    if first is not None:
        first.passed, first.left = bad[0], len(bad)
    return first
