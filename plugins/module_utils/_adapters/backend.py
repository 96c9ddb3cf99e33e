# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The product's backend: a project's quota cap, which the cluster's policies let only the backend write."""

from __future__ import annotations

import importlib
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from .._core.errors import ConflictError, InputError, ObservationError, PolicyBlocked
from . import callsites
from .outcome_unknown import OutcomeUnknown

_CONNECT_SECONDS: Final = 10.0
_READ_SECONDS: Final = 30.0
_SHOWN_LETTERS: Final = 300
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


class BackendClient:
    """The route ``/api/manage-organization/projects/:id/quota`` of one backend.

    Args:
        url: the backend's base URL.
        token_file: a file of mode 0600 with an organization administrator's bearer token.

    Raises:
        InputError: backend-not-named, backend-token-missing, backend-token-open.
    """

    def __init__(self, url: str, token_file: str | Path) -> None:
        if not url.lower().startswith(("http://", "https://")):
            raise InputError(
                "backend-not-named",
                "projectCap: backend needs the backend's http or https URL",
                next_action="set backend_url, or set projectCap: observe in the policy",
            )
        self._url = url.rstrip("/")
        self._token = _token(token_file)

    def quota(self, project_id: str) -> dict[str, Any] | None:
        """The project's cap as the backend has it; None where the project has none of its own.

        Raises:
            ObservationError: backend-unreachable, backend-unreadable, backend-failed,
                backend-not-authenticated, backend-permission-missing.
        """
        status, body = self._exchange("GET", project_id, None)
        if status == 404 and _is_object(body):
            return None
        if status != 200:
            raise self._error("GET", project_id, status, body)
        value = _parsed(body)
        if not isinstance(value, dict):
            raise ObservationError(
                "backend-unreadable",
                f"the backend's answer for the quota of project {project_id} is no JSON object",
                next_action="check backend_url",
            )
        return value

    def put_quota(self, project_id: str, quota: Mapping[str, Any]) -> None:
        """Replaces the project's whole cap: every key that is to stay has to be passed.

        Raises:
            As :meth:`quota`; and ConflictError backend-conflict, PolicyBlocked backend-refused,
            OutcomeUnknown backend-outcome-unknown.
        """
        self._write("PUT", project_id, json.dumps(dict(quota)).encode(), (200, 201, 202, 204))

    def delete_quota(self, project_id: str) -> None:
        """Drops the project's own cap; one that is gone already is fine.

        Raises:
            As :meth:`put_quota`.
        """
        self._write("DELETE", project_id, None, (200, 202, 204))

    def _write(self, method: str, project_id: str, body: bytes | None, accepted: tuple[int, ...]) -> None:
        status, answer = self._exchange(method, project_id, body)
        gone = method == "DELETE" and status == 404 and _is_object(answer)
        if status not in accepted and not gone:
            raise self._error(method, project_id, status, answer)

    def _exchange(self, method: str, project_id: str, body: bytes | None) -> tuple[int, bytes]:
        urllib3: Any = importlib.import_module("urllib3")
        errors = urllib3.exceptions
        site = f"backend {method} {project_id}"
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        callsites.reached(site)
        try:
            with urllib3.PoolManager(retries=False) as pool:
                answer = pool.request(
                    method,
                    f"{self._url}/api/manage-organization/projects/{quote(project_id, safe='')}/quota",
                    body=body,
                    headers=headers,
                    timeout=urllib3.Timeout(connect=_CONNECT_SECONDS, read=_READ_SECONDS),
                    retries=False,
                    redirect=False,
                )
        except (errors.NewConnectionError, errors.ConnectTimeoutError) as error:
            raise self._unreachable(error) from error
        except (errors.HTTPError, OSError) as error:
            if method == "GET" or "CERTIFICATE_VERIFY_FAILED" in str(error):
                raise self._unreachable(error) from error
            raise _unknown(method, project_id, str(error)) from error
        callsites.reached(f"{site} answered")
        return answer.status, answer.data

    def _unreachable(self, error: Exception) -> ObservationError:
        return ObservationError(
            "backend-unreachable",
            f"the backend {self._url} gave no answer: {' '.join(str(error).split())[:_SHOWN_LETTERS]}",
            next_action="check backend_url and that the backend runs, then run again",
        )

    def _error(self, method: str, project_id: str, status: int, body: bytes) -> Exception:
        said = " ".join(body[:_SHOWN_LETTERS].decode("utf-8", "replace").split()).replace(self._token, "***")
        message = f"the backend answered {status} to {method} of the quota of project {project_id}: {said}"
        if status in (401, 403):
            code = "backend-not-authenticated" if status == 401 else "backend-permission-missing"
            return ObservationError(
                code, message, next_action="renew the token; it has to be an organization administrator's"
            )
        if status in (409, 412):
            return ConflictError(
                "backend-conflict", message, next_action="run again: everything is read anew"
            )
        if method != "GET" and status >= 500:
            return _unknown(method, project_id, message)
        if method != "GET" and 400 <= status < 500 and status != 404:
            return PolicyBlocked(
                "backend-refused", message, next_action="see what the backend's answer asks for"
            )
        return ObservationError(
            "backend-failed", message, next_action="check backend_url and the project's id, then run again"
        )


def _unknown(method: str, project_id: str, why: str) -> OutcomeUnknown:
    return OutcomeUnknown(
        "backend-outcome-unknown",
        f"{method} of the quota of project {project_id} had no clear answer, and whether it was carried out "
        f"is not known: {' '.join(why.split())[:_SHOWN_LETTERS]}",
        next_action="run again: the cap is read, and the run goes on from that",
    )


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None


def _is_object(body: bytes) -> bool:
    """Whether a 404 is the backend's own: a proxy, or a wrong address, answers no JSON object."""
    return isinstance(_parsed(body), dict)


def _token(token_file: str | Path) -> str:
    path = Path(token_file).expanduser()
    if not str(token_file) or not path.is_file() or not os.access(path, os.R_OK):
        raise InputError(
            "backend-token-missing",
            f"backend_token_file {str(token_file) or '(not set)'} is no file that can be read",
            next_action="put the token into a file of mode 0600, and set backend_token_file",
        )
    if path.stat().st_mode & _OTHERS:
        raise InputError(
            "backend-token-open",
            f"backend_token_file {path} can be read by others",
            next_action=f"run: chmod 0600 {path}; and renew the token",
        )
    token = path.read_text(encoding="utf-8").strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise InputError(
            "backend-token-missing",
            f"backend_token_file {path} holds no token",
            next_action="put the bearer token, and nothing else, into it",
        )
    return token
