# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private files: mode, replacement in one step, nothing left over."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.private_file import write_private


def test_a_file_that_others_could_read_is_private_after_it_is_written_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "secret"
    write_private(path, b"one")
    path.chmod(0o644)
    write_private(path, b"two")
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_a_failure_leaves_the_old_content_and_no_other_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "secret"
    write_private(path, b"one")

    def refuse(_self: Path, _target: Path) -> Path:
        raise OSError("no space")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OSError, match="no space"):
        write_private(path, b"two")
    assert path.read_bytes() == b"one"
    assert list(tmp_path.iterdir()) == [path]
