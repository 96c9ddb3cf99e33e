# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The key of a build: it changes with whatever the programs depend on, and with nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.build_key import build_key, kubernetes_version
from lab.errors import LabError

SETTINGS = ("-tags=",)


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    (tmp_path / "go.mod").write_text("module m\n\nrequire (\n\tk8s.io/kubernetes v1.36.3\n)\n")
    (tmp_path / "go.sum").write_text("sum\n")
    (tmp_path / "main.go").write_text("package main\n")
    return tmp_path


def test_same_sources_same_key(sources: Path) -> None:
    before = build_key(sources, SETTINGS)
    (sources / "README.md").write_text("words")
    (sources / "main.go").touch()
    assert build_key(sources, SETTINGS) == before


@pytest.mark.parametrize("name", ["go.mod", "go.sum", "main.go"])
def test_a_changed_file_is_another_key(sources: Path, name: str) -> None:
    before = build_key(sources, SETTINGS)
    with (sources / name).open("a") as stream:
        stream.write("// more\n")
    assert build_key(sources, SETTINGS) != before


def test_a_new_source_file_is_another_key(sources: Path) -> None:
    before = build_key(sources, SETTINGS)
    (sources / "etcd.go").write_text("")
    assert build_key(sources, SETTINGS) != before


def test_other_settings_are_another_key(sources: Path) -> None:
    assert build_key(sources, ("-tags=a", "b")) != build_key(sources, ("-tags=ab",))


def test_the_release_is_what_go_mod_requires(sources: Path) -> None:
    assert kubernetes_version(sources) == "v1.36.3"


def test_a_go_mod_without_kubernetes_is_refused(sources: Path) -> None:
    (sources / "go.mod").write_text("module m\n")
    with pytest.raises(LabError, match=r"requires no k8s\.io/kubernetes"):
        kubernetes_version(sources)
