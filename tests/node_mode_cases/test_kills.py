# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run that dies at any place where it talks to the outside is finished by the next one, with one commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters import callsites
from ansible_collections.gpuops.reservations.tests.node_mode_cases import module_run
from ansible_collections.gpuops.reservations.tests.node_mode_cases.case_world import CaseWorld, Servers
from ansible_collections.gpuops.reservations.tests.node_mode_cases.stage import (
    built,
    finished_well,
    plain_case,
)
from ansible_collections.gpuops.reservations.tests.node_mode_cases.what_happened import WhatHappened

pytestmark = [pytest.mark.lab, pytest.mark.slow]


class Killed(BaseException):
    """The process is gone: nothing catches this, and nothing is tidied up."""


class Counter:
    """Counts call sites, and kills at one of them."""

    def __init__(self, kill_at: int = -1) -> None:
        self.sites: list[str] = []
        self._kill_at = kill_at

    def reached(self, site: str) -> None:
        self.sites.append(site)
        if len(self.sites) - 1 == self._kill_at:
            raise Killed(site)


def run(world: CaseWorld, counter: Counter, **when: object) -> module_run.Outcome:
    with callsites.watched_by(counter):
        return module_run.run(world, {**world.case.when, **when})


def sites_of_a_whole_run(servers: Servers, folder: Path) -> list[str]:
    whole = Counter()
    assert not run(built(plain_case(), servers, folder), whole).failed
    writing = [site for site in whole.sites if writes(site)]
    assert len(writing) >= 8, "cordon, uncordon, lock, commit and letting go are all sites"
    return whole.sites


def writes(site: str) -> bool:
    return "PATCH" in site or "push" in site


def killed_and_resumed(servers: Servers, folder: Path, number: int, site: str) -> None:
    world = built(plain_case(), servers, folder)
    counter = Counter(number)
    with pytest.raises(Killed):
        run(world, counter)
    assert counter.sites[-1] == site, "a run is repeatable, so that every site is met"
    begun = world.remote.commits(world.start_revision)
    world.record.events.clear()
    outcome = run(world, Counter(), resume_cordoned=True)
    assert not outcome.failed, (site, outcome.msg)
    happened = WhatHappened(world, outcome)
    finished_well(world, happened)
    assert len(happened.commits) == 1, (site, begun, happened.commits)


def test_killed_at_every_write_and_resumed(servers: Servers, tmp_path: Path) -> None:
    """Before each write, and after it was carried out and before the run knew."""
    for number, site in enumerate(sites_of_a_whole_run(servers, tmp_path / "whole")):
        if writes(site):
            killed_and_resumed(servers, tmp_path / f"at-{number}", number, site)


@pytest.mark.soak
def test_killed_at_every_other_call_site_and_resumed(servers: Servers, tmp_path: Path) -> None:
    for number, site in enumerate(sites_of_a_whole_run(servers, tmp_path / "whole")):
        if not writes(site):
            killed_and_resumed(servers, tmp_path / f"at-{number}", number, site)


def test_killed_twice_in_a_row(servers: Servers, tmp_path: Path) -> None:
    # Once right after the cordon was carried out, once right after the push was.
    for first, second in ((" PATCH", "fleet push main"), ("fleet push gpu-lock", " PATCH")):
        world = built(plain_case(), servers, tmp_path / second.replace(" ", "-").replace("/", "-"))
        for number, part in enumerate((first, second)):
            with pytest.raises(Killed):
                run(world, KillAfter(part), resume_cordoned=number > 0)
        outcome = run(world, Counter(), resume_cordoned=True)
        assert not outcome.failed, outcome.msg
        happened = WhatHappened(world, outcome)
        finished_well(world, happened)
        assert len(happened.commits) == 1


class KillAfter(Counter):
    """Kills when the first answer to a kind of request is there."""

    def __init__(self, part: str) -> None:
        super().__init__()
        self._part = part

    def reached(self, site: str) -> None:
        self.sites.append(site)
        if self._part in site and site.endswith(" answered"):
            raise Killed(site)


def test_without_consent_a_dead_run_is_told_from_a_living_one(servers: Servers, tmp_path: Path) -> None:
    world = built(plain_case(), servers, tmp_path / "dead")
    with pytest.raises(Killed):
        run(world, KillAfter("fleet push gpu-lock"))
    assert not WhatHappened(world, module_run.Outcome(failed=False, result={})).cordoned
    outcome = run(world, Counter())
    assert not outcome.failed, outcome.msg
    finished_well(world, WhatHappened(world, outcome))


def test_a_lock_that_a_run_left_at_its_very_end_is_let_go(servers: Servers, tmp_path: Path) -> None:
    world = built(plain_case(), servers, tmp_path / "end")
    with pytest.raises(Killed):
        run(world, KillAtUncordon())
    assert WhatHappened(world, module_run.Outcome(failed=False, result={})).lock_holders
    outcome = run(world, Counter())
    assert not outcome.failed
    assert outcome.result["changed"] is True
    assert "let go of the lock" in outcome.msg
    finished_well(world, WhatHappened(world, outcome))
    again = run(world, Counter())
    assert again.result["changed"] is False


class KillAtUncordon(Counter):
    """Kills when the second patch of the node, the uncordon, was answered."""

    def reached(self, site: str) -> None:
        self.sites.append(site)
        if "PATCH" in site and site.endswith(" answered"):
            patches = [each for each in self.sites if "PATCH" in each and each.endswith(" answered")]
            if len(patches) == 2:
                raise Killed(site)
