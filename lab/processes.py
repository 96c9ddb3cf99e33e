# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes in the background: started in a group of their own, found again, and stopped to the last one.

Each carries its lab's folder and its own name in its environment, and hands that down to its children.
So a process is found even when the command that started it was killed before it could write its record.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

import psutil

from .directory import CHECKOUT, LabDirectory
from .errors import LabError
from .private_file import write_private

_FOLDER = "GPUOPS_LAB_PROCESS_OF"
_NAME = "GPUOPS_LAB_PROCESS_NAME"
# How long a process may take to end by itself before it is killed.
_GRACE_SECONDS = 3.0


@dataclass(frozen=True)
class Record:
    """A process as it was started. The start time tells it from a later process with the same number."""

    name: str
    pid: int
    created: float


def start(lab: LabDirectory, name: str, command: Sequence[str], environment: Mapping[str, str]) -> Record:
    """Start ``command`` with exactly ``environment`` (and its marks); output goes to the log of ``name``."""
    process = _spawn(lab, name, command, environment)
    record = Record(name, process.pid, psutil.Process(process.pid).create_time())
    write_private(lab.run / f"{name}.json", json.dumps(asdict(record)).encode())
    return record


def run(
    lab: LabDirectory,
    name: str,
    command: Sequence[str],
    environment: Mapping[str, str],
    on_line: Callable[[str], None],
) -> int:
    """Run ``command`` to its end and return its exit code. Its lines go to its log and to ``on_line``."""
    lab.logs.mkdir(parents=True, exist_ok=True)
    with lab.log(name).open("ab+") as output:
        output.seek(0, os.SEEK_END)
        process = _spawn(lab, name, command, environment)
        try:
            code = None
            while code is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    code = process.wait(timeout=0.1)
                for line in _complete_lines(output, at_end=code is not None):
                    on_line(line)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    return code


def _complete_lines(output: BinaryIO, *, at_end: bool) -> list[str]:
    lines = []
    while line := output.readline():
        if not line.endswith(b"\n") and not at_end:
            output.seek(-len(line), os.SEEK_CUR)
            break
        lines.append(line.decode(errors="replace").rstrip("\n"))
    return lines


def _spawn(
    lab: LabDirectory, name: str, command: Sequence[str], environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    lab.logs.mkdir(parents=True, exist_ok=True)
    with lab.log(name).open("ab") as log:
        try:
            process = subprocess.Popen(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=CHECKOUT,
                env={**environment, _FOLDER: str(lab.root), _NAME: name},
                start_new_session=True,
            )
        except OSError as error:
            raise LabError(
                f"{name} cannot be started: {command[0]}: {error.strerror}",
                "if a file of the build cache was removed, remove the rest of it too and start again",
            ) from error
    _wait_for_mark(process.pid)
    return process


def _wait_for_mark(pid: int) -> None:
    """Return once the new program's environment can be read, or it has ended.

    The kernel lets the parent go on a moment earlier, and a process without its mark would not be found.
    """
    with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
        process = psutil.Process(pid)
        while _FOLDER not in process.environ():
            time.sleep(0.001)


def recorded(lab: LabDirectory) -> dict[str, Record]:
    """The records of this lab, by name; also of processes that have ended."""
    if not lab.run.is_dir():
        return {}
    found = {}
    for path in sorted(lab.run.glob("*.json")):
        record = Record(**json.loads(path.read_text()))
        found[record.name] = record
    return found


def alive(record: Record) -> bool:
    """Whether that very process still runs."""
    try:
        process = psutil.Process(record.pid)
        return process.create_time() == record.created and not _has_ended(process)
    except psutil.NoSuchProcess:
        return False


def everything(lab: LabDirectory) -> list[psutil.Process]:
    """Every process that carries this lab's mark: those that were started, and their children."""
    return [process for process, _ in _marked(lab)]


def stop_everything(lab: LabDirectory, asked: Sequence[str]) -> int:
    """End every process of this lab; those not in ``asked`` are killed at once. Returns how many there were.

    Raises LabError when one is left after that.
    """
    named = list(_marked(lab))
    marked = [process for process, _ in named]
    _end([process for process, name in named if name in asked])
    # A process may have been started while the first ones ended; look until none is left.
    deadline = time.monotonic() + 10
    while left := everything(lab):
        if time.monotonic() > deadline:
            raise LabError(
                f"processes of {lab.root} cannot be ended: "
                + ", ".join(str(process.pid) for process in left),
                "look at them with ps, end them, and run lab-down again",
            )
        _signal(left, signal.SIGKILL)
        marked += left
        _still_there(left, seconds=1.0)
    for name in recorded(lab):
        (lab.run / f"{name}.json").unlink(missing_ok=True)
    # Dying, a process shows no environment any more, but may hold a port for a moment yet.
    _still_there(marked, seconds=_GRACE_SECONDS)
    return len(set(marked))


def freeze(wanted: Sequence[psutil.Process]) -> None:
    """Stop processes in their tracks, and return once every thread of them stands still. Raises LabError."""
    _signal(wanted, signal.SIGSTOP)
    deadline = time.monotonic() + 5
    while not all(_stands_still(process) for process in wanted):
        if time.monotonic() > deadline:
            numbers = ", ".join(str(process.pid) for process in wanted)
            raise LabError(f"processes {numbers} do not all stand still after 5 s", "run lab-down and lab-up")
        time.sleep(0.005)


def thaw(wanted: Sequence[psutil.Process]) -> None:
    """Let frozen processes go on."""
    _signal(wanted, signal.SIGCONT)


def _stands_still(process: psutil.Process) -> bool:
    states = _thread_states(process.pid)
    # Of a process that lives, no state at all is one that could not be read, not one that stands still.
    return all(state in "tTZX" for state in states) if states else _has_ended(process)


def _thread_states(pid: int) -> list[str]:
    # The state is the first word after the program's name, which stands in brackets and may hold any.
    states = []
    for path in Path(f"/proc/{pid}/task").glob("*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # ended just now
            states.append(path.read_text().rpartition(")")[2].split()[0])
    return states


def _marked(lab: LabDirectory) -> Iterator[tuple[psutil.Process, str]]:
    for process in psutil.process_iter():
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                continue
            environment = process.environ()
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue  # gone, or another user's: not ours either way
        if environment.get(_FOLDER) == str(lab.root):
            yield process, environment.get(_NAME, "")


def _end(wanted: Sequence[psutil.Process]) -> None:
    _signal(wanted, signal.SIGTERM)
    _signal(_still_there(wanted, seconds=_GRACE_SECONDS), signal.SIGKILL)


def _still_there(wanted: Sequence[psutil.Process], *, seconds: float) -> list[psutil.Process]:
    """Those that have not ended after so long. One that only waits for its parent to notice has ended."""
    deadline = time.monotonic() + seconds
    while (
        left := [process for process in wanted if not _has_ended(process)]
    ) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


def _has_ended(process: psutil.Process) -> bool:
    try:
        # The first thread may be a zombie while others still let go of ports and files.
        return not process.is_running() or (
            process.status() == psutil.STATUS_ZOMBIE and process.num_threads() <= 1
        )
    except psutil.NoSuchProcess:
        return True


def _signal(wanted: Sequence[psutil.Process], number: signal.Signals) -> None:
    for process in wanted:
        try:
            # A frozen process would take its end only after it is thawed.
            process.send_signal(number)
            if number is signal.SIGTERM:
                process.send_signal(signal.SIGCONT)
        except psutil.NoSuchProcess:
            continue
