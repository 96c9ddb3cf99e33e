# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads are repeated where that helps; writes are never repeated when they may have arrived."""

from __future__ import annotations

import gzip
import socket
import ssl
import subprocess
import threading
from pathlib import Path

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters import callsites
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.api_transport import (
    ApiTransport,
    Limits,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.connection import (
    ConnectionOptions,
    connect,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.outcome_unknown import (
    OutcomeUnknown,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import ObservationError

from .clocks import WaitingClock
from .scripted_server import Answer, ScriptedServer

RESET = Answer(fault="reset")
HALF = Answer(body=b"0123456789", fault="truncate")


@pytest.fixture
def transport(server: ScriptedServer, clock: WaitingClock) -> ApiTransport:
    return ApiTransport(connect(ConnectionOptions(host=server.url, api_key="canary-token")), clock=clock)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.mark.parametrize(
    "fault", [RESET, HALF, Answer(429), Answer(500), Answer(502), Answer(503), Answer(504)]
)
def test_a_read_survives_faults_that_pass(
    server: ScriptedServer, transport: ApiTransport, fault: Answer
) -> None:
    server.on("GET", "/x", fault, fault, Answer(body=b"well"))
    assert transport.read("/x").body == b"well"
    assert len(server.asked) == 3


@pytest.mark.parametrize("code", [400, 401, 403, 404, 410, 302])
def test_a_read_is_not_repeated_when_the_answer_is_clear(
    server: ScriptedServer, transport: ApiTransport, code: int
) -> None:
    server.on("GET", "/x", Answer(code, headers={"Location": server.url + "/y"}))
    assert transport.read("/x").status == code
    assert len(server.asked) == 1


def test_a_fault_that_stays_ends_after_bounded_tries(server: ScriptedServer, transport: ApiTransport) -> None:
    server.on("GET", "/x", Answer(503, b"down"))
    assert transport.read("/x").status == 503
    assert len(server.asked) == 6
    server.on("GET", "/y", RESET)
    with pytest.raises(ObservationError) as raised:
        transport.read("/y")
    assert raised.value.code == "api-unreachable"
    assert server.url in raised.value.message


def test_a_truncated_body_is_never_an_answer(server: ScriptedServer, transport: ApiTransport) -> None:
    server.on("GET", "/x", HALF)
    with pytest.raises(ObservationError) as raised:
        transport.read("/x")
    assert "broke off" in raised.value.message


def test_the_server_says_how_long_to_wait(
    server: ScriptedServer, transport: ApiTransport, clock: WaitingClock
) -> None:
    server.on(
        "GET", "/x", Answer(429, headers={"Retry-After": "3"}), Answer(429, headers={"Retry-After": "999"})
    )
    transport.read("/x")
    assert clock.pauses[:2] == [3.0, 10.0]
    assert sum(clock.pauses) <= 60


@pytest.mark.parametrize("fault", [RESET, HALF])
def test_a_write_without_an_answer_is_sent_once_and_its_outcome_unknown(
    server: ScriptedServer, transport: ApiTransport, clock: WaitingClock, fault: Answer
) -> None:
    server.on("PATCH", "/x", fault)
    with pytest.raises(OutcomeUnknown) as raised:
        transport.write("PATCH", "/x", body=b"{}")
    assert raised.value.code == "write-outcome-unknown"
    assert len(server.asked) == 1
    assert clock.pauses == []


@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_write_is_not_repeated_on_any_status(
    server: ScriptedServer, transport: ApiTransport, code: int
) -> None:
    server.on("POST", "/x", Answer(code))
    assert transport.write("POST", "/x", body=b"{}").status == code
    assert len(server.asked) == 1


def test_a_write_that_never_left_is_tried_again_and_is_no_unknown_outcome(clock: WaitingClock) -> None:
    host = f"http://127.0.0.1:{free_port()}"
    transport = ApiTransport(connect(ConnectionOptions(host=host)), clock=clock)
    with pytest.raises(ObservationError) as raised:
        transport.write("PATCH", "/x", body=b"{}")
    assert raised.value.code == "api-unreachable"
    assert not isinstance(raised.value, OutcomeUnknown)
    assert len(clock.pauses) == 5


def test_a_question_is_repeated_as_a_read_is(server: ScriptedServer, transport: ApiTransport) -> None:
    server.on("POST", "/review", RESET, Answer(201, b"yes"))
    assert transport.ask("/review", b"{}").body == b"yes"


def test_the_token_is_sent_and_never_told(server: ScriptedServer, transport: ApiTransport) -> None:
    server.on("GET", "/x", RESET)
    with pytest.raises(ObservationError) as raised:
        transport.read("/x")
    assert {asked.headers["authorization"] for asked in server.asked} == {"Bearer canary-token"}
    assert "canary-token" not in str(raised.value) + str(raised.value.details) + repr(transport)


def test_a_server_that_says_nothing_is_given_up(clock: WaitingClock) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        host = f"http://127.0.0.1:{silent.getsockname()[1]}"
        limits = Limits(connect=1, silence=0.05, reading=60)
        transport = ApiTransport(connect(ConnectionOptions(host=host)), limits=limits, clock=clock)
        with pytest.raises(ObservationError) as raised:
            transport.read("/x")
    assert raised.value.code == "api-unreachable"
    assert "timed out" in raised.value.message.lower()


def test_a_body_that_never_ends_is_given_up(server: ScriptedServer) -> None:
    class Hurrying(WaitingClock):
        def now(self) -> float:
            self.time += 10
            return self.time

    transport = ApiTransport(
        connect(ConnectionOptions(host=server.url)), limits=Limits(answer=15, reading=1), clock=Hurrying()
    )
    server.on("GET", "/x", Answer(body=b"x" * (1 << 20)))
    with pytest.raises(ObservationError) as raised:
        transport.read("/x")
    assert "took longer than 15 s" in raised.value.message


@pytest.fixture
def untrusted(tmp_path: Path) -> str:
    """A server with a certificate that nobody signed."""
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-keyout", str(key), "-out", str(certificate), "-days", "1", "-subj", "/CN=127.0.0.1"],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    listener = socket.create_server(("127.0.0.1", 0))

    def accept_one() -> None:
        connection, _ = listener.accept()
        with connection:
            try:
                context.wrap_socket(connection, server_side=True)
            except OSError:
                pass
            finally:
                listener.close()

    threading.Thread(target=accept_one, daemon=True).start()
    return f"https://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize("method", ["GET", "PATCH"])
def test_a_certificate_that_is_refused_is_said_at_once(
    untrusted: str, clock: WaitingClock, method: str
) -> None:
    transport = ApiTransport(connect(ConnectionOptions(host=untrusted)), clock=clock)
    with pytest.raises(ObservationError) as raised:
        transport.read("/x") if method == "GET" else transport.write("PATCH", "/x", body=b"{}")
    assert raised.value.code == "api-unreachable"
    assert "certificate" in raised.value.message
    assert clock.pauses == []


class Stopping:
    """Ends the run at one of its call sites."""

    def __init__(self, site: str) -> None:
        self.site = site

    def reached(self, site: str) -> None:
        if site == self.site:
            raise KeyboardInterrupt(site)


@pytest.mark.parametrize(("site", "sent"), [("kube PATCH /x", 0), ("kube PATCH /x answered", 1)])
def test_a_run_can_be_ended_before_and_after_each_request(
    server: ScriptedServer, transport: ApiTransport, site: str, sent: int
) -> None:
    server.on("PATCH", "/x", Answer())
    with callsites.watched_by(Stopping(site)), pytest.raises(KeyboardInterrupt):
        transport.write("PATCH", "/x", body=b"{}")
    assert len(server.asked) == sent


def test_bodies_are_asked_for_compressed(server: ScriptedServer, transport: ApiTransport) -> None:
    packed = gzip.compress(b"0123456789" * 100_000)
    server.on("GET", "/x", Answer(body=packed, headers={"Content-Encoding": "gzip"}))
    assert transport.read("/x").body == b"0123456789" * 100_000
    assert server.asked[0].headers["accept-encoding"] == "gzip"


@pytest.mark.parametrize(
    "body",
    [b"no gzip at all", gzip.compress(b"0123456789", mtime=0)[:-12] + b"x" * 12],
    ids=["no-gzip", "broken-off"],
)
def test_a_compressed_body_that_is_damaged_is_no_answer(
    server: ScriptedServer, transport: ApiTransport, body: bytes
) -> None:
    server.on("GET", "/x", Answer(body=body, headers={"Content-Encoding": "gzip"}))
    with pytest.raises(ObservationError) as raised:
        transport.read("/x")
    assert raised.value.code == "api-unreachable"
