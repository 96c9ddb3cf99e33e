# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every case: the world as given, the module run once, and everything compared with what the case has."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.gpuops.reservations.tests.node_mode_cases import module_run
from ansible_collections.gpuops.reservations.tests.node_mode_cases.case_format import Case, NotUnderstood
from ansible_collections.gpuops.reservations.tests.node_mode_cases.case_world import CaseWorld, Servers
from ansible_collections.gpuops.reservations.tests.node_mode_cases.expectations import problems_of
from ansible_collections.gpuops.reservations.tests.node_mode_cases.what_happened import WhatHappened

# Their expectations are about the module's own defaults, so the run leaves these alone.
_ABOUT_DEFAULTS = frozenset({"interval_default_s", "timeout_default_s"})


def test_case(case: Case, servers: Servers, tmp_path: Path) -> None:
    problems, told = run_case(case, servers, tmp_path)
    if problems:
        pytest.fail(f"{case.id} - {case.title}\n  " + "\n  ".join(problems) + f"\n\n{told}", pytrace=False)


def run_case(case: Case, servers: Servers, folder: Path) -> tuple[list[str], str]:
    """The problems of one case, and what was said and done."""
    if case.not_understood:
        return [f"not understood: {case.not_understood}"], ""
    try:
        world = CaseWorld(case, servers, folder)
        world.build()
        world.move_ahead()
        outcome = module_run.run(world, case.when, defaults=bool(_ABOUT_DEFAULTS & case.then.keys()))
        if world.script_error is not None:
            raise world.script_error
        happened = WhatHappened(world, outcome)
        problems = problems_of(case.then, happened, lambda **changes: _again(world, case, **changes))
        return problems, _told(happened)
    except NotUnderstood as error:
        return [f"not understood: {error}"], ""


def _again(world: CaseWorld, case: Case, **changes: object) -> WhatHappened:
    """The same command once more, upon what the first run left."""
    world.start_over()
    return WhatHappened(world, module_run.run(world, {**case.when, **changes}))


def _told(happened: WhatHappened) -> str:
    events = [
        event
        if isinstance(event, str)
        else f"{event.method} {event.path} {event.operation} -> {event.status}"
        for event in happened.events
    ]
    return f"message: {happened.outcome.msg}\nevents:\n  " + "\n  ".join(events)
