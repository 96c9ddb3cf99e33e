# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Waits for a condition of the world, telling what it waits for and what was seen last."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from .._core.errors import ObservationError
from .progress import report

Seen = TypeVar("Seen")


@dataclass(frozen=True)
class Waited(Generic[Seen]):
    """How a wait ended.

    Attributes:
        seen: what was seen last.
        met: whether it was what was waited for.
        last: the last seen value, in words.
        seconds: how long it took.
    """

    seen: Seen
    met: bool
    last: str
    seconds: float


def wait_until(
    what: str,
    look: Callable[[], Seen],
    judge: Callable[[Seen], str],
    *,
    timeout: float,
    interval: float,
) -> Waited[Seen]:
    """Look until ``judge`` says nothing is missing, or the time is up; the first look is at once.

    Args:
        what: what is waited for, in words.
        look: reads the world; an ObservationError is borne until the time is up, and raised then.
        judge: what is still missing, in words; empty when the wait is over.
        timeout: seconds.
        interval: seconds between two looks.

    Raises:
        ObservationError: the last look of a wait that ran out could not read.
    """
    began = time.monotonic()
    while True:
        left = began + timeout - time.monotonic()
        try:
            seen = look()
        except ObservationError as error:
            if left <= 0:
                raise
            report(f"waiting for {what}: {error.message}")
        else:
            missing = judge(seen)
            elapsed = time.monotonic() - began
            if not missing or left <= 0:
                return Waited(seen, not missing, missing, elapsed)
            report(f"waiting for {what} since {elapsed:.0f} s: {missing}")
        time.sleep(min(interval, max(0.05, left)))
