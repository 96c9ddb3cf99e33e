# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a command and says how long it took and how much memory its biggest process had."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from .contenders import Contender

_TIMEOUT_SECONDS = 3600


@dataclass(frozen=True)
class Run:
    """One run.

    Attributes:
        seconds: from start to end.
        cpu_seconds: of the command and all it started; the API server's are not in it.
        peak_mib: the most memory that a single one of its processes had.
        code: exit code.
    """

    seconds: float
    cpu_seconds: float
    peak_mib: float
    code: int


def run(contender: Contender, log: Path) -> Run:
    """Runs it once; its output goes to a log.

    The peak is the operating system's own account (the largest of the process and those that it waited
    for), so nothing has to look while it runs.
    """
    with log.open("wb") as output:
        begun = time.monotonic()
        process = subprocess.Popen(
            contender.command,
            env=contender.environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=contender.environment["HOME"],
            start_new_session=True,
        )
        ending = threading.Timer(_TIMEOUT_SECONDS, os.killpg, (process.pid, signal.SIGKILL))
        ending.start()
        _, status, usage = os.wait4(process.pid, 0)
        ending.cancel()
        seconds = time.monotonic() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
    return Run(
        round(seconds, 3),
        round(usage.ru_utime + usage.ru_stime, 3),
        round(usage.ru_maxrss / 1024, 1),
        process.returncode,
    )
