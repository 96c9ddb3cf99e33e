# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A few requests to the API server, made by the lab itself as the administrator.

The lab asks little and asks it often while it waits; a full client library takes longer to load than
that takes to answer.
"""

from __future__ import annotations

import base64
import json
import ssl
import tempfile
from pathlib import Path
from typing import Any

import urllib3
import yaml

from .errors import LabError

Json = dict[str, Any]


class ApiError(Exception):
    """An answer other than success. ``status`` is the HTTP code, or 0 without any answer."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason


class Api:
    """The API server that a kubeconfig's current context names."""

    def __init__(self, kubeconfig: Path) -> None:
        cluster, user = _current(kubeconfig)
        self.server = str(cluster["server"]).rstrip("/")
        self.authority = _material(cluster, "certificate-authority", kubeconfig.parent) or b""
        self.credentials = _credentials(kubeconfig, user)
        self._headers = {"Accept": "application/json"}
        if "token" in self.credentials:
            self._headers["Authorization"] = f"Bearer {self.credentials['token']}"
        self._http = urllib3.PoolManager(
            ssl_context=_trust(self.authority, self.credentials),
            timeout=urllib3.Timeout(connect=2, read=30),
            retries=False,
            maxsize=4,
        )

    def get(self, path: str) -> Json:
        """The object or list at ``path``. Raises ApiError."""
        return self._ask("GET", path, None, "")

    def text(self, path: str) -> str:
        """The plain text at ``path``. Raises ApiError."""
        return self._answer("GET", path, None, "").decode()

    def create(self, path: str, content: Json) -> Json:
        """Create an object in the collection at ``path``. Raises ApiError."""
        return self._ask("POST", path, content, "application/json")

    def apply(self, path: str, content: Json) -> Json:
        """Server-side apply of an object to ``path``. Raises ApiError."""
        return self._ask(
            "PATCH", f"{path}?fieldManager=gpuops-lab&force=true", content, "application/apply-patch+yaml"
        )

    def replace(self, path: str, content: Json) -> Json:
        """Replace the object at ``path``. Raises ApiError."""
        return self._ask("PUT", path, content, "application/json")

    def delete(self, path: str) -> None:
        """Delete the object or collection at ``path``. Raises ApiError."""
        self._answer("DELETE", path, None, "")

    def _ask(self, method: str, path: str, content: Json | None, kind: str) -> Json:
        answer: Json = json.loads(self._answer(method, path, content, kind))
        return answer

    def _answer(self, method: str, path: str, content: Json | None, kind: str) -> bytes:
        headers = {**self._headers, "Content-Type": kind} if content is not None else self._headers
        body = json.dumps(content) if content is not None else None
        try:
            answer = self._http.request(method, self.server + path, headers=headers, body=body)
        except urllib3.exceptions.HTTPError as error:
            raise ApiError(0, "NoAnswer", str(error)) from error
        if answer.status >= 300:
            raise _refusal(answer.status, answer.data)
        return answer.data


def _refusal(status: int, data: bytes) -> ApiError:
    try:
        content = json.loads(data)
        return ApiError(status, str(content.get("reason", "")), str(content.get("message", "")))
    except (ValueError, AttributeError):
        return ApiError(status, "", data.decode(errors="replace")[:500])


def _current(kubeconfig: Path) -> tuple[Json, Json]:
    try:
        content = yaml.safe_load(kubeconfig.read_text())
        context = _named(content["contexts"], content["current-context"])["context"]
        cluster: Json = _named(content["clusters"], context["cluster"])["cluster"]
        user: Json = _named(content["users"], context["user"])["user"]
    except (OSError, yaml.YAMLError, KeyError, TypeError, LookupError) as error:
        raise LabError(
            f"{kubeconfig} is no usable kubeconfig: {error}", "give a kubeconfig that has a current context"
        ) from error
    return cluster, user


def _named(entries: list[Json], name: str) -> Json:
    for entry in entries:
        if entry["name"] == name:
            return entry
    raise LookupError(f"nothing in it is named {name}")


def _credentials(kubeconfig: Path, user: Json) -> dict[str, str]:
    """A token, or a client certificate and its key, as they stand in a kubeconfig's user entry."""
    if "token" in user:
        return {"token": str(user["token"])}
    certificate = _material(user, "client-certificate", kubeconfig.parent)
    key = _material(user, "client-key", kubeconfig.parent)
    if certificate is None or key is None:
        raise LabError(
            f"{kubeconfig}: the current user has neither a token nor a client certificate with its key",
            "give a kubeconfig as kind writes it; programs that fetch credentials are not run",
        )
    return {
        "client-certificate-data": base64.b64encode(certificate).decode(),
        "client-key-data": base64.b64encode(key).decode(),
    }


def _trust(authority: bytes, credentials: dict[str, str]) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=authority.decode() or None)
    if "client-certificate-data" in credentials:
        # The library reads a key from a file only; a temporary file is made with mode 0600.
        with tempfile.NamedTemporaryFile() as pair:
            for name in ("client-certificate-data", "client-key-data"):
                pair.write(base64.b64decode(credentials[name]) + b"\n")
            pair.flush()
            context.load_cert_chain(pair.name)
    return context


def _material(entry: Json, key: str, folder: Path) -> bytes | None:
    if f"{key}-data" in entry:
        return base64.b64decode(entry[f"{key}-data"])
    if key in entry:
        return (folder / str(entry[key])).read_bytes()
    return None
