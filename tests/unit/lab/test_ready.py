# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting: until it holds, no longer than allowed, and not at all for a process that has ended."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import processes, ready
from lab.directory import LabDirectory
from lab.errors import LabError


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[LabDirectory]:
    lab = LabDirectory(tmp_path)
    yield lab
    processes.stop_everything(lab, asked=[])


def test_it_asks_until_the_answer_is_yes(lab: LabDirectory) -> None:
    answers = iter(["one missing", "still", None])
    ready.wait("things", lambda: next(answers), seconds=10, lab=lab)
    assert list(answers) == []


def test_out_of_time_it_says_what_was_missing_and_where_to_look(lab: LabDirectory) -> None:
    with pytest.raises(LabError, match="things: not within 0 s: two are missing") as failure:
        ready.wait("things", lambda: "two are missing", seconds=0, lab=lab)
    assert str(lab.logs) in failure.value.next_action


def test_a_process_that_ended_ends_the_wait_with_its_last_words(lab: LabDirectory) -> None:
    script = "import sys; sys.exit('port in use')"
    record = processes.start(lab, "server", [sys.executable, "-c", script], {"PATH": os.environ["PATH"]})
    begun = time.monotonic()
    with pytest.raises(LabError, match=r"(?s)server ended while things was waited for.*port in use"):
        ready.wait("things", lambda: "no answer", seconds=60, lab=lab, needs=[record])
    assert time.monotonic() - begun < 30


def test_the_tail_of_a_log(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    assert ready.tail(log) == "It wrote no log."
    log.write_text("".join(f"line {number}\n" for number in range(5000)))
    assert ready.tail(log, 2) == "The end of its log:\nline 4998\nline 4999"
