# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The saved fixture: what is saved is what comes back, and nothing else stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab import saved
from lab.directory import LabDirectory
from lab.errors import LabError


@pytest.fixture
def lab(tmp_path: Path) -> LabDirectory:
    lab = LabDirectory(tmp_path)
    (lab.etcd / "member").mkdir(parents=True)
    (lab.etcd / "member" / "db").write_text("fixture")
    lab.fleet.mkdir()
    (lab.fleet / "HEAD").write_text("main")
    (lab.fleet / "link").symlink_to("HEAD")
    lab.evidence.mkdir(mode=0o700)
    token = tmp_path / "backend-token"
    token.write_text("t")
    token.chmod(0o600)
    lab.kubeconfig("gpuops").write_text("now")
    return lab


def test_changes_are_undone_additions_vanish_and_modes_stay(lab: LabDirectory) -> None:
    saved.save(lab, [])
    (lab.etcd / "member" / "db").write_text("changed")
    (lab.etcd / "member" / "wal").write_text("more")
    (lab.fleet / "HEAD").write_text("other")
    (lab.fleet / "new").write_text("")
    (lab.evidence / "bundle").mkdir()
    (lab.root / "stray").mkdir()
    (lab.root / "backend-token").unlink()
    lab.kubeconfig("gpuops").write_text("later")
    saved.put_back(lab)
    assert (lab.etcd / "member" / "db").read_text() == "fixture"
    assert not (lab.etcd / "member" / "wal").exists()
    assert sorted(path.name for path in lab.fleet.iterdir()) == ["HEAD", "link"]
    assert (lab.fleet / "HEAD").read_text() == "main"
    assert (lab.fleet / "link").is_symlink()
    assert list(lab.evidence.iterdir()) == []
    assert lab.evidence.stat().st_mode & 0o777 == 0o700
    assert (lab.root / "backend-token").stat().st_mode & 0o777 == 0o600
    assert not (lab.root / "stray").exists()
    assert lab.kubeconfig("gpuops").read_text() == "later"


def test_it_can_be_put_back_again_and_again(lab: LabDirectory) -> None:
    saved.save(lab, [])
    for _ in range(2):
        (lab.etcd / "member" / "db").write_text("changed")
        saved.put_back(lab)
        assert (lab.etcd / "member" / "db").read_text() == "fixture"


def test_a_copy_that_broke_off_is_not_taken_for_a_saved_fixture(
    lab: LabDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_off(_source: Path, _target: Path) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(saved, "_copy", break_off)
    with pytest.raises(OSError, match="no space"):
        saved.save(lab, [])
    assert not lab.saved.exists()


def test_without_a_saved_fixture_nothing_is_removed(lab: LabDirectory) -> None:
    with pytest.raises(LabError, match="has no saved fixture"):
        saved.put_back(lab)
    assert (lab.etcd / "member" / "db").read_text() == "fixture"
    assert (lab.fleet / "HEAD").exists()
