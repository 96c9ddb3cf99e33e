# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab's lines: two writers add to one file, and private files are private."""

from __future__ import annotations

import stat
from pathlib import Path

from lab.platform import environment


def test_lines_of_two_writers_stand_side_by_side(tmp_path: Path) -> None:
    environment.merge(tmp_path, {"A": "1", "B": "2"})
    environment.merge(tmp_path, {"B": "x=y", "C": "3"})
    assert environment.read(tmp_path) == {"A": "1", "B": "x=y", "C": "3"}


def test_nothing_there_is_no_lines(tmp_path: Path) -> None:
    assert environment.read(tmp_path) == {}


def test_private_files_are_private_even_over_an_open_one(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("old and longer")
    path.chmod(0o644)
    environment.private_file(path, "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
