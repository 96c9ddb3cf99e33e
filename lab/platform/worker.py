# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a controller runs: level-triggered, one pass at a time, and never ending because of an error."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable

from .api import ApiError, Kind
from .store import Store

LOG = logging.getLogger("lab.platform")
COALESCE_SECONDS = 0.02


class Worker:
    """A thread that makes a pass after each change of what it watches, and at least every `every` seconds.

    Args:
        name: for the log.
        step: the pass. It looks at the world as it is and does what can be done now.
        store: where changes are announced.
        kinds: the kinds whose changes matter.
        every: seconds between passes when nothing changes (delays and staleness need a clock).
    """

    def __init__(
        self, name: str, step: Callable[[], None], store: Store, kinds: Iterable[Kind], every: float = 1.0
    ) -> None:
        self.name = name
        self._step = step
        self._every = every
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._passes = threading.Condition()
        self._begun = 0
        self._done = 0
        store.listen(kinds, self._wake.set)
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._wake.set()
        self._thread.start()

    def stop(self) -> None:
        """Ask it to end; `join` waits."""
        self._stop.set()
        self._wake.set()

    def join(self, timeout: float) -> None:
        """Wait until it has ended."""
        if self._thread.is_alive():
            self._thread.join(timeout)

    def flush(self, timeout: float) -> bool:
        """Return once a pass that began after this call has ended; False when it takes longer."""
        with self._passes:
            wanted = self._begun + 1
            self._wake.set()
            return self._passes.wait_for(lambda: self._done >= wanted, timeout)

    def _run(self) -> None:
        while not self._stop.is_set():
            self._wake.wait(self._every)
            if self._stop.is_set():
                return
            time.sleep(COALESCE_SECONDS)
            self._wake.clear()
            with self._passes:
                self._begun += 1
            try:
                self._step()
            except ApiError as err:
                # Conflicts and passing refusals are how controllers find out that the world moved on.
                if err.status not in {404, 409}:
                    LOG.warning("%s: %s", self.name, err)
                self._stop.wait(0.2)
                self._wake.set()
            except Exception:
                LOG.exception("%s: the pass failed, the next one follows", self.name)
                self._stop.wait(1.0)
                self._wake.set()
            with self._passes:
                self._done = self._begun
                self._passes.notify_all()


class Lag:
    """Delays of the product: a change that is wanted now is made `seconds` later.

    A new wish for the same thing starts the wait again only when its value is another one.
    """

    def __init__(self) -> None:
        self._since: dict[str, tuple[object, float]] = {}

    def due(self, key: str, wanted: object, seconds: float) -> bool:
        """Whether `wanted` has been wanted for that long."""
        now = time.monotonic()
        known = self._since.get(key)
        if known is None or known[0] != wanted:
            self._since[key] = (wanted, now)
            return seconds <= 0
        return now - known[1] >= seconds

    def first(self, key: str, value: object) -> bool:
        """Whether this value is another than at the last call: what is worth one line in the log."""
        known = self._since.get(key)
        self._since[key] = (value, time.monotonic())
        return known is None or known[0] != value

    def forget(self, key: str) -> None:
        """The thing is as it is wanted: nothing to wait for."""
        self._since.pop(key, None)
