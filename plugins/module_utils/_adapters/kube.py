# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The API server: whole consistent lists, single objects, and writes that are never repeated blindly."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, Literal, TypeVar

from .._core.errors import ObservationError
from .api_documents import Groups, Review, Version, from_bytes
from .api_list import PAGE_SIZE, ListReader, Parse, parser
from .api_reply import Reply, error_of, is_absent
from .api_transport import ApiTransport, Clock, Limits
from .connection import ConnectionOptions, connect

Model = TypeVar("Model")
Patch = Mapping[str, Any] | Sequence[Mapping[str, Any]]
PatchKind = Literal["merge", "json"]
Eviction = Literal["evicted", "budget", "gone"]

FIELD_MANAGER: Final = "gpuops.reservations"
_PATCH_TYPES: Final = {"merge": "application/merge-patch+json", "json": "application/json-patch+json"}
_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_OLD_ANSWER_SECONDS: Final = 60.0


class KubeClient:
    """One API server; every method may be called from several threads.

    Reads raise ObservationError: api-unreachable, not-authenticated, permission-missing,
    api-not-served, api-failed, body-unreadable, list-expired, list-stale, answer-stale.
    Writes raise besides: ConflictError object-changed or already-exists; PolicyBlocked request-refused;
    ObservationError object-gone, api-busy; OutcomeUnknown write-outcome-unknown.
    """

    def __init__(self, transport: ApiTransport, *, page_size: int = PAGE_SIZE) -> None:
        self._transport = transport
        self._lists = ListReader(self._page, page_size)
        self._newest_date: datetime | None = None
        self._guard = threading.Lock()

    @classmethod
    def connect(
        cls, options: ConnectionOptions, *, limits: Limits | None = None, clock: Clock | None = None
    ) -> KubeClient:
        """A client for the API server that the options name; nothing is contacted yet.

        Raises:
            InputError: connection-not-named, connection-unusable.
            DependencyMissing: the kubernetes library is not installed.
        """
        return cls(ApiTransport(connect(options), limits=limits, clock=clock))

    @property
    def url(self) -> str:
        """The API server's address."""
        return self._transport.url

    @property
    def server_time(self) -> str:
        """The API server's clock in its newest answer (header ``Date``), RFC 3339 UTC, in seconds.

        Raises:
            ObservationError: server-time-unknown, where no answer carried one.
        """
        if self._newest_date is None:
            raise ObservationError(
                "server-time-unknown",
                f"the API server {self.url} sent no Date header, so nothing can be told to be fresh",
                next_action="see which proxy takes the Date header away",
            )
        return self._newest_date.strftime("%Y-%m-%dT%H:%M:%SZ")

    def version(self) -> str:
        """The server's gitVersion."""
        return from_bytes("/version", Version, self.get_bytes("/version")).git_version

    def get_bytes(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        """The body of whatever a path answers, which has to be a success."""
        return self._successful_read(path, query).body

    def get(self, path: str, model: type[Model]) -> Model | None:
        """One object; None only where the API server says that this very object does not exist."""
        reply = self._dated(self._transport.read(path))
        if is_absent(path, reply):
            return None
        if reply.status != 200:
            raise error_of("GET", path, reply)
        return from_bytes(path, model, reply.body)

    def list(
        self,
        path: str,
        model: type[Model],
        *,
        label_selector: str = "",
        field_selector: str = "",
        select: Callable[[Model], bool] | None = None,
    ) -> tuple[Model, ...]:
        """All objects of a list, or those that ``select`` keeps, in the server's order."""
        selectors = {"labelSelector": label_selector, "fieldSelector": field_selector}
        query = {name: value for name, value in selectors.items() if value}
        return tuple(self._lists.items(path, parser(model), select, query))

    def list_parsed(self, path: str, parse: Parse) -> tuple[Any, ...]:
        """All objects that ``parse`` makes of the pages of a list."""
        return tuple(self._lists.items(path, parse))

    def serves_group(self, group: str) -> bool:
        """Whether the API server has any resource of this API group."""
        found = from_bytes("/apis", Groups, self.get_bytes("/apis"))
        return any(entry.name == group for entry in found.groups)

    def access_review(
        self,
        verb: str,
        resource: str,
        *,
        group: str = "",
        subresource: str = "",
        namespace: str = "",
        name: str = "",
    ) -> bool:
        """Whether this identity may do something (SelfSubjectAccessReview; changes nothing)."""
        wanted = {"verb": verb, "resource": resource, "group": group, "subresource": subresource}
        attributes = {**wanted, "namespace": namespace, "name": name}
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {key: value for key, value in attributes.items() if value}},
        }
        reply = self._dated(self._transport.ask(_REVIEWS, json.dumps(body).encode()))
        if reply.status not in (200, 201):
            raise error_of("GET", _REVIEWS, reply)
        return from_bytes(_REVIEWS, Review, reply.body).status.allowed

    def patch(
        self,
        path: str,
        body: Patch,
        *,
        kind: PatchKind = "merge",
        resource_version: str = "",
        dry_run: bool = False,
    ) -> dict[str, Any]:
        """Patches an object and gives it as it is now.

        Args:
            path: the object's, or its subresource's.
            body: a merge patch, or the operations of a JSON patch.
            kind: which of them.
            resource_version: the version read; another one makes it a ConflictError.
            dry_run: let the server check everything and change nothing.
        """
        content = _with_precondition(body, resource_version)
        return self._write("PATCH", path, content, _PATCH_TYPES[kind], dry_run=dry_run)

    def update_status(
        self, path: str, status: Mapping[str, Any], *, resource_version: str, dry_run: bool = False
    ) -> dict[str, Any]:
        """Sets fields of an object's status (merge: lists are replaced, null removes a key)."""
        return self.patch(
            f"{path}/status", {"status": status}, resource_version=resource_version, dry_run=dry_run
        )

    def create(self, path: str, body: Mapping[str, Any], *, dry_run: bool = False) -> dict[str, Any]:
        """Creates an object in a list's path and gives it as the server keeps it."""
        return self._write("POST", path, body, "application/json", dry_run=dry_run)

    def replace(self, path: str, body: Mapping[str, Any], *, dry_run: bool = False) -> dict[str, Any]:
        """Replaces an object; a resourceVersion in its metadata is the precondition."""
        return self._write("PUT", path, body, "application/json", dry_run=dry_run)

    def delete(self, path: str, *, uid: str = "", resource_version: str = "", dry_run: bool = False) -> bool:
        """Deletes an object, of this UID and version where they are given; False where it was gone."""
        preconditions = {"uid": uid, "resourceVersion": resource_version}
        given = {key: value for key, value in preconditions.items() if value}
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": given}
        try:
            self._write("DELETE", path, body, "application/json", dry_run=dry_run)
        except ObservationError as error:
            if error.code == "object-gone":
                return False
            raise
        return True

    def evict(self, namespace: str, pod: str, *, uid: str = "", dry_run: bool = False) -> Eviction:
        """Asks the Eviction API; ``budget`` where a disruption budget says not now, ``gone`` where it was."""
        path = f"/api/v1/namespaces/{namespace}/pods/{pod}/eviction"
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"namespace": namespace, "name": pod},
            "deleteOptions": {"preconditions": {"uid": uid}} if uid else {},
        }
        reply = self._sent("POST", path, body, "application/json", dry_run=dry_run)
        if reply.status == 429:
            return "budget"
        if is_absent(path, reply):
            return "gone"
        if reply.status not in (200, 201):
            raise error_of("POST", path, reply)
        return "evicted"

    def _write(
        self, method: str, path: str, body: Any, content_type: str, *, dry_run: bool
    ) -> dict[str, Any]:
        reply = self._sent(method, path, body, content_type, dry_run=dry_run)
        if reply.status not in (200, 201, 202):
            raise error_of(method, path, reply)
        return from_bytes(path, dict[str, Any], reply.body)

    def _sent(self, method: str, path: str, body: Any, content_type: str, *, dry_run: bool) -> Reply:
        query = {} if method == "DELETE" else {"fieldManager": FIELD_MANAGER}
        if dry_run:
            query["dryRun"] = "All"
        content = json.dumps(body).encode()
        return self._dated(
            self._transport.write(method, path, query=query, body=content, content_type=content_type)
        )

    def _successful_read(self, path: str, query: Mapping[str, str] | None) -> Reply:
        reply = self._dated(self._transport.read(path, query))
        if reply.status != 200:
            raise error_of("GET", path, reply)
        return reply

    def _page(self, path: str, query: Mapping[str, str]) -> bytes | None:
        reply = self._dated(self._transport.read(path, query))
        if reply.status == 410 and "continue" in query:
            return None
        if reply.status != 200:
            raise error_of("GET", path, reply)
        return reply.body

    def _dated(self, reply: Reply) -> Reply:
        """Takes note of the server's clock; an answer older than another one came out of some cache."""
        date = _http_date(reply.headers.get("date", ""))
        if date is None:
            return reply
        with self._guard:
            newest = self._newest_date
            if newest is None or date > newest:
                self._newest_date = date
        if newest is not None and (newest - date).total_seconds() > _OLD_ANSWER_SECONDS:
            raise ObservationError(
                "answer-stale",
                f"the API server {self.url} says it is {date:%H:%M:%S}, and said {newest:%H:%M:%S} before",
                next_action="see which proxy answers from a cache, or which API server's clock is wrong",
            )
        return reply


def _with_precondition(body: Patch, resource_version: str) -> Patch:
    if not resource_version:
        return body
    if isinstance(body, Mapping):
        metadata = {**body.get("metadata", {}), "resourceVersion": resource_version}
        return {**body, "metadata": metadata}
    return [{"op": "replace", "path": "/metadata/resourceVersion", "value": resource_version}, *body]


def _http_date(text: str) -> datetime | None:
    try:
        return parsedate_to_datetime(text).astimezone(UTC)
    except (TypeError, ValueError):
        return None
