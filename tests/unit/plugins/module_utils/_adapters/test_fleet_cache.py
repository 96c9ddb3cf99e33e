# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The clone in the cache: one user at a time, replaced when damaged, never a person's checkout."""

from __future__ import annotations

import inspect
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.fleet import FleetRepository
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.fleet_cache import (
    default_cache_dir,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import (
    InputError,
    ObservationError,
)


def clone_of(cache: Path) -> Path:
    return next(cache.glob("*/clone.git"))


def content(fleet: FleetRepository) -> bytes:
    return fleet.read(["a"]).files[0].content


def test_the_default_is_the_users_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache_dir().is_relative_to(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert default_cache_dir().is_relative_to(Path("~/.cache").expanduser())


def test_the_cache_is_for_its_owner_alone(fleet: FleetRepository, tmp_path: Path) -> None:
    assert content(fleet)
    assert next((tmp_path / "cache").iterdir()).stat().st_mode & 0o077 == 0


def test_every_use_sees_what_others_pushed_meanwhile(fleet: FleetRepository, other: FleetRepository) -> None:
    assert content(fleet) == b"1\n"
    other.commit("main", other.read(["a"]).revision, {"a": b"2\n"}, "second")
    assert content(fleet) == b"2\n"


def test_a_branch_that_is_gone_is_gone_here_too(
    fleet: FleetRepository, other: FleetRepository, bare: Path
) -> None:
    other.commit("side/one", "", {"b": b"1"}, "side")
    assert fleet.tips(["side/one"])["side/one"]
    subprocess.run(["git", f"--git-dir={bare}", "update-ref", "-d", "refs/heads/side/one"], check=True)
    other.commit("side", "", {"b": b"1"}, "a branch where a folder of branches was")
    tips = fleet.tips(["side/one", "side"])
    assert tips["side/one"] == ""
    assert tips["side"]


def test_an_unreachable_repository_is_named_without_its_password(tmp_path: Path) -> None:
    fleet = FleetRepository("http://robot:hunter2@127.0.0.1:9/fleet.git", cache_dir=tmp_path / "c")
    with pytest.raises(ObservationError) as raised:
        fleet.read(["a"])
    assert raised.value.code == "fleet-unreachable"
    assert "127.0.0.1:9/fleet.git" in raised.value.message
    assert "hunter2" not in raised.value.message


def test_a_repository_that_vanished_is_unreachable_and_not_empty(fleet: FleetRepository, bare: Path) -> None:
    assert content(fleet)
    shutil.rmtree(bare)
    with pytest.raises(ObservationError) as raised:
        fleet.read(["a"])
    assert raised.value.code == "fleet-unreachable"


def truncate_pack_or_object(clone: Path) -> None:
    for path in (clone / "objects").rglob("*"):
        if path.is_file():
            path.chmod(0o644)
            path.write_bytes(path.read_bytes()[:5])


def flip_a_byte_of_every_object(clone: Path) -> None:
    for path in (clone / "objects").rglob("*"):
        if path.is_file():
            raw = bytearray(path.read_bytes())
            raw[len(raw) // 2] ^= 0xFF
            path.chmod(0o644)
            path.write_bytes(bytes(raw))


def remove_objects(clone: Path) -> None:
    shutil.rmtree(clone / "objects")
    (clone / "objects").mkdir()


def leave_a_reference_lock(clone: Path) -> None:
    # What a killed git leaves. The branch has to move for the lock to be in the way.
    folder = clone / "refs" / "remotes" / "origin"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "main.lock").touch()
    (clone / "packed-refs.lock").touch()


def empty_the_config(clone: Path) -> None:
    (clone / "config").write_bytes(b"")


def forget_that_it_was_complete(clone: Path) -> None:
    (clone / "complete").unlink()


@pytest.mark.parametrize(
    "damage",
    [
        truncate_pack_or_object,
        flip_a_byte_of_every_object,
        remove_objects,
        leave_a_reference_lock,
        empty_the_config,
        forget_that_it_was_complete,
        shutil.rmtree,
    ],
)
def test_a_damaged_clone_is_replaced(
    fleet: FleetRepository, other: FleetRepository, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    assert content(fleet) == b"1\n"
    damage(clone_of(tmp_path / "cache"))
    other.commit("main", other.read(["a"]).revision, {"a": b"2\n"}, "second")
    assert content(fleet) == b"2\n"
    revision = fleet.commit("main", fleet.read(["a"]).revision, {"a": b"3\n"}, "third")
    assert other.read(["a"]).revision == revision


def test_an_altered_content_is_noticed_although_git_reads_it(
    fleet: FleetRepository, bare: Path, tmp_path: Path
) -> None:
    """Git does not compare a loose object with its name when it reads it; we do."""
    oid = subprocess.run(
        ["git", f"--git-dir={bare}", "rev-parse", "main:a"], check=True, capture_output=True, text=True
    ).stdout.strip()
    fleet.read(["a"])
    clone = clone_of(tmp_path / "cache")
    forged = subprocess.run(
        ["git", f"--git-dir={clone}", "hash-object", "-w", "--stdin"],
        input=b"9\n", check=True, capture_output=True,
    ).stdout.decode().strip()  # fmt: skip
    objects = clone / "objects"
    for pack in (objects / "pack").iterdir():
        pack.unlink()
    subprocess.run(
        ["git", f"--git-dir={clone}", "-c", "transfer.unpackLimit=1000", "fetch", "-q", str(bare), "main"],
        check=False,
    )
    target = objects / oid[:2] / oid[2:]
    target.parent.mkdir(exist_ok=True)
    target.unlink(missing_ok=True)
    shutil.copy(objects / forged[:2] / forged[2:], target)
    assert content(fleet) == b"1\n"


def test_a_damaged_clone_that_cannot_be_replaced_stops(
    fleet: FleetRepository, bare: Path, tmp_path: Path
) -> None:
    fleet.read(["a"])
    remove_objects(clone_of(tmp_path / "cache"))
    shutil.rmtree(bare)
    with pytest.raises(ObservationError) as raised:
        fleet.read(["a"])
    assert raised.value.code == "fleet-unreachable"


def test_leftovers_of_killed_runs_are_cleared(fleet: FleetRepository, tmp_path: Path) -> None:
    home = next((tmp_path / "cache").iterdir())
    (home / "new-killed").mkdir()
    (home / "new-killed" / "HEAD").touch()
    fleet.read(["a"])
    assert not (home / "new-killed").exists()


def test_a_cache_folder_that_cannot_be_made_is_the_requests_fault(bare: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    fleet = FleetRepository(str(bare), cache_dir=tmp_path / "file" / "cache")
    with pytest.raises(InputError) as raised:
        fleet.read(["a"])
    assert raised.value.code == "fleet-cache-unusable"


def test_many_threads_and_clones_at_once(bare: Path, fleet: FleetRepository, tmp_path: Path) -> None:
    revision = fleet.read(["a"]).revision
    seen: list[str] = []

    def read() -> None:
        seen.append(FleetRepository(str(bare), cache_dir=tmp_path / "shared").read(["a"]).revision)

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [revision] * 8


READ_FOR_EVER = """
import sys
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.fleet import FleetRepository
fleet = FleetRepository(sys.argv[1], cache_dir=sys.argv[2])
print("ready", flush=True)
while True:
    fleet.read(["a"])
"""


@pytest.mark.parametrize("moment", range(6))
def test_a_run_killed_while_it_fetches_leaves_nothing_in_the_way(
    bare: Path, fleet: FleetRepository, other: FleetRepository, tmp_path: Path, moment: int
) -> None:
    shared = tmp_path / "shared"
    collections = Path(inspect.getfile(FleetRepository)).parents[6]
    environment = {**os.environ, "PYTHONPATH": str(collections)}
    victim = subprocess.Popen(
        [sys.executable, "-c", READ_FOR_EVER, str(bare), str(shared)],
        env=environment, stdout=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    try:
        assert victim.stdout is not None
        assert victim.stdout.readline() == b"ready\n"
        revision = other.read(["a"]).revision
        until = time.monotonic() + 0.02 + 0.04 * moment
        number = 0
        while time.monotonic() < until or not number:
            number += 1
            revision = other.commit("main", revision, {"a": b"%d-%d" % (moment, number)}, "moving on")
    finally:
        os.killpg(victim.pid, signal.SIGKILL)
        victim.wait()
        if victim.stdout is not None:
            victim.stdout.close()
    tree = FleetRepository(str(bare), cache_dir=shared).read(["a"])
    assert tree.revision == revision
    assert tree.files[0].content == b"%d-%d" % (moment, number)
