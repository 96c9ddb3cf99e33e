# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One command at a time."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from lab.directory import LabDirectory
from lab.occupied import occupied
from lab.progress import Progress


def test_a_second_command_waits_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lab = LabDirectory(tmp_path / "new")
    order: list[str] = []

    def second() -> None:
        with occupied(lab, Progress()):
            order.append("second")

    with occupied(lab, Progress()):
        thread = threading.Thread(target=second)
        thread.start()
        said = ""
        while "waiting for it" not in said:
            said += capsys.readouterr().out
            assert thread.is_alive()
        order.append("first")
    thread.join(timeout=20)
    assert order == ["first", "second"]
    assert lab.root.stat().st_mode & 0o777 == 0o700
