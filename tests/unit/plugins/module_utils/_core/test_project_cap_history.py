# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A project's cap after its reservations are gone is what it was before the first of them, in any order."""

from __future__ import annotations

import itertools

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.project_cap import (
    cap_afterwards,
    cap_before,
    wanted_cap,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.record import Record
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.fleet_builder import record


def reservation(ticket: str, devices: int, state: str = "active", project: str = "ml") -> Record:
    return Record.model_validate(record(ticket, "borealis", devices, state, project=project))


@pytest.mark.parametrize("before", [None, 0, 4, 8])
@pytest.mark.parametrize("order", list(itertools.permutations(["t-1", "t-2", "t-3"])))
def test_the_first_cap_comes_back_whatever_the_order(before: int | None, order: tuple[str, ...]) -> None:
    sizes = {"t-1": 8, "t-2": 4, "t-3": 2}
    cap = before
    notes: dict[str, int | None] = {}
    live: dict[str, Record] = {}
    for ticket, devices in sizes.items():
        mine = reservation(ticket, devices, "pending")
        everybody = [*live.values(), mine]
        wanted = wanted_cap(mine, everybody)
        if wanted != cap:
            notes[ticket] = cap_before(mine, everybody, notes, cap)
            cap = wanted
        live[ticket] = reservation(ticket, devices)
    assert cap == 14
    for ticket in order:
        mine = reservation(ticket, sizes[ticket], "releasing")
        cap = cap_afterwards(mine, [*live.values()], notes, cap)
        del live[ticket]
        notes.pop(ticket, None)
        assert cap == (sum(sizes[other] for other in live) if live else before)


def test_a_cap_that_was_never_changed_stays() -> None:
    mine = reservation("t-1", 8, "releasing")
    assert cap_afterwards(mine, [mine], {}, 8) == 8


def test_other_projects_and_closed_records_do_not_count() -> None:
    mine = reservation("t-1", 8, "releasing")
    others = [reservation("t-2", 4, project="other"), reservation("t-3", 2, "released")]
    assert cap_afterwards(mine, [mine, *others], {"t-1": None, "t-2": 3}, 8) is None
    assert wanted_cap(mine, [mine, *others]) == 8
    assert cap_before(mine, [mine, *others], {"t-2": 3}, 7) == 7
