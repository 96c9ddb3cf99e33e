# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fleet follower: how the configuration file and its switches are read, and the branch."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from lab.platform import fleet


def test_environment_lines_as_kustomize_reads_them() -> None:
    text = '# comment\r\n\r\n  A=1\r\nB="two"\nC=x=y\nno line\nA=3\nD=\n'
    assert fleet.environment(text) == {"A": "3", "B": '"two"', "C": "x=y", "D": ""}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("false", False),
        ('"false"', False),
        ("False", "False"),
        ("0", "0"),
        ("", ""),
        (None, ""),
    ],
)
def test_switches(text: str | None, value: object) -> None:
    assert fleet.switch(text) == value
    assert isinstance(fleet.switch(text), bool) is isinstance(value, bool)


def test_branch_reads_files_at_a_commit(tmp_path: Path) -> None:
    repository = tmp_path / "fleet.git"
    branch = fleet.Branch(repository)
    assert branch.revision() is None
    subprocess.run(["git", "init", "-q", "--bare", str(repository)], check=True)
    assert branch.revision() is None
    commit = b"commit refs/heads/main\ncommitter a <a@b> 0 +0000\ndata 1\nx\n"
    stream = commit + b"M 100644 inline f\ndata 3\nabc\ndone\n"
    subprocess.run(["git", f"--git-dir={repository}", "fast-import", "--quiet"], input=stream, check=True)
    revision = branch.revision()
    assert revision is not None
    assert branch.file(revision, "f") == b"abc"
    assert branch.file(revision, "g") is None
