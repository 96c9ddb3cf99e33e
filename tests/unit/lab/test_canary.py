# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The admission canary: where it is tried, and which refusals count as an answer."""

from __future__ import annotations

from typing import Any, cast

import pytest

from lab.api import Api, ApiError
from lab.canary import admits, namespaces_to_try, passed_admission, policies_installed


def namespace(name: str, phase: str = "Active") -> dict[str, Any]:
    return {"metadata": {"name": name}, "status": {"phase": phase}}


class Server:
    """Answers creations with what it was given, one after the other, then accepts."""

    def __init__(self, *refusals: ApiError) -> None:
        self.refusals = list(refusals)
        self.asked: list[str] = []

    def create(self, path: str, content: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(path)
        if self.refusals:
            raise self.refusals.pop(0)
        return content


def as_api(server: object) -> Api:
    return cast("Api", server)


NOT_READY = ApiError(403, "Forbidden", 'pods "x" is forbidden: not yet ready to handle request')


def test_every_namespace_but_the_control_plane_s_is_tried() -> None:
    found = namespaces_to_try(
        [
            namespace("tenant-foo"),
            namespace("kube-system"),
            namespace("default"),
            namespace("leaving", "Terminating"),
            namespace("aurora-vision"),
        ]
    )
    assert found == ["aurora-vision", "default", "tenant-foo"]


@pytest.mark.parametrize(
    ("error", "passed"),
    [
        (ApiError(403, "Forbidden", "exceeded quota: q, requested: pods=1"), True),
        (ApiError(403, "Forbidden", "failed quota: q: must specify limits.cpu"), True),
        (NOT_READY, False),
        (ApiError(403, "Forbidden", "ValidatingAdmissionPolicy 'p' denied request: no params found"), False),
        (ApiError(403, "Forbidden", "error looking up service account x/default: not found"), False),
        (ApiError(500, "InternalError", "exceeded quota, says somebody"), False),
        (ApiError(0, "NoAnswer", "connection refused"), False),
    ],
)
def test_only_quota_shows_that_the_policies_let_it_pass(error: ApiError, passed: bool) -> None:
    assert passed_admission(error) is passed


def test_a_namespace_is_asked_until_it_admits_and_then_never_again() -> None:
    server = Server(NOT_READY)
    condition = admits(as_api(server), ["a", "b"])
    missing = condition()
    assert missing is not None
    assert "namespace a: 403" in missing
    assert condition() is None
    assert server.asked == [f"/api/v1/namespaces/{name}/pods?dryRun=All" for name in ("a", "a", "b")]


@pytest.mark.parametrize("kind", ["validatingadmissionpolicybindings", "mutatingadmissionpolicybindings"])
def test_a_binding_of_either_kind_makes_the_canary_worth_while(kind: str) -> None:
    class Bound:
        def get(self, path: str) -> dict[str, Any]:
            return {"items": [{}] if kind in path else []}

    class Unbound:
        def get(self, path: str) -> dict[str, Any]:
            return {"items": []}

    assert policies_installed(as_api(Bound()))
    assert not policies_installed(as_api(Unbound()))
