# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Downstream copies of the gates: open, closed, absent and doubtful are four things."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.gate_objects import (
    read_gate_copies,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.kube import KubeClient
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import ObservationError

from .scripted_server import Answer, ScriptedServer, status

RELEASE = "/apis/helm.toolkit.fluxcd.io/v2/namespaces/kube-dc/helmreleases/kube-dc"
BACKEND = "/apis/apps/v1/namespaces/kube-dc/deployments/kube-dc-backend"
VM, SHARED = "GPU_VM_CREATION_ENABLED", "GPU_SHARED_CREATION_ENABLED"
DONE = {"observedGeneration": 3, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}


@pytest.fixture(autouse=True)
def nothing_there(server: ScriptedServer) -> None:
    server.on_json("/apis", {"groups": [{"name": "helm.toolkit.fluxcd.io"}]})
    server.on("GET", RELEASE, status(404, "NotFound", "no", name="kube-dc"))
    server.on("GET", BACKEND, status(404, "NotFound", "no", name="kube-dc-backend"))


def release(values: Any) -> dict[str, Any]:
    return {"metadata": {"name": "kube-dc"}, "spec": {"values": values}}


def backend(
    *containers: list[dict[str, Any]], replicas: int = 2, state: dict[str, int] = DONE
) -> dict[str, Any]:
    pod = {"containers": [{"name": f"c{number}", "env": env} for number, env in enumerate(containers)]}
    return {
        "metadata": {"name": "kube-dc-backend", "generation": 3},
        "spec": {"replicas": replicas, "template": {"spec": pod}},
        "status": state,
    }


def test_neither_exists(client: KubeClient) -> None:
    copies = read_gate_copies(client)
    assert (copies.helmrelease, copies.deployment, copies.deployment_rolled_out) == (None, None, None)


def test_a_cluster_without_helm_releases(server: ScriptedServer, client: KubeClient) -> None:
    server.on_json("/apis", {"groups": [{"name": "apps"}]})
    server.on("GET", RELEASE, Answer(404, b"404 page not found"))
    assert read_gate_copies(client).helmrelease is None


@pytest.mark.parametrize("path", [RELEASE, BACKEND])
@pytest.mark.parametrize(
    "answer",
    [Answer(404, b"404 page not found"), status(403, "Forbidden", "no"), Answer(500), Answer(fault="reset")],
)
def test_what_cannot_be_read_is_not_absent(
    server: ScriptedServer, client: KubeClient, path: str, answer: Answer
) -> None:
    server.on("GET", path, answer)
    with pytest.raises(ObservationError):
        read_gate_copies(client)


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (
            {"gpu": {"vmCreation": {"enabled": False}, "sharedCreation": {"enabled": True}}},
            {VM: "false", SHARED: "true"},
        ),
        ({"gpu": {"vmCreation": {"enabled": "false"}}}, {VM: "false"}),
        ({"gpu": {"vmCreation": {"enabled": "False"}}}, {VM: "False"}),
        ({"gpu": {"vmCreation": {"enabled": None}}}, {VM: "null"}),
        ({"gpu": {"vmCreation": {"enabled": 0}}}, {VM: "0"}),
        ({"gpu": {"vmCreation": {}}}, {}),
        ({"gpu": None}, {}),
        ({}, {}),
    ],
)
def test_values_of_the_release(
    server: ScriptedServer, client: KubeClient, values: Any, found: dict[str, str]
) -> None:
    server.on_json(RELEASE, release(values))
    assert read_gate_copies(client).helmrelease == found


@pytest.mark.parametrize(
    ("containers", "found"),
    [
        (
            [[{"name": VM, "value": "false"}, {"name": SHARED, "value": "true"}]],
            {VM: "false", SHARED: "true"},
        ),
        ([[{"name": "OTHER", "value": "false"}]], {}),
        ([[{"name": VM}]], {VM: ""}),
        ([[{"name": VM, "valueFrom": {"configMapKeyRef": {"name": "x", "key": "y"}}}]], {}),
        ([[{"name": VM, "value": "false"}], [{"name": VM, "value": "true"}]], {VM: "false | true"}),
        ([[{"name": VM, "value": "false"}, {"name": VM, "value": "true"}]], {VM: "false | true"}),
        ([[{"name": VM, "value": "false"}], [{"name": VM, "value": "false"}]], {VM: "false"}),
        ([[]], {}),
    ],
)
def test_variables_of_the_deployment(
    server: ScriptedServer, client: KubeClient, containers: list[list[dict[str, Any]]], found: dict[str, str]
) -> None:
    server.on_json(BACKEND, backend(*containers))
    assert read_gate_copies(client).deployment == found


@pytest.mark.parametrize(
    ("state", "rolled_out", "available"),
    [
        (DONE, True, True),
        ({**DONE, "observedGeneration": 2}, False, True),
        ({**DONE, "updatedReplicas": 1}, False, True),
        ({**DONE, "replicas": 3}, False, True),
        ({**DONE, "availableReplicas": 1}, False, True),
        ({**DONE, "availableReplicas": 0}, False, False),
        ({}, False, False),
    ],
)
def test_a_rollout_is_done_when_only_the_present_template_runs(
    server: ScriptedServer, client: KubeClient, state: dict[str, int], rolled_out: bool, available: bool
) -> None:
    server.on_json(BACKEND, backend([], state=state))
    copies = read_gate_copies(client)
    assert (copies.deployment_rolled_out, copies.deployment_available) == (rolled_out, available)


def test_a_backend_scaled_to_nothing_is_not_available(server: ScriptedServer, client: KubeClient) -> None:
    server.on_json(BACKEND, backend([], replicas=0, state={"observedGeneration": 3}))
    assert read_gate_copies(client).deployment_available is False
