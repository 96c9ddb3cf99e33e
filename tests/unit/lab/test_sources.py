# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The key of a lab's content."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.sources import fixture_key


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in ("lab/fixture/nodes.yaml", "lab/platform/fleet.py", "roles/platform/tasks/main.yml"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "playbooks").mkdir()
    (tmp_path / "playbooks" / "install.yml").write_text("x")
    return tmp_path


@pytest.mark.parametrize(
    "name",
    [
        "lab/fixture/nodes.yaml",
        "lab/fixture/new.yaml",
        "lab/platform/fleet.py",
        "roles/platform/tasks/main.yml",
        "playbooks/install.yml",
    ],
)
def test_whatever_decides_the_content_changes_it(checkout: Path, name: str) -> None:
    before = fixture_key(checkout)
    (checkout / name).write_text("y")
    assert fixture_key(checkout) != before


def test_compiled_files_and_other_folders_do_not(checkout: Path) -> None:
    before = fixture_key(checkout)
    (checkout / "lab" / "platform" / "fleet.pyc").write_bytes(b"0")
    (checkout / "playbooks" / "assign.yml").write_text("y")
    assert fixture_key(checkout) == before


def test_an_empty_checkout_has_a_key(tmp_path: Path) -> None:
    assert fixture_key(tmp_path) == fixture_key(tmp_path)
