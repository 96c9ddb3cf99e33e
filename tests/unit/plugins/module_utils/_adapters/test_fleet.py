# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The repository as callers see it."""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters import callsites
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.fleet import FleetRepository
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import (
    ConflictError,
    InputError,
    ObservationError,
)

from .scripted_server import ScriptedServer


class Recording:
    def __init__(self) -> None:
        self.sites: list[str] = []

    def reached(self, site: str) -> None:
        self.sites.append(site)


def test_several_branches_are_read_as_one_fetch_found_them(fleet: FleetRepository) -> None:
    lock = fleet.commit("gpu-lock/lab", "", {"lock.yaml": b"{}"}, "lock")
    watcher = Recording()
    with callsites.watched_by(watcher):
        trees = fleet.read_all({"main": ["a"], "gpu-lock/lab": ["lock.yaml"], "none": ["x"]})
    assert trees["gpu-lock/lab"].revision == lock
    assert trees["main"].files[0].content == b"1\n"
    assert trees["none"].revision == ""
    assert watcher.sites == ["fleet fetch", "fleet fetch answered"]


def test_a_proposal_stands_upon_the_fleet_branch_and_leaves_it_alone(
    fleet: FleetRepository, bare: Path
) -> None:
    read = fleet.read(["a"]).revision
    made = fleet.propose(
        "gpu-proposal/lab-1", "", {"b": b"2"}, "proposal", upon_branch="main", upon_revision=read
    )
    parent = subprocess.run(
        ["git", f"--git-dir={bare}", "rev-parse", "gpu-proposal/lab-1^"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    assert parent == read
    assert fleet.tips(["main", "gpu-proposal/lab-1"]) == {"main": read, "gpu-proposal/lab-1": made}


def test_a_proposal_upon_a_moved_branch_is_a_conflict(fleet: FleetRepository, other: FleetRepository) -> None:
    read = fleet.read(["a"]).revision
    other.commit("main", read, {"a": b"2"}, "moved")
    with pytest.raises(ConflictError):
        fleet.propose("proposal", "", {"b": b"2"}, "proposal", upon_branch="main", upon_revision=read)
    assert fleet.tips(["proposal"]) == {"proposal": ""}


def test_a_persons_checkout_as_the_repository_stays_as_it_is(
    fleet: FleetRepository, bare: Path, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    subprocess.run(["git", "clone", "-q", str(bare), str(work)], check=True)
    (work / "a").write_text("edited, not committed\n")
    theirs = FleetRepository(str(work), cache_dir=tmp_path / "third")
    assert theirs.read(["a"]).files[0].content == b"1\n"
    theirs.commit("side", "", {"b": b"1"}, "another branch")
    assert (work / "a").read_text() == "edited, not committed\n"
    assert not (work / "b").exists()


def test_names_of_branches_are_checked_before_anything_runs(bare: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        FleetRepository(str(bare), "--upload-pack=x", tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_nothing_of_git_shows_a_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arguments of every process that is started, and the clone's files."""
    seen: list[str] = []
    starting = subprocess.Popen.__init__

    def spied(self: subprocess.Popen[bytes], arguments: list[str], **options: object) -> None:
        seen.append(" ".join(arguments))
        starting(self, arguments, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess.Popen, "__init__", spied)
    fleet = FleetRepository("http://robot:hunter2@127.0.0.1:9/fleet.git", cache_dir=tmp_path / "c")
    with pytest.raises(Exception, match=r"fleet\.git"):
        fleet.read(["a"])
    assert seen
    assert "hunter2" not in " ".join(seen) + repr(fleet) + fleet.shown
    files = [path for path in (tmp_path / "c").rglob("*") if path.is_file()]
    assert b"hunter2" not in b"".join(path.read_bytes() for path in files)


def test_a_password_is_sent_to_the_server(server: ScriptedServer, tmp_path: Path) -> None:
    address = server.url.replace("//", "//robot:hunter2@") + "/fleet.git"
    with pytest.raises(ObservationError):
        FleetRepository(address, cache_dir=tmp_path / "c").read(["a"])
    sent = {asked.headers.get("authorization") for asked in server.asked}
    assert sent == {"Basic " + base64.b64encode(b"robot:hunter2").decode()}
