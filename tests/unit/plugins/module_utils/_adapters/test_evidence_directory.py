# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The evidence folder: it exists, is closed to others, and is written for good."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.evidence_directory import (
    checked_directory,
    checked_name,
    locked,
    read_regular,
    write_new,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import (
    InputError,
    ObservationError,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "evidence"
    path.mkdir(mode=0o700)
    return path


def test_a_closed_folder_is_fine(folder: Path) -> None:
    assert checked_directory(folder) == folder
    assert checked_directory(str(folder)) == folder


@pytest.mark.parametrize("mode", [0o710, 0o701, 0o755, 0o770, 0o777, 0o704])
def test_a_folder_that_others_reach_is_refused_with_the_command_that_closes_it(
    folder: Path, mode: int
) -> None:
    folder.chmod(mode)
    with pytest.raises(InputError) as raised:
        checked_directory(folder)
    assert raised.value.code == "evidence-dir-open"
    assert f"chmod 0700 {folder}" in raised.value.next_action


def test_a_folder_that_is_missing_or_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "absent", tmp_path / "file", ""):
        with pytest.raises(InputError) as raised:
            checked_directory(path)
        assert raised.value.code == "evidence-dir-missing"
    assert not (tmp_path / "absent").exists()


@pytest.mark.parametrize("name", ["gpu-res-lab-1", "01J8Z", "a.json"])
def test_names(name: str) -> None:
    assert checked_name("record", name) == name


@pytest.mark.parametrize("name", ["", ".", "..", ".hidden", "a/b", "a b", "-x", "a\n", "ä", "x" * 121])
def test_names_that_lead_elsewhere(name: str) -> None:
    with pytest.raises(InputError) as raised:
        checked_name("record", name)
    assert raised.value.code == "evidence-name-invalid"


def test_a_file_is_new_and_closed_whatever_the_umask(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_new(folder / "a", b"1")
    assert (folder / "a").stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        write_new(folder / "a", b"2")
    (folder / "link").symlink_to(folder / "target")
    with pytest.raises(FileExistsError):
        write_new(folder / "link", b"2")
    assert (folder / "a").read_bytes() == b"1"


def test_links_are_not_read_through(folder: Path) -> None:
    write_new(folder / "a", b"1")
    (folder / "link").symlink_to(folder / "a")
    assert read_regular(folder / "a") == b"1"
    for path in (folder / "link", folder / "absent", folder):
        with pytest.raises(ObservationError) as raised:
            read_regular(path)
        assert raised.value.code == "evidence-unreadable"


def test_the_lock_is_let_go(folder: Path) -> None:
    for _ in range(2):
        with locked(folder):
            pass
