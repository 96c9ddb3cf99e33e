# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Active alerts and loaded rules of a Prometheus, by its URL or through the API server's service proxy.

Which of them matter is decided elsewhere. A source that cannot be read is an answer too, and says so.
"""

from __future__ import annotations

import base64
import importlib
from collections import Counter
from collections.abc import Callable
from typing import Any, Final, Literal, Protocol
from urllib.parse import unquote, urlsplit, urlunsplit

from .._core.cluster_objects import Alert
from .._core.errors import ObservationError
from .._core.snapshot import AlertsObserved
from .._core.strict_model import Field, ObservedModel, TypeAdapter, ValidationError
from . import callsites
from .git_program import masked

PLATFORM_PROMETHEUS: Final = "/api/v1/namespaces/monitoring/services/prom-operator-prometheus:9090/proxy"
_CONNECT_SECONDS: Final = 5.0
_READ_SECONDS: Final = 15.0


class ApiServerReads(Protocol):
    """What is needed of the API server's client."""

    def get_bytes(self, path: str) -> bytes:
        """The body of a successful answer."""


class _AlertsData(ObservedModel):
    alerts: tuple[Alert, ...]


class _AlertsAnswer(ObservedModel):
    status: Literal["success"]
    data: _AlertsData


class _Rule(ObservedModel):
    name: str
    type: Literal["alerting", "recording"]


class _RuleGroup(ObservedModel):
    rules: tuple[_Rule, ...] = Field()


class _RulesData(ObservedModel):
    groups: tuple[_RuleGroup, ...]


class _RulesAnswer(ObservedModel):
    status: Literal["success"]
    data: _RulesData


_ALERTS: Final = TypeAdapter(_AlertsAnswer)
_RULES: Final = TypeAdapter(_RulesAnswer)


def read_alerts(source: str, client: ApiServerReads | None = None) -> AlertsObserved:
    """Active alerts and how often each alerting rule is loaded; never raises for what cannot be read.

    Args:
        source: base URL of a Prometheus, or a path of the API server that leads to one (it begins with a
            slash); empty for the platform's own, through the API server.
        client: the API server, for a path.
    """
    where = (source or PLATFORM_PROMETHEUS).rstrip("/")
    try:
        read = _reader(where, client)
        alerts = _ALERTS.validate_json(read("/api/v1/alerts"))
        rules = _RULES.validate_json(read("/api/v1/rules"))
    except ObservationError as error:
        return AlertsObserved(readable=False, error=error.message)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "the document"
        return AlertsObserved(
            readable=False,
            error=f"{masked(where)} does not answer as Prometheus does: {field}: {first['msg']}",
        )
    loaded = Counter(
        rule.name for group in rules.data.groups for rule in group.rules if rule.type == "alerting"
    )
    return AlertsObserved(readable=True, rules=dict(loaded), alerts=alerts.data.alerts)


def _reader(where: str, client: ApiServerReads | None) -> Callable[[str], bytes]:
    if where.startswith("/"):
        if client is None:
            raise _unreadable(where, "there is no connection to an API server to go through")
        return lambda path: client.get_bytes(where + path)
    if not where.startswith(("http://", "https://")):
        raise _unreadable(where, "it is no http or https URL")
    return lambda path: _fetched(where, path)


def _fetched(where: str, path: str) -> bytes:
    urllib3: Any = importlib.import_module("urllib3")
    url, headers = _signed_in(where)
    callsites.reached(f"alerts GET {path}")
    try:
        with urllib3.PoolManager(retries=False) as pool:
            answer = pool.request(
                "GET",
                url + path,
                headers=headers,
                timeout=urllib3.Timeout(connect=_CONNECT_SECONDS, read=_READ_SECONDS),
                retries=False,
                redirect=False,
            )
    except (urllib3.exceptions.HTTPError, OSError) as error:
        raise _unreadable(where, masked(" ".join(str(error).split()))) from error
    callsites.reached(f"alerts GET {path} answered")
    if answer.status != 200:
        raise _unreadable(where, f"HTTP status {answer.status} for {path}")
    body: bytes = answer.data
    return body


def _signed_in(where: str) -> tuple[str, dict[str, str]]:
    """The URL without user and password, and the header that carries them."""
    parts = urlsplit(where)
    account, at, host = parts.netloc.rpartition("@")
    headers = {"Accept": "application/json"}
    if at:
        pair = base64.b64encode(unquote(account).encode()).decode("ascii")
        headers["Authorization"] = f"Basic {pair}"
    return urlunsplit((parts.scheme, host, parts.path, "", "")), headers


def _unreadable(where: str, why: str) -> ObservationError:
    return ObservationError(
        "alerts-unreadable",
        f"alerts could not be read from {masked(where)}: {why}",
        next_action="check alerts_url, and that Prometheus runs",
    )
