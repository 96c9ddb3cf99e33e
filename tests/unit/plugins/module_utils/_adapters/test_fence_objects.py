# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The fences' policies as the API server has them: absent, unreadable, bound, softened."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.fence_objects import read_fences
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.kube import KubeClient
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import ObservationError
from ansible_collections.gpuops.reservations.plugins.module_utils._core.fence_objects import (
    CREATION_FENCE,
    ENTITLEMENT_FENCE,
)

from .cluster_script import named, script_cluster
from .scripted_server import Answer, ScriptedServer, status

ROOT = "/apis/admissionregistration.k8s.io/v1"
POLICIES, BINDINGS = f"{ROOT}/validatingadmissionpolicies", f"{ROOT}/validatingadmissionpolicybindings"


@pytest.fixture(autouse=True)
def cluster(server: ScriptedServer) -> None:
    script_cluster(server)


def install(server: ScriptedServer, **binding: Any) -> None:
    spec = {
        "validationActions": ["Deny"],
        "paramRef": {
            "name": "capacity-fence",
            "namespace": "gpuops-system",
            "parameterNotFoundAction": "Deny",
        },
        **binding,
    }
    for name in (CREATION_FENCE, ENTITLEMENT_FENCE):
        server.on_json(f"{POLICIES}/{name}", named(name, spec={"failurePolicy": "Fail"}))
        server.on_json(f"{BINDINGS}/{name}", named(name, spec={"policyName": name, **spec}))


def test_as_installed_nothing_is_wrong(server: ScriptedServer, client: KubeClient) -> None:
    install(server)
    fences = read_fences(client)
    assert (fences.problem(CREATION_FENCE), fences.problem(ENTITLEMENT_FENCE)) == ("", "")


def test_match_resources_that_leave_nothing_out_narrow_nothing(
    server: ScriptedServer, client: KubeClient
) -> None:
    install(server, matchResources={"namespaceSelector": {}, "objectSelector": {}, "matchPolicy": "Exact"})
    assert read_fences(client).problem(CREATION_FENCE) == ""


@pytest.mark.parametrize(
    ("binding", "said"),
    [
        ({"validationActions": ["Audit"]}, "does not deny"),
        ({"matchResources": {"namespaceSelector": {"matchLabels": {"a": "b"}}}}, "leaves objects out"),
        ({"paramRef": {"name": "x", "namespace": "gpuops-system"}}, "does not follow"),
        ({"policyName": "another"}, "is not bound"),
    ],
)
def test_a_binding_that_was_softened(
    server: ScriptedServer, client: KubeClient, binding: dict[str, Any], said: str
) -> None:
    install(server, **binding)
    assert said in read_fences(client).problem(CREATION_FENCE)


def test_absent_is_known(client: KubeClient) -> None:
    fences = read_fences(client)
    assert (fences.readable, fences.policies) == (True, ())
    assert fences.problem(CREATION_FENCE) == "the admission policy gpuops-creation-fence does not exist"


def test_a_policy_whose_binding_is_gone(server: ScriptedServer, client: KubeClient) -> None:
    install(server)
    gone = status(404, "NotFound", "no", name=CREATION_FENCE, kind="validatingadmissionpolicybindings")
    server.on("GET", f"{BINDINGS}/{CREATION_FENCE}", gone)
    assert "is not bound" in read_fences(client).problem(CREATION_FENCE)


def test_an_identity_without_the_permission_knows_nothing(server: ScriptedServer, client: KubeClient) -> None:
    install(server)
    server.on("GET", f"{BINDINGS}/{CREATION_FENCE}", status(403, "Forbidden", "no"))
    fences = read_fences(client)
    assert not fences.readable
    assert "is unknown" in fences.problem(CREATION_FENCE)
    assert "is unknown" in fences.problem(ENTITLEMENT_FENCE)


def test_an_api_server_without_such_policies_has_none(server: ScriptedServer, client: KubeClient) -> None:
    server.on("GET", f"{POLICIES}/{CREATION_FENCE}", Answer(404, b"404 page not found"))
    assert read_fences(client).problem(CREATION_FENCE).endswith("does not exist")


def test_an_answer_that_is_none_stops(server: ScriptedServer, client: KubeClient) -> None:
    server.on("GET", f"{POLICIES}/{CREATION_FENCE}", Answer(500, b"etcd"))
    with pytest.raises(ObservationError):
        read_fences(client)
