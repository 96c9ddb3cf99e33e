# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every place where a run talks to the outside announces itself here, before and after it talks.

A test that kills or fails a run at each of them in turn needs to see all of them, in whatever adapter
they are. Without a watcher, which is always so outside tests, announcing does nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class CallSiteWatcher(Protocol):
    """What a test hands to :func:`watched_by`."""

    def reached(self, site: str) -> None:
        """Called at every site, from whichever thread is there; what it raises ends the call."""


class _Watching:
    """The watcher of this process, if any."""

    def __init__(self) -> None:
        self.watcher: CallSiteWatcher | None = None
        self.guard = threading.Lock()


_WATCHING = _Watching()


def reached(site: str) -> None:
    """Announces a call site: ``kube PATCH /api/v1/nodes/gpu-01``, or the same with `` answered``.

    Args:
        site: adapter, operation and object; never holds a secret.
    """
    watcher = _WATCHING.watcher
    if watcher is not None:
        watcher.reached(site)


@contextmanager
def watched_by(watcher: CallSiteWatcher) -> Iterator[None]:
    """Hands every call site of this process to a watcher for the duration of a with block.

    Raises:
        RuntimeError: somebody watches already.
    """
    with _WATCHING.guard:
        if _WATCHING.watcher is not None:
            raise RuntimeError("call sites are watched already")
        _WATCHING.watcher = watcher
    try:
        yield
    finally:
        _WATCHING.watcher = None
