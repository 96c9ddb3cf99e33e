# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sends requests to the API server: bounded in time, reads repeated where that helps, writes never."""

from __future__ import annotations

import importlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol
from urllib.parse import urlencode

from .._core.errors import ObservationError
from . import callsites
from .api_reply import Reply, outcome_unknown
from .connection import ApiServer

_REPEATED_STATUSES: Final = (429, 500, 502, 503, 504)
_ATTEMPTS: Final = 6
_FIRST_DELAY_SECONDS: Final = 0.2
_LONGEST_DELAY_SECONDS: Final = 10.0
_CHUNK: Final = 1 << 18
# Lists shrink to a tenth: less to send, and less to take apart here.
_HEADERS: Final = {
    "Accept": "application/json",
    "Accept-Encoding": "gzip",
    "User-Agent": "gpuops.reservations",
}


class Clock(Protocol):
    """Time as the transport needs it."""

    def now(self) -> float:
        """Seconds of a clock that never goes back."""

    def pause(self, seconds: float) -> None:
        """Waits."""


class SystemClock:
    """This machine's clock."""

    def now(self) -> float:
        """Seconds of the monotonic clock."""
        return time.monotonic()

    def pause(self, seconds: float) -> None:
        """Sleeps: the server asked for it, or failed a moment ago."""
        time.sleep(seconds)


@dataclass(frozen=True)
class Limits:
    """Seconds: to connect, between two bytes, for one answer, and for a read with its repetitions."""

    connect: float = 10.0
    silence: float = 30.0
    answer: float = 120.0
    reading: float = 60.0


class _NotSent(Exception):
    """The request never reached the server."""


class _NotTrusted(_NotSent):
    """The server's certificate was refused, and will be the next time."""


class _NoAnswer(Exception):
    """The request may have reached the server; a whole answer did not come back."""


class ApiTransport:
    """Requests to one API server; safe to use from several threads."""

    def __init__(
        self, server: ApiServer, *, limits: Limits | None = None, clock: Clock | None = None
    ) -> None:
        self._server = server
        self._limits = limits or Limits()
        self._clock = clock or SystemClock()
        self._urllib3: Any = importlib.import_module("urllib3")

    @property
    def url(self) -> str:
        """The API server's address."""
        return self._server.url

    def read(self, path: str, query: Mapping[str, str] | None = None) -> Reply:
        """GETs a path; repeats on 429, 500, 502, 503, 504 and on lost connections, within the limits.

        Returns:
            The last answer, whatever its status.

        Raises:
            ObservationError: api-unreachable, where no whole answer came.
        """
        return self._repeated("GET", path, query, None)

    def ask(self, path: str, body: bytes) -> Reply:
        """POSTs a question that changes nothing (an access review); repeated as a read is."""
        return self._repeated("POST", path, None, body)

    def write(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
    ) -> Reply:
        """Sends a write once.

        It is sent again only where it certainly was not carried out: the connection was never made.

        Raises:
            ObservationError: api-unreachable; it was not sent.
            OutcomeUnknown: write-outcome-unknown; it was sent, and no whole answer came.
        """
        for attempt in range(_ATTEMPTS):
            try:
                return self._once(method, path, query, body, content_type)
            except _NotSent as error:
                if attempt + 1 == _ATTEMPTS or isinstance(error, _NotTrusted):
                    raise self._unreachable(path, str(error)) from error
                self._clock.pause(_delay(attempt, None))
            except _NoAnswer as error:
                raise outcome_unknown(method, path, str(error)) from error
        raise AssertionError("unreachable")

    def _repeated(self, method: str, path: str, query: Mapping[str, str] | None, body: bytes | None) -> Reply:
        deadline = self._clock.now() + self._limits.reading
        attempt = 0
        while True:
            reply: Reply | None = None
            why = ""
            try:
                reply = self._once(method, path, query, body, "application/json")
            except _NotTrusted as error:
                raise self._unreachable(path, str(error)) from error
            except (_NotSent, _NoAnswer) as error:
                why = str(error)
            if reply is not None and reply.status not in _REPEATED_STATUSES:
                return reply
            delay = _delay(attempt, reply)
            attempt += 1
            if attempt == _ATTEMPTS or self._clock.now() + delay > deadline:
                if reply is not None:
                    return reply
                raise self._unreachable(path, why)
            self._clock.pause(delay)

    def _once(
        self, method: str, path: str, query: Mapping[str, str] | None, body: bytes | None, content_type: str
    ) -> Reply:
        site = f"kube {method} {path}"
        callsites.reached(site)
        headers = {**_HEADERS, **self._server.headers()}
        if body is not None:
            headers["Content-Type"] = content_type
        url = self._server.url + path + (f"?{urlencode(query)}" if query else "")
        reply = self._exchange(method, url, headers, body)
        callsites.reached(f"{site} answered")
        return reply

    def _exchange(self, method: str, url: str, headers: dict[str, str], body: bytes | None) -> Reply:
        errors = self._urllib3.exceptions
        timeout = self._urllib3.Timeout(connect=self._limits.connect, read=self._limits.silence)
        try:
            response = self._server.pool.request(
                method,
                url,
                headers=headers,
                body=body,
                timeout=timeout,
                retries=False,
                redirect=False,
                preload_content=False,
            )
        except (errors.NewConnectionError, errors.ConnectTimeoutError, errors.ProxyError) as error:
            raise _NotSent(_words(error)) from error
        except errors.SSLError as error:
            if "CERTIFICATE_VERIFY_FAILED" in str(error) or "match" in str(error):
                raise _NotTrusted(f"its certificate is refused: {_words(error)}") from error
            raise _NoAnswer(_words(error)) from error
        except (errors.HTTPError, OSError) as error:
            raise _NoAnswer(_words(error)) from error
        return Reply(response.status, self._whole_body(response), _lower_names(response.headers))

    def _whole_body(self, response: Any) -> bytes:
        deadline = self._clock.now() + self._limits.answer
        chunks = []
        try:
            while chunk := response.read(_CHUNK):
                chunks.append(chunk)
                if self._clock.now() > deadline:
                    response.close()
                    raise _NoAnswer(f"the answer took longer than {self._limits.answer:g} s")
        except (self._urllib3.exceptions.HTTPError, OSError) as error:
            response.close()
            raise _NoAnswer(f"the answer broke off: {_words(error)}") from error
        response.release_conn()
        return b"".join(chunks)

    def _unreachable(self, path: str, why: str) -> ObservationError:
        return ObservationError(
            "api-unreachable",
            f"the API server {self._server.url} gave no answer for {path}: {why}",
            next_action="check host or kubeconfig, the network and the certificate; then run again",
            details={"path": path},
        )


def _delay(attempt: int, reply: Reply | None) -> float:
    asked = reply.headers.get("retry-after", "") if reply is not None else ""
    if asked.isdecimal():
        return min(float(asked), _LONGEST_DELAY_SECONDS)
    return min(_FIRST_DELAY_SECONDS * 2.0**attempt, _LONGEST_DELAY_SECONDS)


def _lower_names(headers: Any) -> dict[str, str]:
    return {str(name).lower(): str(value) for name, value in headers.items()}


def _words(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text[:300] or type(error).__name__
