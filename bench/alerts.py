# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Prometheus with nothing to say: the platform's rules are loaded, and no alert is active."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

RULES = ("KubeDcOrganizationQuotaConfigInvalid", "KubeDcGPUNodeWrongWorkloadMode", "KubeDcGPUXidError")
_ANSWERS = {
    "/api/v1/alerts": {"alerts": []},
    "/api/v1/rules": {
        "groups": [{"name": "g", "rules": [{"name": name, "type": "alerting"} for name in RULES]}]
    },
}


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        data = _ANSWERS.get(self.path)
        body = json.dumps({"status": "success", "data": data}).encode()
        self.send_response(200 if data else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        """Nobody reads it."""


@contextmanager
def serving() -> Iterator[str]:
    """Its URL, for the duration of a with block."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
