# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The git program runs in an environment of ours, without prompts, and not for ever."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.git_program import (
    GitProgram,
    masked,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import ObservationError


@pytest.fixture
def git(bare: Path) -> GitProgram:
    return GitProgram(bare)


def test_variables_that_point_git_elsewhere_are_not_passed_on(
    git: GitProgram, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(tmp_path / "objects"))
    monkeypatch.setenv("GIT_TRACE", "1")
    answer = git.run(["-c", "alias.environment=!env", "environment"])
    names = {line.split("=", 1)[0] for line in answer.text.splitlines()}
    assert not {"GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_TRACE"} & names
    assert "GIT_TERMINAL_PROMPT=0" in answer.text
    assert str(tmp_path / "elsewhere") not in answer.text


def test_hooks_of_the_person_do_not_run(git: GitProgram) -> None:
    assert git.run(["config", "core.hooksPath"]).text == "/dev/null"


def test_signing_in_is_passed_by_environment_and_not_shown(bare: Path) -> None:
    git = GitProgram(bare, {"GPUOPS_SECRET": "hunter2"})
    assert "hunter2" not in repr(git)
    assert "GPUOPS_SECRET=hunter2" in git.run(["-c", "alias.environment=!env", "environment"]).text


def test_git_that_hangs_is_ended_with_all_it_started(bare: Path, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    git = GitProgram(bare, timeout=0.5)
    begun = time.monotonic()
    with pytest.raises(ObservationError) as raised:
        git.run(["-c", f"alias.hang=!sleep 60 & echo $! > {pid_file}; wait", "hang"])
    assert raised.value.code == "git-timeout"
    assert time.monotonic() - begun < 20
    child = int(pid_file.read_text())
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(child)], capture_output=True, text=True, check=False
    )
    assert state.stdout.strip() in {"", "Z", "Zs", "ZN"}


def test_a_machine_without_git_is_told_so(
    git: GitProgram, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ObservationError) as raised:
        git.run(["status"])
    assert raised.value.code == "git-missing"
    assert "install git" in raised.value.next_action


def test_must_names_the_operation_and_the_clone(git: GitProgram) -> None:
    with pytest.raises(ObservationError) as raised:
        git.must(["cat-file", "-p", "0" * 40])
    assert raised.value.code == "fleet-cache-damaged"
    assert "cat-file" in raised.value.message
    assert str(git.directory) in raised.value.message


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://user:pw@example.com/x.git", "https://***@example.com/x.git"),
        ("fatal: https://ghp_abc@example.com: no", "fatal: https://***@example.com: no"),
        ("git@example.com:x.git", "git@example.com:x.git"),
        ("https://example.com/a@b", "https://example.com/a@b"),
    ],
)
def test_user_names_and_passwords_of_urls_are_masked(text: str, shown: str) -> None:
    assert masked(text) == shown


def test_locks_of_another_users_terminal_are_not_asked_for(git: GitProgram) -> None:
    """A program that git starts has no terminal to ask on."""
    answer = git.run(
        ["-c", "alias.ask=!test -t 0 || (echo x > /dev/tty) 2>/dev/null && echo asked || echo alone", "ask"]
    )
    assert answer.text == "alone"
    assert os.environ.get("GIT_TERMINAL_PROMPT") is None
