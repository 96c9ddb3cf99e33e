# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A server in front of the API server that spoils answers by rule.

It shows the lab's own certificate and passes the caller's Authorization header on, so that a kubeconfig
works through it for any identity with a token. Watches are streamed.

A rule (fault `proxy`, a JSON list; the first that matches counts):
    {"match": "GET /api/v1/nodes", "action": "status", "status": 429, "retryAfter": 1, "count": 2}
`match` is a regular expression, searched in "<METHOD> <path and query>"; `count` says how often the rule
acts (always, when it is left out), `after` how many matching requests it lets pass first. Actions:
    status   answer `status` (with `retryAfter` seconds, where given)
    forbid   answer 403 as RBAC does
    reset    close the connection without an answer
    lost     let the API server act, then close the connection without an answer
    slow     wait `seconds`, then go on
    stale    answer what the same request answered when it was first seen under this rule
    garble   cut the answer's body in half
"""

from __future__ import annotations

import http.client
import json
import logging
import re
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

LOG = logging.getLogger("lab.platform")
HOP_HEADERS = frozenset({"connection", "keep-alive", "transfer-encoding", "te", "upgrade", "host", "trailer"})
Rule = Mapping[str, Any]


class Rules:
    """The rules that are set, and how often each has acted."""

    def __init__(self, text: Callable[[], str]) -> None:
        self._text = text
        self._lock = threading.Lock()
        self._known = ""
        self._rules: list[Rule] = []
        self._matched: list[int] = []
        self._stale: dict[tuple[int, str], tuple[int, list[tuple[str, str]], bytes]] = {}

    def pick(self, request: str) -> tuple[int, Rule] | None:
        """The rule that acts on this request, with its number."""
        with self._lock:
            text = self._text()
            if text != self._known:
                self._known = text
                self._rules = json.loads(text) if text else []
                self._matched = [0] * len(self._rules)
                self._stale = {}
            for number, rule in enumerate(self._rules):
                if not re.search(rule["match"], request):
                    continue
                passed = self._matched[number] - int(rule.get("after", 0))
                if "count" in rule and passed >= int(rule["count"]):
                    continue
                self._matched[number] += 1
                if passed >= 0:
                    return number, rule
            return None

    def remembered(self, number: int, request: str) -> tuple[int, list[tuple[str, str]], bytes] | None:
        """What this request answered first under a stale rule."""
        with self._lock:
            return self._stale.get((number, request))

    def remember(self, number: int, request: str, answer: tuple[int, list[tuple[str, str]], bytes]) -> None:
        """Keep an answer for a stale rule."""
        with self._lock:
            self._stale.setdefault((number, request), answer)


class Proxy:
    """The server. `server_url` is where the API server really is."""

    def __init__(self, server_url: str, pki: Path, port: int, rules: Rules) -> None:
        target = urlsplit(server_url)
        self._host, self._port = target.hostname or "127.0.0.1", target.port or 443
        self._trust = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        self.rules = rules
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pki / "server.crt", pki / "server.key")
        self._server = _Server(("127.0.0.1", port), _handler(self), context)
        self.port = int(self._server.server_address[1])

    def start(self) -> None:
        """Begin to listen."""
        threading.Thread(target=self._server.serve_forever, name="proxy", daemon=True).start()

    def stop(self) -> None:
        """Listen no longer."""
        self._server.shutdown()
        self._server.server_close()

    def connect(self) -> http.client.HTTPSConnection:
        """A connection to the API server."""
        return http.client.HTTPSConnection(self._host, self._port, context=self._trust, timeout=3600)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler], context: ssl.SSLContext
    ) -> None:
        self._context = context
        super().__init__(address, handler)

    def finish_request(self, request: Any, client_address: Any) -> None:
        # The handshake happens in the request's own thread, so that a slow client keeps nobody waiting.
        try:
            secure = self._context.wrap_socket(request, server_side=True)
        except (OSError, ssl.SSLError):
            return
        try:
            super().finish_request(secure, client_address)
        except (OSError, ssl.SSLError):
            return
        finally:
            secure.close()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        LOG.debug("proxy: connection lost")


def _handler(proxy: Proxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            LOG.debug("proxy: %s", format % args)

        def __getattr__(self, name: str) -> Any:
            if name.startswith("do_"):
                return self._pass
            raise AttributeError(name)

        def _pass(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length) if length else None
            request = f"{self.command} {self.path}"
            picked = proxy.rules.pick(request)
            if picked is None:
                self._forward(body, None, request)
                return
            number, rule = picked
            LOG.info("proxy: %s on %s", rule["action"], request)
            self._spoil(number, rule, body, request)

        def _spoil(self, number: int, rule: Rule, body: bytes | None, request: str) -> None:
            action = rule["action"]
            if action == "status":
                self._refuse(int(rule["status"]), "", rule.get("retryAfter"))
            elif action == "forbid":
                self._refuse(403, "Forbidden", None)
            elif action == "reset":
                self._hang_up()
            elif action == "lost":
                connection = proxy.connect()
                self._send_on(connection, body).read()
                connection.close()
                self._hang_up()
            elif action == "slow":
                time.sleep(float(rule["seconds"]))
                self._forward(body, None, request)
            elif action == "stale":
                known = proxy.rules.remembered(number, request)
                if known is None:
                    self._forward(body, (number, "stale"), request)
                else:
                    self._reply(*known)
            elif action == "garble":
                self._forward(body, (number, "garble"), request)
            else:
                self._refuse(500, f"the lab's proxy knows no action {action}", None)

        def _send_on(
            self, connection: http.client.HTTPSConnection, body: bytes | None
        ) -> http.client.HTTPResponse:
            connection.putrequest(self.command, self.path, skip_host=False, skip_accept_encoding=True)
            for key, value in self.headers.items():
                if key.lower() not in HOP_HEADERS | {"accept-encoding"}:
                    connection.putheader(key, value)
            connection.endheaders(body)
            return connection.getresponse()

        def _forward(self, body: bytes | None, keep: tuple[int, str] | None, request: str) -> None:
            connection = proxy.connect()
            try:
                answer = self._send_on(connection, body)
                headers = [
                    (key, value)
                    for key, value in answer.getheaders()
                    if key.lower() not in HOP_HEADERS | {"content-length"}
                ]
                if keep is None and answer.getheader("Content-Length") is None:
                    self._stream(answer, headers)
                    return
                data = answer.read()
                if keep is not None and keep[1] == "stale":
                    proxy.rules.remember(keep[0], request, (answer.status, headers, data))
                if keep is not None and keep[1] == "garble":
                    data = data[: len(data) // 2]
                self._reply(answer.status, headers, data)
            except (http.client.HTTPException, ConnectionError, TimeoutError) as err:
                LOG.debug("proxy: %s", err)
                self._hang_up()
            finally:
                connection.close()

        def _stream(self, answer: http.client.HTTPResponse, headers: list[tuple[str, str]]) -> None:
            self.send_response_only(answer.status)
            for key, value in headers:
                self.send_header(key, value)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            while True:
                data = answer.read1(65536)
                self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
                self.wfile.flush()
                if not data:
                    return

        def _reply(self, status: int, headers: list[tuple[str, str]], data: bytes) -> None:
            # The API server's own Date stays: callers compare leases with it.
            self.send_response_only(status)
            for key, value in headers:
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def _refuse(self, status: int, reason: str, retry_after: object) -> None:
            text = {
                "kind": "Status",
                "apiVersion": "v1",
                "status": "Failure",
                "message": f"{self.command} {self.path.partition('?')[0]}: refused by the lab ({status})",
                "reason": reason
                or {429: "TooManyRequests", 409: "Conflict", 500: "InternalError"}.get(status, ""),
                "code": status,
            }
            headers = [("Content-Type", "application/json"), ("Date", self.date_time_string())]
            if retry_after is not None:
                headers.append(("Retry-After", str(retry_after)))
            self._reply(status, headers, json.dumps(text).encode())

        def _hang_up(self) -> None:
            self.close_connection = True
            # Without lingering, closing sends a reset instead of an orderly end.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()

    return Handler
