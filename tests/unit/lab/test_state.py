# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a lab remembers."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab import state
from lab.directory import LabDirectory
from lab.state import State


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    lab = LabDirectory(tmp_path)
    known = State(embedded=True, bare=False, complete=True, fixture="abc", ports={"etcd": 20001})
    state.save(lab, known)
    assert state.load(lab) == known


@pytest.mark.parametrize("content", ["", "{", "[]", '{"embedded": true}', '{"more": 1}'])
def test_a_file_that_makes_no_sense_is_no_lab(tmp_path: Path, content: str) -> None:
    lab = LabDirectory(tmp_path)
    lab.state.write_text(content)
    assert state.load(lab) is None


def test_no_file_is_no_lab(tmp_path: Path) -> None:
    assert state.load(LabDirectory(tmp_path)) is None
