# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Trees, contents and histories as they stand in the repository."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.fleet import FleetRepository
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.fleet_objects import (
    checked_branch,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.git_program import (
    GitAnswer,
    GitProgram,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import (
    InputError,
    ObservationError,
)


def git(bare: Path, *arguments: str, stdin: bytes = b"") -> str:
    done = subprocess.run(
        ["git", f"--git-dir={bare}", *arguments], input=stdin, check=True, capture_output=True
    )
    return done.stdout.decode().strip()


def test_a_tree_has_modes_bytes_and_only_the_folders_asked_for(fleet: FleetRepository, bare: Path) -> None:
    blob = git(bare, "hash-object", "-w", "--stdin", stdin=b"\xff\x00")
    link = git(bare, "hash-object", "-w", "--stdin", stdin=b"target")
    inner = git(
        bare,
        "mktree",
        "-z",
        "--missing",
        stdin=(
            f"100755 blob {blob}\trun\0"
            f"120000 blob {link}\tlink\0"
            f"160000 commit {fleet.read(['a']).revision}\tmodule\0"
            f'100644 blob {link}\tnäme "x"\nz\0'
        ).encode(),
    )
    tree = git(bare, "mktree", stdin=f"040000 tree {inner}\tone\n040000 tree {inner}\tone-more\n".encode())
    who = {
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a",
    }
    commit = subprocess.run(
        ["git", f"--git-dir={bare}", "commit-tree", "-m", "x", tree],
        check=True, capture_output=True, text=True, env={**os.environ, **who},
    ).stdout.strip()  # fmt: skip
    git(bare, "update-ref", "refs/heads/main", commit)
    found = fleet.read(["one/", "absent"])
    assert found.revision == commit
    assert [(file.path, file.mode, file.content) for file in found.files] == [
        ("one/link", "120000", b"target"),
        ("one/module", "160000", b""),
        ('one/näme "x"\nz', "100644", b"target"),
        ("one/run", "100755", b"\xff\x00"),
    ]


def test_a_file_can_be_asked_for_by_name(fleet: FleetRepository) -> None:
    assert [file.path for file in fleet.read(["a"]).files] == ["a"]


def test_a_name_that_is_not_utf8_is_said(fleet: FleetRepository, bare: Path) -> None:
    blob = git(bare, "rev-parse", "main:a")
    tree = git(bare, "mktree", "-z", stdin=b"100644 blob " + blob.encode() + b"\ta\xff\0")
    parent = git(bare, "rev-parse", "main")
    commit = git(
        bare, "-c", "user.name=x", "-c", "user.email=x", "commit-tree", "-p", parent, "-m", "x", tree
    )
    git(bare, "update-ref", "refs/heads/main", commit)
    with pytest.raises(ObservationError) as raised:
        fleet.read(["a\udcff"])
    assert raised.value.code == "fleet-path-unreadable"


def test_a_branch_that_does_not_exist_has_no_revision_and_the_fleet_branch_must(
    fleet: FleetRepository, bare: Path, tmp_path: Path
) -> None:
    assert fleet.read_branch("gpu-lock/lab", ["lock.yaml"]).revision == ""
    with pytest.raises(ObservationError) as raised:
        FleetRepository(str(bare), "trunk", tmp_path / "cache").read(["a"])
    assert raised.value.code == "fleet-branch-missing"
    assert "trunk" in raised.value.message


def test_history_tells_contents_removals_and_whole_messages(fleet: FleetRepository) -> None:
    first = fleet.read(["a"]).revision
    second = fleet.commit("main", first, {"a": b"2\n"}, "second\n\nwith a body")
    third = fleet.commit("main", second, {"b": b"1\n"}, "another file")
    fourth = fleet.commit("main", third, {"a": None}, "gone")
    history = fleet.history("main", "a")
    assert [(entry.revision, entry.content, entry.message) for entry in history] == [
        (fourth, None, "gone"),
        (second, b"2\n", "second\n\nwith a body"),
        (first, b"1\n", "first"),
    ]
    assert all(entry.time[10] == "T" for entry in history)
    assert [entry.revision for entry in fleet.history("main", "a", limit=1)] == [fourth]
    assert fleet.history("nowhere", "a") == []


def test_ancestors(fleet: FleetRepository) -> None:
    first = fleet.read(["a"]).revision
    second = fleet.commit("main", first, {"a": b"2\n"}, "second")
    assert fleet.is_ancestor(first, second)
    assert fleet.is_ancestor(second, second)
    assert not fleet.is_ancestor(second, first)
    with pytest.raises(ObservationError) as raised:
        fleet.is_ancestor("0" * 40, second)
    assert raised.value.code == "fleet-revision-unknown"


def test_many_files_are_read_by_two_programs(fleet: FleetRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    records = {
        f"gpu-reservations/lab/records/{number:04}.yaml": b"id: %d\n" % number for number in range(300)
    }
    fleet.commit("main", fleet.read(["a"]).revision, records, "many")
    started: list[str] = []
    running = GitProgram.run

    def counted(self: GitProgram, arguments: Sequence[str], **options: Any) -> GitAnswer:
        started.append(arguments[0])
        return running(self, arguments, **options)

    monkeypatch.setattr(GitProgram, "run", counted)
    assert len(fleet.read(["gpu-reservations"]).files) == 300
    assert started.count("ls-tree") == started.count("cat-file") == 1
    assert len(started) <= 5


@pytest.mark.parametrize("name", ["main", "gpu-lock/eu--one", "release-1.2"])
def test_names_of_branches(name: str) -> None:
    assert checked_branch(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "-d",
        "a..b",
        "a b",
        "a~1",
        "a:b",
        "/a",
        "a/",
        "a//b",
        ".a",
        "a/.b",
        "a.lock",
        "a@{1}",
        "a\x00",
        "a*",
        "a.",
    ],
)
def test_what_cannot_name_a_branch(name: str) -> None:
    with pytest.raises(InputError) as raised:
        checked_branch(name)
    assert raised.value.code == "fleet-branch-invalid"
