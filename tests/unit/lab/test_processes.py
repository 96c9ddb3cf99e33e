# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes: found by their mark, ended with their children, frozen and let go again."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from lab import processes
from lab.directory import LabDirectory
from lab.errors import LabError

ENVIRONMENT = {"PATH": os.environ["PATH"]}
SLEEP = [sys.executable, "-c", "import time; time.sleep(300)"]
DEAF = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print('deaf', flush=True)
time.sleep(300)
"""
STUBBORN = [sys.executable, "-c", DEAF]
MOTHER = """
import subprocess, sys, time
sleep = [sys.executable, '-c', 'import time; time.sleep(300)']
print(subprocess.Popen(sleep, start_new_session=True).pid, flush=True)
time.sleep(300)
"""
PARENT = [sys.executable, "-c", MOTHER]


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[LabDirectory]:
    lab = LabDirectory(tmp_path)
    yield lab
    processes.stop_everything(lab, asked=[])


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "did not become true within 20 s"
        time.sleep(0.02)


def test_a_started_process_is_recorded_and_alive(lab: LabDirectory) -> None:
    record = processes.start(lab, "one", SLEEP, ENVIRONMENT)
    assert processes.recorded(lab) == {"one": record}
    assert processes.alive(record)
    assert os.getpgid(record.pid) == record.pid


def test_output_goes_to_the_log(lab: LabDirectory) -> None:
    processes.start(lab, "one", [sys.executable, "-c", "print('hello')"], ENVIRONMENT)
    eventually(lambda: "hello" in lab.log("one").read_text())


def test_a_number_that_another_process_has_by_now_is_not_alive(lab: LabDirectory) -> None:
    record = processes.start(lab, "one", SLEEP, ENVIRONMENT)
    assert not processes.alive(processes.Record("one", record.pid, record.created - 100))


def test_everything_ends_also_children_in_groups_of_their_own(lab: LabDirectory) -> None:
    processes.start(lab, "parent", PARENT, ENVIRONMENT)
    eventually(lambda: lab.log("parent").read_text().strip() != "")
    child = psutil.Process(int(lab.log("parent").read_text()))
    assert processes.stop_everything(lab, asked=["parent"]) == 2
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE
    assert processes.everything(lab) == []
    assert processes.recorded(lab) == {}


def test_a_process_without_a_record_is_found_by_its_mark(lab: LabDirectory) -> None:
    record = processes.start(lab, "one", SLEEP, ENVIRONMENT)
    (lab.run / "one.json").unlink()
    assert processes.stop_everything(lab, asked=[]) == 1
    assert not processes.alive(record)


def test_one_that_does_not_listen_is_killed(lab: LabDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_GRACE_SECONDS", 0.3)
    record = processes.start(lab, "stubborn", STUBBORN, ENVIRONMENT)
    eventually(lambda: "deaf" in lab.log("stubborn").read_text())
    processes.stop_everything(lab, asked=["stubborn"])
    assert not processes.alive(record)


def test_another_lab_s_processes_stay(lab: LabDirectory, tmp_path: Path) -> None:
    other = LabDirectory(tmp_path / "other")
    record = processes.start(other, "one", SLEEP, ENVIRONMENT)
    try:
        assert processes.stop_everything(lab, asked=[]) == 0
        assert processes.alive(record)
    finally:
        processes.stop_everything(other, asked=[])


def test_frozen_it_stands_still_and_thawed_it_goes_on(lab: LabDirectory) -> None:
    record = processes.start(lab, "one", SLEEP, ENVIRONMENT)
    found = processes.everything(lab)
    assert [process.pid for process in found] == [record.pid], "a process is found as soon as it is started"
    processes.freeze(found)
    assert psutil.Process(record.pid).status() == psutil.STATUS_STOPPED
    processes.thaw(processes.everything(lab))
    eventually(lambda: psutil.Process(record.pid).status() != psutil.STATUS_STOPPED)


def test_a_frozen_process_can_be_ended(lab: LabDirectory) -> None:
    record = processes.start(lab, "one", SLEEP, ENVIRONMENT)
    processes.freeze(processes.everything(lab))
    processes.stop_everything(lab, asked=["one"])
    assert not processes.alive(record)


def test_a_program_that_is_not_there_is_a_clear_failure(lab: LabDirectory) -> None:
    with pytest.raises(LabError, match=r"one cannot be started: /no/such/program"):
        processes.start(lab, "one", ["/no/such/program"], ENVIRONMENT)


def test_run_passes_lines_on_and_returns_the_code(lab: LabDirectory) -> None:
    lines: list[str] = []
    script = "import sys; print('a'); print('b', file=sys.stderr); sys.stdout.write('no end'); sys.exit(3)"
    assert processes.run(lab, "tool", [sys.executable, "-c", script], ENVIRONMENT, lines.append) == 3
    assert sorted(lines) == sorted(["b", "a", "no end"])
    lines.clear()
    processes.run(lab, "tool", [sys.executable, "-c", "print('second')"], ENVIRONMENT, lines.append)
    assert lines == ["second"]


def test_run_interrupted_leaves_no_process(lab: LabDirectory) -> None:
    def interrupt(_line: str) -> None:
        raise KeyboardInterrupt

    script = "import time; print('begun', flush=True); time.sleep(300)"
    with pytest.raises(KeyboardInterrupt):
        processes.run(lab, "tool", [sys.executable, "-c", script], ENVIRONMENT, interrupt)
    assert processes.everything(lab) == []
