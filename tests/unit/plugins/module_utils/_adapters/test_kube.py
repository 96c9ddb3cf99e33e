# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Single objects, and writes with their preconditions."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.kube import KubeClient
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.outcome_unknown import (
    OutcomeUnknown,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.cluster_objects import Node
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import (
    ConflictError,
    ObservationError,
    PolicyBlocked,
)

from .scripted_server import Answer, ScriptedServer, status

NODE = "/api/v1/nodes/gpu-01"
POD = "/api/v1/namespaces/ns/pods/p"
OBJECT = {"metadata": {"name": "gpu-01", "resourceVersion": "5"}}
FOUND = Answer(body=json.dumps(OBJECT).encode())


def test_an_object_and_one_that_is_not_there(server: ScriptedServer, client: KubeClient) -> None:
    server.on("GET", NODE, FOUND)
    node = client.get(NODE, Node)
    assert node is not None
    assert node.metadata.resource_version == "5"
    assert client.get(NODE, dict[str, Any]) == OBJECT
    server.on("GET", NODE, status(404, "NotFound", "not found", name="gpu-01", kind="nodes"))
    assert client.get(NODE, Node) is None


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (Answer(404, b"404 page not found"), "api-not-served"),
        (status(404, "NotFound", "x", name="ns", kind="namespaces"), "api-not-served"),
        (status(403, "Forbidden", "x"), "permission-missing"),
        (status(401, "Unauthorized", "x"), "not-authenticated"),
        (status(500, "InternalError", "x"), "api-failed"),
        (Answer(fault="reset"), "api-unreachable"),
        (Answer(body=b'{"metadata":'), "body-unreadable"),
        (Answer(body=b"{}"), "body-unreadable"),
    ],
)
def test_what_is_not_known_is_never_absent(
    server: ScriptedServer, client: KubeClient, answer: Answer, code: str
) -> None:
    server.on("GET", NODE, answer)
    with pytest.raises(ObservationError) as raised:
        client.get(NODE, Node)
    assert raised.value.code == code
    assert NODE in raised.value.message or raised.value.details.get("path") == NODE


def test_the_servers_clock_is_its_newest_date(server: ScriptedServer, client: KubeClient) -> None:
    def dated(text: str) -> Answer:
        return Answer(body=FOUND.body, headers={"Date": text})

    with pytest.raises(ObservationError) as raised:
        _ = client.server_time
    assert raised.value.code == "server-time-unknown"
    server.on("GET", NODE, dated("Mon, 02 Nov 2026 09:00:30 GMT"), dated("Mon, 02 Nov 2026 09:00:00 GMT"))
    client.get(NODE, Node)
    client.get(NODE, Node)
    assert client.server_time == "2026-11-02T09:00:30Z"


def test_an_answer_out_of_a_cache_is_refused(server: ScriptedServer, client: KubeClient) -> None:
    dates = ["Mon, 02 Nov 2026 09:10:00 GMT", "Mon, 02 Nov 2026 09:08:00 GMT"]
    server.on("GET", NODE, *(Answer(body=FOUND.body, headers={"Date": date}) for date in dates))
    client.get(NODE, Node)
    with pytest.raises(ObservationError) as raised:
        client.get(NODE, Node)
    assert raised.value.code == "answer-stale"


def test_no_date_is_no_time(server: ScriptedServer, client: KubeClient) -> None:
    server.on("GET", NODE, Answer(body=FOUND.body, headers={"Date": ""}))
    client.get(NODE, Node)
    with pytest.raises(ObservationError):
        _ = client.server_time


def test_version_and_groups(server: ScriptedServer, client: KubeClient) -> None:
    server.on_json("/version", {"gitVersion": "v1.36.3", "major": "1"})
    server.on_json("/apis", {"kind": "APIGroupList", "groups": [{"name": "kubevirt.io"}]})
    assert client.version() == "v1.36.3"
    assert client.serves_group("kubevirt.io")
    assert not client.serves_group("kubevirt")


@pytest.mark.parametrize("body", [b"{}", b'{"groups":null}', b'{"groups":[{}]}'])
def test_groups_that_cannot_be_read_are_not_missing(
    server: ScriptedServer, client: KubeClient, body: bytes
) -> None:
    server.on("GET", "/apis", Answer(body=body))
    with pytest.raises(ObservationError) as raised:
        client.serves_group("kubevirt.io")
    assert raised.value.code == "body-unreadable"


def test_a_merge_patch_carries_its_precondition(server: ScriptedServer, client: KubeClient) -> None:
    server.on("PATCH", NODE, FOUND)
    body = {"metadata": {"annotations": {"a": "b"}}, "spec": {"unschedulable": True}}
    assert client.patch(NODE, body, resource_version="5") == OBJECT
    asked = server.asked[0]
    assert asked.headers["content-type"] == "application/merge-patch+json"
    assert asked.json == {
        "metadata": {"annotations": {"a": "b"}, "resourceVersion": "5"},
        "spec": {"unschedulable": True},
    }
    assert asked.query == {"fieldManager": "gpuops.reservations"}
    assert body["metadata"] == {"annotations": {"a": "b"}}


