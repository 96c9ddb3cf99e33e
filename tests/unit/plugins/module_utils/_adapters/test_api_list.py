# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Lists are whole and consistent, or an error."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.api_list import page_adapter
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.kube import KubeClient
from ansible_collections.gpuops.reservations.plugins.module_utils._core.cluster_objects import Namespace
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import ObservationError

from .scripted_server import Answer, ScriptedServer, status

PATH = "/api/v1/namespaces"


def page(names: list[str], token: str = "", version: str = "10", *, metadata_last: bool = False) -> Answer:
    items = [{"metadata": {"name": name}} for name in names]
    metadata = {"resourceVersion": version, **({"continue": token} if token else {})}
    head: dict[str, Any] = {"kind": "NamespaceList", "apiVersion": "v1"}
    body = (
        {**head, "items": items, "metadata": metadata}
        if metadata_last
        else {**head, "metadata": metadata, "items": items}
    )
    return Answer(body=json.dumps(body, separators=(",", ":")).encode())


def names(client: KubeClient) -> list[str]:
    return [one.metadata.name for one in client.list(PATH, Namespace)]


EXPIRED = status(410, "Expired", "The provided continue parameter is too old")


@pytest.mark.parametrize("metadata_last", [False, True])
def test_all_pages_in_the_servers_order(
    server: ScriptedServer, client: KubeClient, metadata_last: bool
) -> None:
    server.on(
        "GET",
        PATH,
        page(["a", "b"], "tok/1+=", metadata_last=metadata_last),
        page(["c"], "tok2", metadata_last=metadata_last),
        page(["d"], metadata_last=metadata_last),
    )
    assert names(client) == ["a", "b", "c", "d"]
    assert [asked.query.get("continue") for asked in server.asked] == [None, "tok/1+=", "tok2"]
    assert {asked.query["limit"] for asked in server.asked} == {"500"}


def test_lists_are_consistent_reads(server: ScriptedServer, client: KubeClient) -> None:
    server.on("GET", PATH, page(["a"]))
    names(client)
    assert not {"resourceVersion", "resourceVersionMatch"} & set(server.asked[0].query)


def test_selectors_stand_on_every_page(server: ScriptedServer, client: KubeClient) -> None:
    server.on("GET", PATH, page(["a"], "t"), page(["b"]))
    client.list(PATH, Namespace, label_selector="x=y", field_selector="metadata.name!=z")
    assert {asked.query["labelSelector"] for asked in server.asked} == {"x=y"}
    assert {asked.query["fieldSelector"] for asked in server.asked} == {"metadata.name!=z"}


def test_only_what_is_wanted_is_kept(server: ScriptedServer, client: KubeClient) -> None:
    server.on("GET", PATH, page(["a", "b"], "t"), page(["c"]))
    kept = client.list(PATH, Namespace, select=lambda one: one.metadata.name != "b")
    assert [one.metadata.name for one in kept] == ["a", "c"]


def test_an_expired_continuation_starts_anew_without_doubles(
    server: ScriptedServer, client: KubeClient
) -> None:
    server.on("GET", PATH, page(["a", "b"], "t"), EXPIRED, page(["a", "b"], "t2"), page(["c"]))
    assert names(client) == ["a", "b", "c"]


def test_a_continuation_that_always_expires_is_an_error(server: ScriptedServer, client: KubeClient) -> None:
    server.on("GET", PATH, *[page(["a"], "t"), EXPIRED] * 4)
    with pytest.raises(ObservationError) as raised:
        names(client)
    assert raised.value.code == "list-expired"
    assert len(server.asked) == 8


def test_a_first_page_that_is_gone_is_no_expired_continuation(
    server: ScriptedServer, client: KubeClient
) -> None:
    server.on("GET", PATH, EXPIRED)
    with pytest.raises(ObservationError) as raised:
        names(client)
    assert raised.value.code == "list-expired"
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "later", [status(403, "Forbidden", "no"), Answer(500, b"etcd"), Answer(fault="reset")]
)
@pytest.mark.parametrize("metadata_last", [False, True])
def test_a_page_that_fails_fails_the_list(
    server: ScriptedServer, client: KubeClient, later: Answer, metadata_last: bool
) -> None:
    server.on("GET", PATH, page(["a"], "t", metadata_last=metadata_last), later)
    with pytest.raises(ObservationError):
        names(client)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[]",
        b"<html>",
        page(["a", "b"]).body[:-1],
        page(["a", "b"]).body[:-20],
        b'{"kind":"NamespaceList","metadata":{}}',
        b'{"kind":"Status","metadata":{},"items":[]}',
        b'{"kind":"NamespaceList","metadata":{},"items":[{}]}',
        b'{"kind":"NamespaceList","metadata":{},"items":{}}',
        b'{"kind":"Namespace","metadata":{"name":"a"}}',
    ],
)
def test_a_body_that_is_no_whole_list_is_never_an_empty_one(
    server: ScriptedServer, client: KubeClient, body: bytes
) -> None:
    server.on("GET", PATH, Answer(body=body))
    with pytest.raises(ObservationError) as raised:
        names(client)
    assert raised.value.code == "body-unreadable"
    assert PATH in raised.value.message


def test_an_empty_list_may_be_written_as_null(server: ScriptedServer, client: KubeClient) -> None:
    server.on(
        "GET", PATH, Answer(body=b'{"kind":"NamespaceList","metadata":{"resourceVersion":"1"},"items":null}')
    )
    assert names(client) == []


def test_a_list_older_than_one_before_is_refused(server: ScriptedServer, client: KubeClient) -> None:
    server.on(
        "GET", PATH, page(["a"], version="10"), page(["a"], version="10"), page(["a", "b"], version="9")
    )
    names(client)
    names(client)
    with pytest.raises(ObservationError) as raised:
        names(client)
    assert raised.value.code == "list-stale"


def test_values_of_an_object_are_not_told(server: ScriptedServer, client: KubeClient) -> None:
    """A body may hold a secret; the error names the field alone."""
    body = b'{"kind":"NamespaceList","metadata":{},"items":[{"metadata":{"name":["canary"]}}]}'
    server.on("GET", PATH, Answer(body=body))
    with pytest.raises(ObservationError) as raised:
        names(client)
    assert "items.0.metadata.name" in raised.value.message
    assert "canary" not in raised.value.message + str(raised.value.details)


def test_adapters_are_made_once() -> None:
    assert page_adapter(Namespace) is page_adapter(Namespace)
