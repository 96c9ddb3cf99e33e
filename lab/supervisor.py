# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m lab.supervisor COMMAND ...``: runs a program, and starts it again when it ends by itself.

A program that ends before it has run for a while does not start at all: then this ends too, with its code.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from types import FrameType

_LONG_ENOUGH_SECONDS = 10.0


class Supervisor:
    """Keeps one program running until it is told to end."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = list(command)
        self._child: subprocess.Popen[bytes] | None = None
        self._told = False

    def end(self, _number: int, _frame: FrameType | None) -> None:
        """Pass the wish to end on; the program may take its time."""
        self._told = True
        if self._child is not None:
            self._child.terminate()

    def run(self) -> int:
        """Run until told to end, or until the program does not stay up. Returns its last exit code."""
        while True:
            begun = time.monotonic()
            self._child = subprocess.Popen(self._command)
            if self._told:  # between two starts
                self._child.terminate()
            code = self._child.wait()
            lasted = time.monotonic() - begun
            if self._told or lasted < _LONG_ENOUGH_SECONDS:
                return code
            print(f"supervisor: ended with {code} after {lasted:.0f} s; starting it again", flush=True)


def main() -> int:
    """Run what the command line says."""
    supervisor = Supervisor(sys.argv[1:])
    signal.signal(signal.SIGTERM, supervisor.end)
    return supervisor.run()


if __name__ == "__main__":
    sys.exit(main())
