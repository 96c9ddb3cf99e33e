# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One command at a time for one lab."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from .directory import LabDirectory
from .progress import Progress


@contextmanager
def occupied(lab: LabDirectory, progress: Progress) -> Iterator[None]:
    """Hold the lab's lock; another command on the same folder waits. A killed command lets go of it."""
    lab.root.mkdir(parents=True, exist_ok=True, mode=0o700)
    with lab.lock.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.say(f"another command works on {lab.root}: waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
