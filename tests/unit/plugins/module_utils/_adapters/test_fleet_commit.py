# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Commits are built without a working tree, and change nothing but what was asked."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.fleet import FleetRepository
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.fleet_commit import CommitIdentity
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import InputError


def shown(bare: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", f"--git-dir={bare}", *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def test_identity_time_and_message_are_as_given(fleet: FleetRepository, bare: Path) -> None:
    who = CommitIdentity("Desk Ö", "desk@example.com", "2026-11-02T09:00:00Z")
    fleet.commit("main", fleet.read(["a"]).revision, {"a": b"2\n"}, "why ü\n\nbody\n", identity=who)
    facts = shown(bare, "log", "-1", "--format=%an|%ae|%aI|%cn|%ce|%cI|%B", "main")
    instant = "2026-11-02T09:00:00+00:00"
    assert facts.replace("Z", "+00:00") == (
        f"Desk Ö|desk@example.com|{instant}|Desk Ö|desk@example.com|{instant}|why ü\n\nbody"
    )


def test_an_executable_file_stays_one_and_others_stay_untouched(
    fleet: FleetRepository, bare: Path, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    subprocess.run(["git", "clone", "-q", str(bare), str(work)], check=True)
    (work / "run").write_text("#!/bin/sh\n")
    (work / "run").chmod(0o755)
    (work / "crlf").write_bytes(b"a\r\nb\r\n")
    commands = [
        ["add", "-A"],
        ["-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "x"],
        ["push", "-q"],
    ]
    for command in commands:
        subprocess.run(["git", "-C", str(work), *command], check=True)
    before = fleet.read(["run", "crlf", "a"])
    fleet.commit("main", before.revision, {"run": b"#!/bin/sh\nexit\n", "new/deep/file": b""}, "change")
    after = {file.path: file for file in fleet.read(["run", "crlf", "a", "new"]).files}
    assert (after["run"].mode, after["run"].content) == ("100755", b"#!/bin/sh\nexit\n")
    assert after["crlf"] == before.file("crlf")
    assert after["a"] == before.file("a")
    assert after["new/deep/file"].mode == "100644"


def test_a_change_that_changes_nothing_makes_no_commit(fleet: FleetRepository) -> None:
    revision = fleet.read(["a"]).revision
    assert fleet.commit("main", revision, {"a": b"1\n", "never-there": None}, "again") == revision
    assert fleet.read(["a"]).revision == revision


def test_the_last_file_can_go(fleet: FleetRepository) -> None:
    fleet.commit("main", fleet.read(["a"]).revision, {"a": None}, "empty")
    assert fleet.read(["a"]).files == ()


def test_nothing_is_filtered_on_the_way(fleet: FleetRepository) -> None:
    raw = bytes(range(256)) + b"\r\n\xef\xbb\xbf"
    attributes = b"* text=auto eol=lf working-tree-encoding=UTF-16 ident\n"
    fleet.commit("main", fleet.read(["a"]).revision, {"b": raw, ".gitattributes": attributes}, "bytes")
    assert fleet.read(["b"]).files[0].content == raw


@pytest.mark.parametrize(
    "path",
    ["", "/a", "a/", "a//b", "../a", "a/../b", "./a", ".git/config", "x/.GIT/y", "a\nb", "a\0b", ":(top)a"],
)
def test_paths_that_lead_elsewhere_are_refused(fleet: FleetRepository, path: str) -> None:
    revision = fleet.read(["a"]).revision
    with pytest.raises(InputError) as raised:
        fleet.commit("main", revision, {path: b"x"}, "no")
    assert raised.value.code == "fleet-path-invalid"
    assert fleet.read(["a"]).revision == revision


def test_a_file_below_a_file_is_refused(fleet: FleetRepository) -> None:
    revision = fleet.read(["a"]).revision
    with pytest.raises(InputError) as raised:
        fleet.commit("main", revision, {"a/b": b"x"}, "no")
    assert raised.value.code == "fleet-path-invalid"
    assert fleet.read(["a"]).revision == revision


def test_a_link_is_not_written_through(fleet: FleetRepository, bare: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    subprocess.run(["git", "clone", "-q", str(bare), str(work)], check=True)
    (work / "link").symlink_to("a")
    for command in [
        ["add", "-A"],
        ["-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "x"],
        ["push", "-q"],
    ]:
        subprocess.run(["git", "-C", str(work), *command], check=True)
    with pytest.raises(InputError) as raised:
        fleet.commit("main", fleet.read(["a"]).revision, {"link": b"x"}, "no")
    assert "a symbolic link" in raised.value.message


def test_a_commit_needs_a_message(fleet: FleetRepository) -> None:
    with pytest.raises(InputError) as raised:
        fleet.commit("main", fleet.read(["a"]).revision, {"a": b"2"}, " \n")
    assert raised.value.code == "commit-message-empty"
