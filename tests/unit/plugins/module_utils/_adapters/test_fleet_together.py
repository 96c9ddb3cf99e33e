# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Several branches move together or not at all, on a real repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.fleet import (
    BranchChange,
    FleetRepository,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import (
    ConflictError,
    PolicyBlocked,
)

LOCK = "gpu-lock/lab"


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    path = tmp_path / "fleet.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(path)], check=True)
    return path


@pytest.fixture
def fleet(bare: Path, tmp_path: Path) -> FleetRepository:
    fleet = FleetRepository(str(bare), cache_dir=tmp_path / "cache")
    fleet.commit("main", "", {"a": b"1"}, "first")
    return fleet


def tips(fleet: FleetRepository) -> dict[str, str]:
    return fleet.tips(["main", LOCK])


def test_both_branches_move(fleet: FleetRepository) -> None:
    before = tips(fleet)
    made = fleet.commit_together(
        {
            "main": BranchChange(before["main"], {"a": b"2"}),
            LOCK: BranchChange("", {"lock.yaml": b"pools: {}\n"}),
        },
        "both",
    )
    assert tips(fleet) == made
    assert made["main"] != before["main"]
    assert fleet.read(["a"]).files[0].content == b"2"


@pytest.mark.parametrize("moved", ["main", LOCK])
def test_neither_moves_when_one_was_moved_by_somebody_else(
    fleet: FleetRepository, bare: Path, tmp_path: Path, moved: str
) -> None:
    fleet.commit(LOCK, "", {"lock.yaml": b"pools: {}\n"}, "lock")
    read = tips(fleet)
    other = FleetRepository(str(bare), cache_dir=tmp_path / "other")
    theirs = other.commit(moved, read[moved], {"theirs": b"x"}, "somebody else")
    changes = {
        "main": BranchChange(read["main"], {"a": b"2"}),
        LOCK: BranchChange(read[LOCK], {"lock.yaml": b"pools: {a: 1}\n"}),
    }
    with pytest.raises(ConflictError) as caught:
        fleet.commit_together(changes, "both")
    assert caught.value.code == "fleet-moved"
    assert tips(fleet) == {**read, moved: theirs}


@pytest.mark.parametrize("refused", ["main", LOCK])
def test_neither_moves_when_a_hook_refuses_one(fleet: FleetRepository, bare: Path, refused: str) -> None:
    fleet.commit(LOCK, "", {"lock.yaml": b"pools: {}\n"}, "lock")
    read = tips(fleet)
    hook = bare / "hooks" / "update"
    hook.write_text(f'#!/bin/sh\n[ "$1" != "refs/heads/{refused}" ] || {{ echo protected; exit 1; }}\n')
    hook.chmod(0o755)
    changes = {
        "main": BranchChange(read["main"], {"a": b"2"}),
        LOCK: BranchChange(read[LOCK], {"lock.yaml": b"pools: {a: 1}\n"}),
    }
    with pytest.raises(PolicyBlocked) as caught:
        fleet.commit_together(changes, "both")
    assert caught.value.code == "push-refused"
    assert "protected" in caught.value.message
    assert tips(fleet) == read


def test_nothing_to_change_pushes_nothing(fleet: FleetRepository) -> None:
    read = tips(fleet)
    made = fleet.commit_together({"main": BranchChange(read["main"], {"a": b"1"})}, "again")
    assert made == {"main": read["main"]}
    assert tips(fleet) == read


def test_a_branch_that_always_moves_makes_earlier_readers_lose(
    fleet: FleetRepository, bare: Path, tmp_path: Path
) -> None:
    fleet.commit(LOCK, "", {"lock.yaml": b"pools: {}\n"}, "lock")
    read = tips(fleet)
    fleet.commit_together(
        {
            "main": BranchChange(read["main"], {"a": b"2"}),
            LOCK: BranchChange(read[LOCK], {"lock.yaml": b"pools: {}\n"}, always=True),
        },
        "touch",
    )
    other = FleetRepository(str(bare), cache_dir=tmp_path / "other")
    with pytest.raises(ConflictError):
        other.commit(LOCK, read[LOCK], {"lock.yaml": b"pools: {a: 1}\n"}, "too late")
