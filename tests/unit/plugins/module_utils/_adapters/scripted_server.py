# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A real HTTP server that answers what a test scripted, in order, and remembers what it was asked."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True)
class Answer:
    """One answer; ``fault`` is reset (no answer) or truncate (half a body)."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    fault: str = ""


@dataclass(frozen=True)
class Asked:
    """One request as the server saw it."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class ScriptedServer:
    """Answers by method and path; the last answer scripted for them repeats."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self._script: dict[tuple[str, str], list[Answer]] = {}
        self._guard = threading.Lock()
        self.url = ""

    def forget(self) -> None:
        """Begins anew, for the next test."""
        with self._guard:
            self.asked.clear()
            self._script.clear()

    def on(self, method: str, path: str, *answers: Answer) -> None:
        """Scripts the answers for a method and path."""
        self._script[method, path] = list(answers)

    def on_json(self, path: str, *values: Any) -> None:
        """Scripts JSON answers for reads of a path."""
        self.on("GET", path, *(Answer(body=json.dumps(value).encode()) for value in values))

    def next_answer(self, asked: Asked) -> Answer:
        with self._guard:
            self.asked.append(asked)
            queue = self._script.get((asked.method, asked.path))
            if not queue:
                return Answer(404, b"404 page not found\n", {"Content-Type": "text/plain"})
            return queue.pop(0) if len(queue) > 1 else queue[0]

    def requests(self, method: str = "", path: str = "") -> list[Asked]:
        """What was asked, of this method and path where they are given."""
        return [one for one in self.asked if method in ("", one.method) and path in ("", one.path)]


def status(code: int, reason: str, message: str, **details: Any) -> Answer:
    """A Kubernetes Status as an answer."""
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
    return Answer(
        code, json.dumps({**body, "reason": reason, "message": message, "details": details}).encode()
    )


@contextmanager
def serving() -> Iterator[ScriptedServer]:
    """A scripted server on a free port for the duration of a with block."""
    script = ScriptedServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # an answer goes out as one piece
        disable_nagle_algorithm = True

        def answer(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = Asked(self.command, parts.path, dict(parse_qsl(parts.query)), headers, body)
            self.send(script.next_answer(asked))

        def send(self, answer: Answer) -> None:
            if answer.fault == "reset":
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.close_connection = True
                self.connection.close()
                return
            self.send_response_only(answer.status)
            if "Date" not in answer.headers:
                self.send_header("Date", self.date_time_string())
            for name, value in answer.headers.items():
                if value:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            half = len(answer.body) // 2
            self.wfile.write(answer.body[:half] if answer.fault == "truncate" else answer.body)
            self.wfile.flush()
            if answer.fault == "truncate":
                self.close_connection = True

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815

        def log_message(self, *_arguments: Any) -> None:
            """Tests look at what was asked, not at a log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    script.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
