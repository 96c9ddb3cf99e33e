# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pushes: lost races, refusals and lost connections are told apart, and nothing is ever forced."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters import fleet_push
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.fleet import FleetRepository
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.git_program import (
    GitAnswer,
    GitProgram,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.outcome_unknown import (
    OutcomeUnknown,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import (
    ConflictError,
    GpuopsError,
    ObservationError,
    PolicyBlocked,
)


def remote_tip(bare: Path, branch: str = "main") -> str:
    done = subprocess.run(
        ["git", f"--git-dir={bare}", "rev-parse", "-q", "--verify", branch],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip()


def hook(bare: Path, name: str, script: str) -> None:
    path = bare / "hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_of_two_who_read_the_same_one_loses(fleet: FleetRepository, other: FleetRepository) -> None:
    read = fleet.read(["a"]).revision
    won = other.commit("main", read, {"b": b"theirs"}, "theirs")
    with pytest.raises(ConflictError) as raised:
        fleet.commit("main", read, {"c": b"ours"}, "ours")
    assert raised.value.code == "fleet-moved"
    assert raised.value.details["now"] == won
    assert [file.path for file in fleet.read(["a", "b", "c"]).files] == ["a", "b"]


def test_of_many_at_once_exactly_one_wins_each_round(
    bare: Path, fleet: FleetRepository, tmp_path: Path
) -> None:
    read = fleet.read(["a"]).revision
    outcomes: list[str] = []
    ready = threading.Barrier(5)

    def race(number: int) -> None:
        mine = FleetRepository(str(bare), cache_dir=tmp_path / f"cache-{number}")
        mine.read(["a"])
        ready.wait()
        try:
            outcomes.append(mine.commit("main", read, {f"f{number}": b"x"}, f"by {number}"))
        except ConflictError as error:
            outcomes.append(error.code)

    threads = [threading.Thread(target=race, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count("fleet-moved") == 4
    assert remote_tip(bare) in outcomes


def test_a_race_lost_at_the_very_push_is_a_conflict(
    fleet: FleetRepository, other: FleetRepository, bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = fleet.read(["a"]).revision
    pushing = fleet_push._push
    theirs: list[str] = []

    def raced(git: GitProgram, *arguments: object, **options: object) -> GitAnswer:
        if not theirs:
            theirs.append("")
            theirs[0] = other.commit("main", read, {"b": b"theirs"}, "theirs")
        return pushing(git, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(fleet_push, "_push", raced)
    with pytest.raises(ConflictError) as raised:
        fleet.commit("main", read, {"c": b"ours"}, "ours")
    assert raised.value.code == "fleet-moved"
    assert remote_tip(bare) == theirs[0]


def test_a_branch_set_back_is_not_pushed_over(fleet: FleetRepository, bare: Path) -> None:
    first = fleet.read(["a"]).revision
    second = fleet.commit("main", first, {"a": b"2"}, "second")
    subprocess.run(["git", f"--git-dir={bare}", "update-ref", "refs/heads/main", first], check=True)
    with pytest.raises(ConflictError):
        fleet.commit("main", second, {"a": b"3"}, "third")
    assert remote_tip(bare) == first


def test_a_new_branch_is_made_only_where_there_is_none(
    fleet: FleetRepository, other: FleetRepository, bare: Path
) -> None:
    made = fleet.commit("gpu-lock/lab", "", {"lock.yaml": b"{}"}, "lock")
    assert remote_tip(bare, "gpu-lock/lab") == made
    with pytest.raises(ConflictError):
        other.commit("gpu-lock/lab", "", {"lock.yaml": b"{x: 1}"}, "lock")
    assert remote_tip(bare, "gpu-lock/lab") == made


def test_a_hook_that_refuses_is_quoted_and_nothing_moved(fleet: FleetRepository, bare: Path) -> None:
    hook(bare, "pre-receive", "echo 'only through review' >&2; exit 1")
    read = fleet.read(["a"]).revision
    with pytest.raises(PolicyBlocked) as raised:
        fleet.commit("main", read, {"a": b"2"}, "second")
    assert raised.value.code == "push-refused"
    assert "only through review" in raised.value.message
    assert remote_tip(bare) == read


def test_a_branch_protected_by_an_update_hook(fleet: FleetRepository, bare: Path) -> None:
    hook(bare, "update", '[ "$1" != refs/heads/main ]')
    read = fleet.read(["a"]).revision
    with pytest.raises(PolicyBlocked):
        fleet.commit("main", read, {"a": b"2"}, "second")
    assert fleet.commit("proposal", "", {"a": b"2"}, "second")


def test_a_repository_that_cannot_be_written(
    fleet: FleetRepository, bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = fleet.read(["a"]).revision
    answer = GitAnswer(128, b"", "ERROR: The key you are authenticating with has been marked as read only.")
    monkeypatch.setattr(fleet_push, "_push", lambda *_arguments, **_options: answer)
    with pytest.raises(PolicyBlocked) as raised:
        fleet.commit("main", read, {"a": b"2"}, "second")
    assert raised.value.code == "push-refused"
    assert "read only" in raised.value.message


def test_an_answer_that_got_lost_after_the_push_arrived_is_a_success(
    fleet: FleetRepository, bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pushing = fleet_push._push

    def cut_off(*arguments: object, **options: object) -> GitAnswer:
        pushing(*arguments, **options)  # type: ignore[arg-type]
        return GitAnswer(128, b"", "fatal: the remote end hung up unexpectedly")

    read = fleet.read(["a"]).revision
    monkeypatch.setattr(fleet_push, "_push", cut_off)
    assert fleet.commit("main", read, {"a": b"2"}, "second") == remote_tip(bare)


def test_a_lost_answer_is_a_success_although_somebody_pushed_on_top(
    fleet: FleetRepository, other: FleetRepository, bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pushing = fleet_push._push

    def cut_off(*arguments: object, **options: object) -> GitAnswer:
        with monkeypatch.context() as undone:
            undone.setattr(fleet_push, "_push", pushing)
            pushing(*arguments, **options)  # type: ignore[arg-type]
            other.commit("main", other.read(["a"]).revision, {"b": b"top"}, "on top")
        return GitAnswer(128, b"", "fatal: the remote end hung up unexpectedly")

    read = fleet.read(["a"]).revision
    monkeypatch.setattr(fleet_push, "_push", cut_off)
    made = fleet.commit("main", read, {"a": b"2"}, "second")
    assert fleet.is_ancestor(made, remote_tip(bare))


def test_a_connection_lost_before_anything_arrived_is_tried_again(
    fleet: FleetRepository, bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pushing = fleet_push._push
    tries: list[int] = []

    def flaky(*arguments: object, **options: object) -> GitAnswer:
        tries.append(1)
        if len(tries) == 1:
            return GitAnswer(128, b"", "fatal: the remote end hung up unexpectedly")
        return pushing(*arguments, **options)  # type: ignore[arg-type]

    read = fleet.read(["a"]).revision
    monkeypatch.setattr(fleet_push, "_push", flaky)
    assert fleet.commit("main", read, {"a": b"2"}, "second") == remote_tip(bare)
    assert len(tries) == 2


def test_without_an_answer_and_without_a_view_the_outcome_is_unknown(
    fleet: FleetRepository, bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_arguments: object, **_options: object) -> GitAnswer:
        bare.rename(bare.with_name("gone.git"))
        return GitAnswer(128, b"", "fatal: the remote end hung up unexpectedly")

    read = fleet.read(["a"]).revision
    monkeypatch.setattr(fleet_push, "_push", gone)
    with pytest.raises(OutcomeUnknown) as raised:
        fleet.commit("main", read, {"a": b"2"}, "second")
    assert raised.value.code == "push-outcome-unknown"
    assert raised.value.changed


def test_a_push_that_takes_too_long_is_looked_up(bare: Path, tmp_path: Path, fleet: FleetRepository) -> None:
    """The server accepts the push and then never says so."""
    hook(bare, "post-receive", "exec sleep 30")
    impatient = FleetRepository(str(bare), cache_dir=tmp_path / "cache", timeout=2)
    assert impatient.commit("main", fleet.read(["a"]).revision, {"a": b"2"}, "second") == remote_tip(bare)


def test_a_trial_push_changes_nothing_and_sees_a_moved_branch(
    fleet: FleetRepository, other: FleetRepository, bare: Path
) -> None:
    read = fleet.read(["a"]).revision
    hook(bare, "pre-receive", "exit 1")  # a protected branch passes a trial
    fleet.dry_push("main", read)
    fleet.dry_push("new", "")
    assert (remote_tip(bare), remote_tip(bare, "new")) == (read, "")
    hook(bare, "pre-receive", "exit 0")
    other.commit("main", read, {"b": b"x"}, "moved")
    with pytest.raises(ConflictError) as raised:
        fleet.dry_push("main", read)
    assert raised.value.code == "fleet-moved"


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (GitAnswer(1, b"To x\n!\ta:refs/heads/main\t[rejected] (stale info)\n", ""), ConflictError),
        (
            GitAnswer(1, b"!\ta:refs/heads/main\t[remote rejected] (protected branch hook declined)\n", ""),
            PolicyBlocked,
        ),
        (GitAnswer(128, b"", "error: The requested URL returned error: 403"), PolicyBlocked),
        (GitAnswer(128, b"", "fatal: unable to access: Could not resolve host"), ObservationError),
    ],
)
def test_answers_to_a_trial_push(
    fleet: FleetRepository, monkeypatch: pytest.MonkeyPatch, answer: GitAnswer, error: type[GpuopsError]
) -> None:
    read = fleet.read(["a"]).revision
    monkeypatch.setattr(fleet_push, "_push", lambda *_arguments, **_options: answer)
    with pytest.raises(error):
        fleet.dry_push("main", read)
