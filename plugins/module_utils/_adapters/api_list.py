# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads whole lists, page by page, from the bytes of the answers.

Lists are consistent reads: a resourceVersion is never asked for, so no cache of the API server answers
with what was true a while ago.
"""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, Generic, TypeVar, cast

from .._core.errors import ObservationError
from .._core.strict_model import Field, ObservedModel, TypeAdapter, ValidationError
from .api_documents import body_unreadable

PAGE_SIZE: Final = 500
_RESTARTS: Final = 3
_HEAD: Final = 4096

Item = TypeVar("Item")
Fetch = Callable[[str, Mapping[str, str]], "bytes | None"]
"""Gives a page's bytes, or None where the continuation has expired (410)."""

# Where a list's metadata comes first, the next page can be asked for while this one is being validated.
_CONTINUE = re.compile(
    rb'^\{"kind":"[A-Za-z]+List","apiVersion":"[^"]+","metadata":\{[^{}]*"continue":"([^"\\]+)"'
)


class _ListMeta(ObservedModel):
    resource_version: str = Field(default="", alias="resourceVersion")
    continue_token: str = Field(default="", alias="continue")


class ListPage(ObservedModel, Generic[Item]):
    """One page of a list. The Go server writes an empty list as null in places; absent is never empty."""

    kind: str
    metadata: _ListMeta
    items: list[Item] | None


Parse = Callable[[str, bytes], ListPage[Any]]
"""Makes a page of an answer's path and body."""


class ListReader:
    """Reads lists and remembers how new each one was, so that an older one is noticed."""

    def __init__(self, fetch: Fetch, page_size: int = PAGE_SIZE) -> None:
        self._fetch = fetch
        self._page_size = page_size
        self._newest: dict[str, int] = {}
        self._guard = threading.Lock()

    def items(
        self,
        path: str,
        parse: Parse,
        select: Callable[[Any], bool] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> list[Any]:
        """Every object of a list, or those that ``select`` wants.

        Args:
            path: the list's path.
            parse: makes a page of a body; it may leave objects out that nobody wants.
            select: keeps an object when it gives true.
            query: selectors.

        Raises:
            ObservationError: list-expired after three restarts; list-stale; and what fetching and parsing
                raise.
        """
        for _ in range(_RESTARTS + 1):
            found: list[Any] = []
            whole = False
            for page in self._pages(path, parse, query or {}):
                if page is None:
                    break
                items = page.items or []
                found += items if select is None else [one for one in items if select(one)]
                whole = not page.metadata.continue_token
            if whole:
                return found
        raise ObservationError(
            "list-expired",
            f"{path} could not be read to its end: its continuation expired {_RESTARTS + 1} times",
            next_action="see why the API server answers so slowly, then run again",
            details={"path": path},
        )

    def _pages(self, path: str, parse: Parse, query: Mapping[str, str]) -> Iterator[ListPage[Any] | None]:
        first = {**query, "limit": str(self._page_size)}
        body = self._fetch(path, first)
        with ThreadPoolExecutor(1, thread_name_prefix="next-page") as ahead:
            while body is not None:
                early = _CONTINUE.match(body[:_HEAD])
                coming: Future[bytes | None] | None = None
                if early is not None:
                    token = early.group(1).decode("ascii")
                    coming = ahead.submit(self._fetch, path, {**first, "continue": token})
                page = parse(path, body)
                self._check_age(path, page.metadata.resource_version)
                yield page
                following = page.metadata.continue_token
                if not following:
                    return
                if coming is None:
                    coming = ahead.submit(self._fetch, path, {**first, "continue": following})
                body = coming.result()
            yield None

    def _check_age(self, path: str, resource_version: str) -> None:
        if not resource_version.isdecimal():
            return
        version = int(resource_version)
        with self._guard:
            newest = self._newest.get(path, 0)
            self._newest[path] = max(newest, version)
        if version < newest:
            raise ObservationError(
                "list-stale",
                f"{path} is at resourceVersion {version}, and {newest} was read before: an old answer",
                next_action="see which proxy or API server answers with old lists, then run again",
                details={"path": path, "resourceVersion": version, "readBefore": newest},
            )


def parser(model: type[Item]) -> Parse:
    """Parses pages of such objects, all of them."""
    return lambda path, body: validated_page(path, model, body)


def validated_page(path: str, model: type[Item], body: bytes) -> ListPage[Item]:
    """A page of objects from the bytes of an answer.

    Raises:
        ObservationError: body-unreadable; cut off, or no list of such objects.
    """
    try:
        page: ListPage[Item] = page_adapter(cast("Any", model)).validate_json(body)
    except ValidationError as error:
        raise body_unreadable(path, error) from error
    if not page.kind.endswith("List"):
        raise ObservationError(
            "body-unreadable",
            f"{path} answered a {page.kind} and no list",
            next_action="check that host or kubeconfig names an API server",
            details={"path": path},
        )
    return page


@functools.cache
def page_adapter(model: Any) -> TypeAdapter[Any]:
    """The adapter that validates a page of such objects from bytes."""
    return TypeAdapter(ListPage[model])
