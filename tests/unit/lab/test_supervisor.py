# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The supervisor: again when a program ends by itself, never when it does not stay up or is told to end."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lab.directory import CHECKOUT
from lab.supervisor import Supervisor


def counting(path: Path, code: int) -> list[str]:
    """A program that adds a line to a file and ends."""
    script = f"import sys; open({str(path)!r}, 'a').write('run\\n'); sys.exit({code})"
    return [sys.executable, "-c", script]


def test_a_program_that_does_not_stay_up_is_not_started_again(tmp_path: Path) -> None:
    assert Supervisor(counting(tmp_path / "runs", 7)).run() == 7
    assert (tmp_path / "runs").read_text() == "run\n"


def test_a_program_that_ran_for_a_while_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lasted = iter([100.0, 100.0, 1.0])
    clock = iter(moment for seconds in lasted for moment in (0.0, seconds))
    monkeypatch.setattr("lab.supervisor.time.monotonic", lambda: next(clock))
    assert Supervisor(counting(tmp_path / "runs", 3)).run() == 3
    assert (tmp_path / "runs").read_text() == "run\n" * 3
    assert capsys.readouterr().out.count("ended with 3 after 100 s; starting it again") == 2


def test_told_to_end_it_ends_its_program_first(tmp_path: Path) -> None:
    marker = tmp_path / "ended"
    script = (
        "import pathlib, signal, sys, time\n"
        f"def end(*_): pathlib.Path({str(marker)!r}).touch(); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, end)\n"
        "print('up', flush=True)\n"
        "time.sleep(300)\n"
    )
    command = [sys.executable, "-m", "lab.supervisor", sys.executable, "-c", script]
    with subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGTERM)
        begun = time.monotonic()
        assert process.wait(timeout=30) == 0
    assert marker.exists()
    assert time.monotonic() - begun < 30
