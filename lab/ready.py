# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conditions that a start waits for: asked again until they hold, never a sleep of a fixed time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import urllib3

from . import processes
from .api import Api, ApiError
from .components import Component
from .directory import LabDirectory
from .errors import LabError
from .processes import Record

_PAUSE_SECONDS = 0.05


def wait(
    what: str,
    condition: Callable[[], str | None],
    *,
    seconds: float,
    lab: LabDirectory,
    needs: Sequence[Record] = (),
) -> None:
    """Ask ``condition`` until it answers None, which is yes; any text says what is still missing.

    Raises LabError when time runs out, or at once when a process in ``needs`` has ended.
    """
    deadline = time.monotonic() + seconds
    while (missing := condition()) is not None:
        for record in needs:
            if not processes.alive(record):
                raise LabError(
                    f"{record.name} ended while {what} was waited for. {tail(lab.log(record.name))}",
                    f"read {lab.log(record.name)}",
                )
        if time.monotonic() > deadline:
            logs = ", ".join(str(lab.log(record.name)) for record in needs) or str(lab.logs)
            raise LabError(f"{what}: not within {seconds:.0f} s: {missing}", f"read {logs}")
        time.sleep(_PAUSE_SECONDS)


def tail(path: Path, lines: int = 12) -> str:
    """The end of a log, as a sentence's continuation."""
    if not path.is_file():
        return "It wrote no log."
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - 20000))
        text = stream.read().decode(errors="replace")
    return "The end of its log:\n" + "\n".join(text.splitlines()[-lines:])


def serves(component: Component, ca: Path) -> Callable[[], str | None]:
    """The condition that a component's health URL answers 200."""
    http = urllib3.PoolManager(ca_certs=str(ca), timeout=urllib3.Timeout(connect=1, read=5), retries=False)

    def condition() -> str | None:
        try:
            answer = http.request("GET", component.health)
        except urllib3.exceptions.HTTPError as error:
            return f"{component.health}: {error}"
        if answer.status == 200:
            return None
        return f"{component.health} answers {answer.status}: {answer.data.decode(errors='replace')[-300:]}"

    return condition


def exists(api: Api, path: str) -> Callable[[], str | None]:
    """The condition that the object at ``path`` can be read."""

    def condition() -> str | None:
        try:
            api.get(path)
        except ApiError as error:
            return f"{path}: {error.status} {error}"
        return None

    return condition
