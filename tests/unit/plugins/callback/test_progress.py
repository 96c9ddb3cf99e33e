# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Lines of a wait are shown as they come, the same wait not too often, and nothing is left behind."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.gpuops.reservations.plugins.callback.progress import Follower


def follower(path: Path, shown: list[str], interval: float = 5.0) -> Follower:
    path.write_text("")
    return Follower(path, interval, shown.append)


def test_new_lines_are_shown_once_and_half_a_line_waits(tmp_path: Path) -> None:
    shown: list[str] = []
    path = tmp_path / "progress"
    following = follower(path, shown)
    path.write_text("waiting for quota since 0 s: 2, expected 10\nwaiting for gate")
    following.look(1.0)
    following.look(1.5)
    assert shown == ["    ... waiting for quota since 0 s: 2, expected 10"]
    path.write_text("waiting for quota since 0 s: 2, expected 10\nwaiting for gate: open\n")
    following.look(2.0)
    assert shown[1:] == ["    ... waiting for gate: open"]


def test_the_same_wait_is_told_again_only_after_the_interval(tmp_path: Path) -> None:
    shown: list[str] = []
    path = tmp_path / "progress"
    following = follower(path, shown)
    for second in range(12):
        with path.open("a") as file:
            file.write(f"waiting for quota since {second} s: 2, expected 10\n")
        following.look(float(second))
    assert [line.split(" since ")[1].split(" ")[0] for line in shown] == ["0", "5", "10"]


def test_following_ends_with_what_was_left_and_takes_the_file_away(tmp_path: Path) -> None:
    shown: list[str] = []
    path = tmp_path / "progress"
    following = follower(path, shown, interval=0.0)
    following.start()
    path.write_text("waiting for the lock of h100-vm: held by lab-2\n")
    following.end()
    assert shown == ["    ... waiting for the lock of h100-vm: held by lab-2"]
    assert not path.exists()