def test_a_json_patch_carries_its_precondition_first(server: ScriptedServer, client: KubeClient) -> None:
    server.on("PATCH", NODE, FOUND)
    operation = {"op": "add", "path": "/spec/unschedulable", "value": True}
    client.patch(NODE, [operation], kind="json", resource_version="5", dry_run=True)
    asked = server.asked[0]
    assert asked.headers["content-type"] == "application/json-patch+json"
    assert asked.json == [{"op": "replace", "path": "/metadata/resourceVersion", "value": "5"}, operation]
    assert asked.query["dryRun"] == "All"


WRITES: list[tuple[str, str, Callable[[KubeClient], Any]]] = [
    ("PATCH", NODE, lambda client: client.patch(NODE, {})),
    ("PATCH", NODE + "/status", lambda client: client.update_status(NODE, {}, resource_version="1")),
    ("POST", "/api/v1/nodes", lambda client: client.create("/api/v1/nodes", OBJECT)),
    ("PUT", NODE, lambda client: client.replace(NODE, OBJECT)),
    ("DELETE", NODE, lambda client: client.delete(NODE)),
    ("POST", POD + "/eviction", lambda client: client.evict("ns", "p")),
]


@pytest.mark.parametrize(("method", "path", "write"), WRITES)
def test_writes_tell_conflict_refusal_permission_and_doubt_apart(
    server: ScriptedServer, client: KubeClient, method: str, path: str, write: Callable[[KubeClient], Any]
) -> None:
    denied = 'nodes is forbidden: User "reader" cannot do this'
    expected: list[tuple[Answer, type[Exception]]] = [
        (status(409, "Conflict", "changed"), ConflictError),
        (status(403, "Forbidden", "admission webhook denied it"), PolicyBlocked),
        (status(403, "Forbidden", denied), ObservationError),
        (status(500, "InternalError", "etcd"), OutcomeUnknown),
        (Answer(fault="reset"), OutcomeUnknown),
        (Answer(404, b"404 page not found"), ObservationError),
    ]
    for answer, error in expected:
        server.on(method, path, answer)
        sent = len(server.asked)
        with pytest.raises(error):
            write(client)
        assert len(server.asked) == sent + 1, "a write is sent once"


def test_status_is_written_to_the_subresource(server: ScriptedServer, client: KubeClient) -> None:
    server.on("PATCH", NODE + "/status", FOUND)
    client.update_status(NODE, {"phase": "x"}, resource_version="5")
    assert server.asked[0].json == {"status": {"phase": "x"}, "metadata": {"resourceVersion": "5"}}


def test_deleting_what_is_gone_is_said_and_fine(server: ScriptedServer, client: KubeClient) -> None:
    server.on("DELETE", NODE, Answer())
    assert client.delete(NODE, uid="u", resource_version="5") is True
    assert server.asked[0].json["preconditions"] == {"uid": "u", "resourceVersion": "5"}
    assert "fieldManager" not in server.asked[0].query
    server.on("DELETE", NODE, status(404, "NotFound", "gone", name="gpu-01"))
    assert client.delete(NODE) is False


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (Answer(201), "evicted"),
        (status(429, "TooManyRequests", "Cannot evict pod as it would violate the budget"), "budget"),
        (status(404, "NotFound", "gone", name="p", kind="pods"), "gone"),
    ],
)
def test_evictions(server: ScriptedServer, client: KubeClient, answer: Answer, outcome: str) -> None:
    server.on("POST", POD + "/eviction", answer)
    assert client.evict("ns", "p", uid="u") == outcome
    assert len(server.asked) == 1
    assert server.asked[0].json["deleteOptions"] == {"preconditions": {"uid": "u"}}


@pytest.mark.parametrize("allowed", [True, False])
def test_access_reviews(server: ScriptedServer, client: KubeClient, allowed: bool) -> None:
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    server.on("POST", path, Answer(503), Answer(201, json.dumps({"status": {"allowed": allowed}}).encode()))
    assert client.access_review("patch", "nodes") is allowed
    assert server.asked[0].json["spec"] == {"resourceAttributes": {"verb": "patch", "resource": "nodes"}}


@pytest.mark.parametrize(
    "answer", [status(403, "Forbidden", "no"), Answer(201, b'{"status":{}}'), Answer(201, b"{")]
)
def test_a_review_that_cannot_be_had_is_no_no(
    server: ScriptedServer, client: KubeClient, answer: Answer
) -> None:
    server.on("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", answer)
    with pytest.raises(ObservationError):
        client.access_review("patch", "nodes")
