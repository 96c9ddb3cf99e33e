# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands between a module and the API server: notes every request, fails some, and lets the world change.

What a case changes "after the cordon" is changed after the API server carried the cordon out and before the
module has its answer, so that the module's next read sees it.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ansible_collections.gpuops.reservations.tests.node_mode_cases.control_plane import ControlPlane
from ansible_collections.gpuops.reservations.tests.node_mode_cases.faults import LOST, Fault

_HOP = {"connection", "transfer-encoding", "content-length", "keep-alive", "content-encoding", "host"}


@dataclass
class Request:
    """One request of the module. ``status`` is what it was answered, 0 where it had no answer."""

    method: str
    path: str
    query: dict[str, str]
    body: Any
    operation: str
    status: int = 0
    reached: bool = False

    @property
    def writes(self) -> bool:
        """Whether it could change anything."""
        return self.method not in {"GET", "HEAD"} and not self.path.endswith("selfsubjectaccessreviews")


@dataclass
class Record:
    """What happened during one case, in its order: requests, and marks such as ``push``."""

    events: list[Request | str] = field(default_factory=list)
    faults: dict[str, Fault] = field(default_factory=dict)
    after_cordon: Callable[[], None] = lambda: None

    @property
    def requests(self) -> list[Request]:
        """The requests alone."""
        return [event for event in self.events if isinstance(event, Request)]


class ApiProxy:
    """A server that a kubeconfig can name; ``record`` is replaced for each case."""

    def __init__(self, plane: ControlPlane) -> None:
        self.record = Record()
        self._upstream = urlsplit(plane.api.server)
        self._token = plane.api.credentials["token"]
        self._tls = ssl.create_default_context(cadata=plane.ca.read_text())
        self._local = threading.local()
        self._one_at_a_time = threading.RLock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """Where the module connects to."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        """Stops serving."""
        self._server.shutdown()
        self._server.server_close()

    def answer(self, method: str, target: str, headers: dict[str, str], body: bytes) -> Any:
        """Status, headers and body for a request; None where the connection is to break."""
        parts = urlsplit(target)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        content = json.loads(body) if body else None
        request = Request(method, parts.path, query, content, operation_of(method, parts.path, content))
        with self._one_at_a_time:
            record = self.record
            record.events.append(request)
            fault = self._fault(record, request)
            if fault is not None and fault.status != LOST:
                request.status = fault.status
                if fault.status == 0:
                    return None
                return fault.status, {"Content-Type": "application/json"}, fault.body()
            status, answered, data = self._forward(method, target, headers, body)
            request.status, request.reached = status, True
            if status == 200 and _cordons(request):
                record.after_cordon()
            if fault is not None:
                request.status = 0
                return None
            return status, answered, data

    @staticmethod
    def _fault(record: Record, request: Request) -> Fault | None:
        return next((fault for fault in record.faults.values() if fault.meets(request.operation)), None)

    def _forward(
        self, method: str, target: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        sent = {name: value for name, value in headers.items() if name.lower() not in _HOP}
        sent["Authorization"] = f"Bearer {self._token}"
        for attempt in (0, 1):
            try:
                connection = self._connection()
                connection.request(method, target, body=body or None, headers=sent)
                answer = connection.getresponse()
                data = answer.read()
            except (http.client.HTTPException, OSError):
                self._local.connection = None
                if attempt or method != "GET":
                    raise
                continue
            kept = {name: value for name, value in answer.getheaders() if name.lower() not in _HOP}
            return answer.status, kept, data
        raise AssertionError("unreachable")

    def _connection(self) -> http.client.HTTPSConnection:
        if getattr(self._local, "connection", None) is None:
            self._local.connection = http.client.HTTPSConnection(
                str(self._upstream.hostname), self._upstream.port, context=self._tls, timeout=30
            )
        connection: http.client.HTTPSConnection = self._local.connection
        return connection


def _cordons(request: Request) -> bool:
    """Whether a patch made the node's cordon ours: a new one, or one that was there already."""
    marks = ((request.body or {}).get("metadata") or {}).get("annotations") or {}
    return request.operation == "cordon" or (request.operation == "patch_node" and any(marks.values()))


def operation_of(method: str, path: str, body: Any) -> str:
    """A request by the name that faults know it by."""
    if path.startswith("/api/v1/nodes/") and path.count("/") == 4:
        if method == "GET":
            return "get_node"
        wanted = (body or {}).get("spec", {}).get("unschedulable", "left alone")
        return {True: "cordon", False: "uncordon"}.get(wanted, "patch_node")
    if method == "GET" and path == "/api/v1/pods":
        return "list_pods"
    if method == "GET" and path.endswith("/configmaps/cluster-config"):
        return "get_configmap"
    if method == "GET" and path.endswith("/deployments/kube-dc-backend"):
        return "get_deployment"
    if method == "GET" and path == "/api/v1/namespaces/kube-system":
        return "get_namespace"
    return "other"


def _handler(proxy: ApiProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length) if length else b""
            answer = proxy.answer(self.command, self.path, dict(self.headers.items()), body)
            if answer is None:
                self.close_connection = True
                with contextlib.suppress(OSError):
                    self.connection.shutdown(2)
                return
            status, headers, data = answer
            self.send_response_only(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if "Date" not in headers:
                self.send_header("Date", self.date_time_string())
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815 - names of the standard library

        def log_message(self, *_args: Any) -> None:
            """Quiet: the record tells it."""

    return Handler
