# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Call sites tell a watcher, and nobody when there is none."""

from __future__ import annotations

import threading

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters import callsites


class Recording:
    def __init__(self) -> None:
        self.sites: list[str] = []

    def reached(self, site: str) -> None:
        self.sites.append(site)


class Killed(BaseException):
    pass


class Killing:
    def reached(self, site: str) -> None:
        raise Killed(site)


def test_nothing_happens_without_a_watcher() -> None:
    callsites.reached("kube GET /version")


def test_a_watcher_sees_sites_of_every_thread_until_the_block_ends() -> None:
    watcher = Recording()
    with callsites.watched_by(watcher):
        thread = threading.Thread(target=callsites.reached, args=("one",))
        thread.start()
        thread.join()
        callsites.reached("two")
    callsites.reached("three")
    assert watcher.sites == ["one", "two"]


def test_what_a_watcher_raises_ends_the_call_and_the_watching() -> None:
    with pytest.raises(Killed), callsites.watched_by(Killing()):
        callsites.reached("one")
    callsites.reached("two")


def test_two_watchers_at_once_are_a_mistake() -> None:
    with (
        callsites.watched_by(Recording()),
        pytest.raises(RuntimeError),
        callsites.watched_by(Recording()),
    ):
        pass
