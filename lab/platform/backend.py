# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The product's backend, as far as capacity needs it: the cap of a project, and what tenants may buy."""

from __future__ import annotations

import hmac
import json
import logging
import re
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any

from .api import CONFIGMAPS, PROJECTS, RESOURCE_QUOTAS, ApiError, JsonObject
from .catalogue import CatalogueError, load
from .organizations import CAP, backing_namespace
from .product import Product
from .store import dig

LOG = logging.getLogger("lab.platform")
QUOTA_ROUTE = re.compile(r"^/api/manage-organization/projects/([^/]+)/quota$")
MAX_BODY = 1 << 20


class Refused(Exception):
    """A request that the backend answers with an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Backend:
    """What the routes do."""

    def __init__(self, product: Product, token: str) -> None:
        self._product = product
        self._token = token

    def authorize(self, header: str | None) -> None:
        """Raise Refused unless the header carries the organization administrator's token."""
        scheme, _, token = (header or "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(
            token.strip().encode(), self._token.encode()
        ):
            raise Refused(401, "a bearer token of an organization administrator is needed")

    def quota(self, namespace: str) -> JsonObject:
        """The cap of a project; `hard` is null when there is none."""
        self._project(namespace)
        present = self._product.api.backend.get(RESOURCE_QUOTAS, CAP, namespace)
        return {
            "namespace": namespace,
            "hard": dig(present, "spec", "hard"),
            "used": dig(present, "status", "used"),
        }

    def put_quota(self, namespace: str, body: Any) -> JsonObject:
        """Make `body["hard"]` the whole set of the cap's keys."""
        self._project(namespace)
        hard = body.get("hard") if isinstance(body, dict) else None
        if not isinstance(hard, dict) or not hard or set(body) != {"hard"}:
            raise Refused(400, 'the body must be {"hard": {<quota key>: <quantity>}}, with at least one key')
        if not all(isinstance(value, str | int) and not isinstance(value, bool) for value in hard.values()):
            raise Refused(400, "every quantity in hard must be a text or a whole number")
        if self._product.faults().text("backend") == "accepts-and-forgets":
            return {"namespace": namespace, "hard": hard, "used": None}
        api = self._product.api.backend
        document: JsonObject = {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": CAP, "namespace": namespace},
            "spec": {"hard": {key: str(value) for key, value in hard.items()}},
        }
        try:
            written = api.replace(RESOURCE_QUOTAS, document)
        except ApiError as err:
            if err.status != 404:
                raise
            written = api.create(RESOURCE_QUOTAS, document)
        LOG.info("backend: cap of %s written", namespace)
        return {
            "namespace": namespace,
            "hard": dig(written, "spec", "hard"),
            "used": dig(written, "status", "used"),
        }

    def delete_quota(self, namespace: str) -> JsonObject:
        """Remove the cap; without one nothing happens."""
        self._project(namespace)
        if self._product.faults().text("backend") != "accepts-and-forgets":
            self._product.api.backend.delete(RESOURCE_QUOTAS, CAP, namespace)
        return {"namespace": namespace, "hard": None, "used": None}

    def addons(self) -> JsonObject:
        """The add-ons that a tenant may see: neither disabled nor for operators only."""
        config = self._product.api.backend.get(CONFIGMAPS, "billing-plans", "kube-dc")
        profiles = self._product.api.backend.get(CONFIGMAPS, "gpu-profiles", "kube-dc")
        try:
            catalogue = load(
                dig(config, "data", "plans.yaml", default=""), dig(profiles, "data", "profiles.yaml")
            )
        except CatalogueError as err:
            raise Refused(500, f"the catalogue cannot be read: {err}") from err
        visible = [
            {"id": name, **entry}
            for name, entry in sorted(catalogue.addons.items())
            if entry.get("selfService", True) is not False and not entry.get("disabled", False)
        ]
        return {"addons": visible}

    def _project(self, namespace: str) -> None:
        for project in self._product.api.backend.pages(PROJECTS):
            if backing_namespace(project) == namespace:
                return
        raise Refused(404, f"no project has the backing namespace {namespace}")


def handler(backend: Backend, product: Product, metrics: Callable[[], str]) -> type[BaseHTTPRequestHandler]:
    """The HTTP server's handler: the backend's routes, and the metrics of the platform on /metrics."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        server_version = "kube-dc-backend"

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            LOG.debug("backend: %s", format % args)

        def do_GET(self) -> None:
            self._answer("GET")

        def do_PUT(self) -> None:
            self._answer("PUT")

        def do_DELETE(self) -> None:
            self._answer("DELETE")

        def _answer(self, method: str) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            data = self.rfile.read(min(length, MAX_BODY))
            if method == "GET" and self.path == "/metrics":
                self._send(200, metrics().encode(), "text/plain; version=0.0.4")
                return
            fault = product.faults().text("backend")
            if fault == "unreachable":
                self.close_connection = True
                self.connection.close()
                return
            try:
                if fault == "error":
                    raise Refused(500, "the backend is out of order")
                backend.authorize(self.headers.get("Authorization"))
                status, document = 200, self._route(method, data)
            except Refused as err:
                status, document = err.status, {"error": str(err)}
            except ApiError as err:
                status, document = err.status or 502, {"error": err.message}
            except Exception:
                LOG.exception("backend: %s %s", method, self.path)
                status, document = 500, {"error": "internal error"}
            self._send(status, json.dumps(document).encode(), "application/json")

        def _route(self, method: str, data: bytes) -> JsonObject:
            path = self.path.partition("?")[0]
            found = QUOTA_ROUTE.match(path)
            if found and method == "GET":
                return backend.quota(found.group(1))
            if found and method == "DELETE":
                return backend.delete_quota(found.group(1))
            if found and method == "PUT":
                try:
                    body = json.loads(data)
                except ValueError:
                    raise Refused(400, "the body is no JSON") from None
                return backend.put_quota(found.group(1), body)
            if path == "/api/billing/addons" and method == "GET":
                return backend.addons()
            if path == "/healthz" and method == "GET":
                return {"ok": True}
            raise Refused(404, f"no route {method} {path}")

        def _send(self, status: int, data: bytes, content_type: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return Handler
