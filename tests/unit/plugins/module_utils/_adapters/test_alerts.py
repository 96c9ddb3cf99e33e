# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Alerts are read whole, or are said not to be readable; nothing is raised."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.alerts import (
    PLATFORM_PROMETHEUS,
    read_alerts,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.kube import KubeClient

from .scripted_server import Answer, ScriptedServer, status

FIRING = {
    "labels": {"alertname": "KubeDcX"},
    "annotations": {},
    "state": "firing",
    "activeAt": "2026-11-02T09:00:00Z",
}
ALERTS = {"status": "success", "data": {"alerts": [FIRING]}}
RULES = {
    "status": "success",
    "data": {
        "groups": [
            {
                "name": "a",
                "rules": [
                    {"name": "KubeDcX", "type": "alerting"},
                    {"name": "kube_dc:x", "type": "recording"},
                ],
            },
            {
                "name": "b",
                "rules": [{"name": "KubeDcX", "type": "alerting"}, {"name": "KubeDcY", "type": "alerting"}],
            },
        ]
    },
}


def serve(server: ScriptedServer, base: str = "") -> None:
    server.on_json(f"{base}/api/v1/alerts", ALERTS)
    server.on_json(f"{base}/api/v1/rules", RULES)


def test_by_url(server: ScriptedServer) -> None:
    serve(server, "/prom")
    observed = read_alerts(server.url + "/prom/")
    assert observed.readable
    assert observed.rules == {"KubeDcX": 2, "KubeDcY": 1}
    assert [(alert.labels["alertname"], alert.state) for alert in observed.alerts] == [("KubeDcX", "firing")]


@pytest.mark.parametrize("source", ["", PLATFORM_PROMETHEUS])
def test_through_the_api_server(server: ScriptedServer, client: KubeClient, source: str) -> None:
    serve(server, PLATFORM_PROMETHEUS)
    assert read_alerts(source, client).readable


@pytest.mark.parametrize("path", ["/api/v1/alerts", "/api/v1/rules"])
@pytest.mark.parametrize(
    "answer",
    [
        Answer(500),
        Answer(404),
        Answer(302, headers={"Location": "/login"}),
        Answer(fault="reset"),
        Answer(body=b"0" * 100, fault="truncate"),
        Answer(body=b""),
        Answer(body=b"<html>login</html>"),
        Answer(body=b"{}"),
        Answer(body=b'{"status":"success"}'),
        Answer(body=b'{"status":"success","data":{}}'),
        Answer(body=json.dumps({**ALERTS, **RULES, "status": "error", "error": "down"}).encode()),
    ],
)
def test_whatever_is_not_whole_is_unreadable(server: ScriptedServer, path: str, answer: Answer) -> None:
    serve(server)
    server.on("GET", path, answer)
    observed = read_alerts(server.url)
    assert not observed.readable
    assert observed.error
    assert observed.alerts == ()
    assert observed.rules == {}


@pytest.mark.parametrize(
    "answer",
    [
        status(403, "Forbidden", "no"),
        status(503, "ServiceUnavailable", "no endpoints"),
        Answer(fault="reset"),
    ],
)
def test_a_proxy_that_fails_is_unreadable(server: ScriptedServer, client: KubeClient, answer: Answer) -> None:
    serve(server, PLATFORM_PROMETHEUS)
    server.on("GET", PLATFORM_PROMETHEUS + "/api/v1/rules", answer)
    assert not read_alerts("", client).readable


def test_nobody_there() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        observed = read_alerts(f"http://127.0.0.1:{probe.getsockname()[1]}")
    assert not observed.readable
    assert "127.0.0.1" in observed.error


@pytest.mark.parametrize("source", ["ftp://x", "prometheus:9090", "file:///etc/passwd"])
def test_what_is_no_address(source: str) -> None:
    assert "URL" in read_alerts(source).error


def test_a_path_without_a_connection() -> None:
    assert not read_alerts("").readable


def test_a_password_is_sent_and_never_told(server: ScriptedServer) -> None:
    serve(server)
    source = server.url.replace("//", "//watcher:hunter2@")
    assert read_alerts(source).readable
    assert server.asked[0].headers["authorization"].startswith("Basic ")
    server.on("GET", "/api/v1/alerts", Answer(500))
    assert "hunter2" not in read_alerts(source).error
    assert "hunter2" not in read_alerts(source.replace("http://", "ftp://")).error


@pytest.mark.parametrize("groups", [None, [{"name": "a"}], [{"rules": [{"name": "x"}]}]])
def test_rules_of_another_shape(server: ScriptedServer, groups: Any) -> None:
    serve(server)
    server.on_json("/api/v1/rules", {"status": "success", "data": {"groups": groups}})
    assert not read_alerts(server.url).readable
