# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Paths of resources, there and back."""

from __future__ import annotations

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.api_resource import (
    DEPLOYMENTS,
    NAMESPACES,
    NODES,
    ORGANIZATIONS,
    PODS,
    ApiPath,
    parse_path,
)


def test_paths() -> None:
    assert PODS.path() == "/api/v1/pods"
    assert PODS.path("ns", "p", "eviction") == "/api/v1/namespaces/ns/pods/p/eviction"
    assert NODES.path(name="gpu-01") == "/api/v1/nodes/gpu-01"
    assert ORGANIZATIONS.path() == "/apis/kube-dc.com/v1/organizations"
    assert DEPLOYMENTS.path("kube-dc", "x") == "/apis/apps/v1/namespaces/kube-dc/deployments/x"


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("/api/v1/pods", ApiPath("", "v1", "pods")),
        ("/api/v1/pods?limit=5", ApiPath("", "v1", "pods")),
        ("/api/v1/namespaces/ns/pods/p/eviction", ApiPath("", "v1", "pods", "ns", "p", "eviction")),
        ("/api/v1/namespaces/ns", ApiPath("", "v1", "namespaces", "", "ns")),
        ("/api/v1/namespaces/ns/status", ApiPath("", "v1", "namespaces", "", "ns", "status")),
        (
            "/apis/apps/v1/namespaces/kube-dc/deployments/x",
            ApiPath("apps", "v1", "deployments", "kube-dc", "x"),
        ),
        (
            "/api/v1/namespaces/m/services/p:9090/proxy/api/v1/alerts",
            ApiPath("", "v1", "services", "m", "p:9090", "proxy/api/v1/alerts"),
        ),
        ("/version", ApiPath(resource="/version")),
        ("/apis", ApiPath(resource="/apis")),
    ],
)
def test_parts_of_a_path(path: str, parts: ApiPath) -> None:
    assert parse_path(path) == parts


@pytest.mark.parametrize(
    ("method", "path", "permission"),
    [
        ("GET", PODS.path(), "list pods"),
        ("GET", PODS.path("ns", "p"), "get pods in namespace ns"),
        ("PATCH", NODES.path(name="n"), "patch nodes"),
        ("POST", PODS.path("ns", "p", "eviction"), "create pods/eviction in namespace ns"),
        ("DELETE", NAMESPACES.path(name="ns"), "delete namespaces"),
        ("PUT", ORGANIZATIONS.path("o", "o"), "update organizations.kube-dc.com in namespace o"),
    ],
)
def test_the_permission_that_a_request_needs(method: str, path: str, permission: str) -> None:
    assert parse_path(path).permission(method) == permission
