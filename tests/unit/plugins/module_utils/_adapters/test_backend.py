# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The product's backend: errors apart, the token never told, nothing repeated."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.backend import BackendClient
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.outcome_unknown import (
    OutcomeUnknown,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import (
    ConflictError,
    GpuopsError,
    InputError,
    ObservationError,
    PolicyBlocked,
)

from .scripted_server import Answer, ScriptedServer

ROUTE = "/api/manage-organization/projects/borealis-ml/quota"
TOKEN = "canary-token"


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text(TOKEN + "\n")
    path.chmod(0o600)
    return path


@pytest.fixture
def backend(server: ScriptedServer, token_file: Path) -> BackendClient:
    return BackendClient(server.url + "/", token_file)


def test_a_cap_and_none(server: ScriptedServer, backend: BackendClient) -> None:
    server.on("GET", ROUTE, Answer(body=b'{"hard":{"pods":"5"}}'))
    assert backend.quota("borealis-ml") == {"hard": {"pods": "5"}}
    assert server.asked[0].headers["authorization"] == f"Bearer {TOKEN}"
    server.on("GET", ROUTE, Answer(404, b'{"error":"no quota"}'))
    assert backend.quota("borealis-ml") is None


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (Answer(401, b"{}"), "backend-not-authenticated"),
        (Answer(403, b"{}"), "backend-permission-missing"),
        (Answer(404, b"<html>"), "backend-failed"),
        (Answer(500, b"{}"), "backend-failed"),
        (Answer(302, b"", {"Location": "/login"}), "backend-failed"),
        (Answer(200, b"<html>"), "backend-unreadable"),
        (Answer(200, b"[]"), "backend-unreadable"),
        (Answer(fault="reset"), "backend-unreachable"),
        (Answer(body=b"0" * 20, fault="truncate"), "backend-unreachable"),
    ],
)
def test_what_cannot_be_read_is_no_missing_cap(
    server: ScriptedServer, backend: BackendClient, answer: Answer, code: str
) -> None:
    server.on("GET", ROUTE, answer)
    with pytest.raises(ObservationError) as raised:
        backend.quota("borealis-ml")
    assert raised.value.code == code
    assert len(server.asked) == 1


def test_a_cap_is_put_whole(server: ScriptedServer, backend: BackendClient) -> None:
    server.on("PUT", ROUTE, Answer(200))
    backend.put_quota("borealis-ml", {"hard": {"pods": "5"}})
    assert server.asked[0].json == {"hard": {"pods": "5"}}


def test_dropping_a_cap_and_one_that_is_gone(server: ScriptedServer, backend: BackendClient) -> None:
    server.on("DELETE", ROUTE, Answer(204, b""))
    backend.delete_quota("borealis-ml")
    server.on("DELETE", ROUTE, Answer(404, b'{"error":"none"}'))
    backend.delete_quota("borealis-ml")


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Answer(400, b'{"error":"below used"}'), PolicyBlocked),
        (Answer(409, b"{}"), ConflictError),
        (Answer(401, b"{}"), ObservationError),
        (Answer(404, b"<html>"), ObservationError),
        (Answer(500, b"{}"), OutcomeUnknown),
        (Answer(fault="reset"), OutcomeUnknown),
    ],
)
def test_writes_that_fail(
    server: ScriptedServer, backend: BackendClient, method: str, answer: Answer, error: type[GpuopsError]
) -> None:
    server.on(method, ROUTE, answer)
    with pytest.raises(error) as raised:
        backend.put_quota("borealis-ml", {}) if method == "PUT" else backend.delete_quota("borealis-ml")
    assert type(raised.value) is error
    assert "borealis-ml" in raised.value.message
    assert len(server.asked) == 1


def test_an_answer_that_repeats_the_token_is_masked(server: ScriptedServer, backend: BackendClient) -> None:
    server.on("GET", ROUTE, Answer(401, json.dumps({"error": f"bad token {TOKEN}"}).encode()))
    with pytest.raises(ObservationError) as raised:
        backend.quota("borealis-ml")
    assert TOKEN not in raised.value.message + str(raised.value.details) + repr(backend)


def test_nobody_there(token_file: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        backend = BackendClient(f"http://127.0.0.1:{probe.getsockname()[1]}", token_file)
        with pytest.raises(ObservationError) as raised:
            backend.put_quota("borealis-ml", {})
    assert raised.value.code == "backend-unreachable"
    assert not isinstance(raised.value, OutcomeUnknown), "nothing was sent"


def test_an_id_is_one_part_of_the_path(server: ScriptedServer, backend: BackendClient) -> None:
    with pytest.raises(ObservationError):
        backend.quota("../../admin")
    assert server.asked[0].path == "/api/manage-organization/projects/..%2F..%2Fadmin/quota"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644])
def test_a_token_that_others_can_read_is_refused(server: ScriptedServer, token_file: Path, mode: int) -> None:
    token_file.chmod(mode)
    with pytest.raises(InputError) as raised:
        BackendClient(server.url, token_file)
    assert raised.value.code == "backend-token-open"
    assert "chmod 0600" in raised.value.next_action


@pytest.mark.parametrize("text", ["", "\n", "two words", "line\nbreak: x"])
def test_a_file_without_a_token(server: ScriptedServer, token_file: Path, text: str) -> None:
    token_file.write_text(text)
    with pytest.raises(InputError) as raised:
        BackendClient(server.url, token_file)
    assert raised.value.code == "backend-token-missing"
    with pytest.raises(InputError):
        BackendClient(server.url, token_file.with_name("absent"))


@pytest.mark.parametrize("url", ["", "backend:8080", "ftp://x"])
def test_an_address_that_is_none(token_file: Path, url: str) -> None:
    with pytest.raises(InputError) as raised:
        BackendClient(url, token_file)
    assert raised.value.code == "backend-not-named"
