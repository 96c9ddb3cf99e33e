# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of progress, each with the seconds since the command began."""

from __future__ import annotations

import sys
import time


class Progress:
    """Prints to standard output at once, so that a pipe shows it while it happens."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    def say(self, text: str) -> None:
        """Print one line."""
        print(f"lab {self.elapsed():5.1f}s  {text}", flush=True)

    def complain(self, text: str) -> None:
        """Print one line to standard error."""
        print(f"lab {self.elapsed():5.1f}s  {text}", file=sys.stderr, flush=True)

    def elapsed(self) -> float:
        """Seconds since the command began."""
        return time.monotonic() - self._start
