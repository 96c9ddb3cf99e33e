# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A start that fails or is interrupted takes down what it has started."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from . import stop
from .directory import LabDirectory
from .progress import Progress


@contextmanager
def nothing_left(lab: LabDirectory, progress: Progress) -> Iterator[None]:
    """On any exception end every process of the lab, and let the exception go on. Logs stay."""
    try:
        yield
    except BaseException:
        # A second interrupt must not leave half of the processes behind.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        ended = stop.processes_of(lab)
        progress.complain(f"the start did not come to its end; {ended} processes ended again")
        raise
