# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Assignments at once: of one ticket, and of more tickets than the pool has room for."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.tests.integration.capacity.assigned import (
    require_assigned,
    require_equation_always,
    survey,
)
from ansible_collections.gpuops.reservations.tests.integration.capacity.capacity_lab import (
    QUICK,
    CapacityLab,
    Run,
)

pytestmark = [pytest.mark.lab, pytest.mark.slow]


def test_of_two_runs_of_one_ticket_one_ends_active_and_nothing_is_double(fresh_lab: CapacityLab) -> None:
    lab = fresh_lab
    started = [lab.start("assign", ticket="LAB-1", **QUICK) for _ in range(2)]
    runs = [lab.finished(process) for process in started]
    codes = sorted(run.code for run in runs)
    assert codes[0] == 0, [run.output for run in runs]
    if codes[1] != 0:
        stopped = next(run for run in runs if run.code != 0)
        assert "lock-lost" in stopped.output or "no longer holds its lock" in stopped.output, stopped.output
    require_assigned(lab, "LAB-1")
    require_equation_always(lab)
    assert len(lab.records()) == 2


def assigned_together(lab: CapacityLab, orders: dict[str, dict[str, Any]]) -> dict[str, Run]:
    """All of them at once, each waiting for the lock."""
    files = {ticket: (lab.folder / f"{ticket}.log").open("w+") for ticket in orders}
    started: dict[str, subprocess.Popen[str]] = {
        ticket: lab.start("assign", output=files[ticket], ticket=ticket, lock_wait=2400, **QUICK, **order)
        for ticket, order in orders.items()
    }
    runs = {}
    for ticket, process in started.items():
        process.wait(timeout=3600)
        files[ticket].seek(0)
        runs[ticket] = Run(process.returncode, files[ticket].read())
        files[ticket].close()
        lab.printed.append(runs[ticket].output)
    return runs


def require_room_for(lab: CapacityLab, runs: dict[str, Run], room: int) -> None:
    """So many end active, the others are refused with a reason, and the equation held throughout."""
    active = [ticket for ticket, run in runs.items() if run.code == 0]
    assert len(active) == room, {ticket: run.output[-1500:] for ticket, run in runs.items()}
    for ticket in active:
        require_assigned(lab, ticket)
    for ticket in runs.keys() - active:
        assert lab.record(ticket) is None
        assert "devices" in runs[ticket].output
        assert "order-exceeds-capacity" in runs[ticket].output or "lacks" in runs[ticket].output
    assert sum(record["spec"]["state"] == "active" for record in lab.records()) == room + 1
    require_equation_always(lab)


def test_three_at_once_for_a_pool_with_room_for_one(fresh_lab: CapacityLab) -> None:
    organizations = ("aurora", "borealis", "cumulus")
    orders = {f"RACE-{name}".upper(): survey(name, 10) for name in organizations}
    require_room_for(fresh_lab, assigned_together(fresh_lab, orders), 1)


@pytest.mark.soak
def test_ten_at_once_for_a_pool_with_room_for_three(fresh_lab: CapacityLab) -> None:
    organizations = ("aurora", "borealis", "cumulus")
    orders = {f"TEN-{number}": survey(organizations[number % 3], 5) for number in range(10)}
    require_room_for(fresh_lab, assigned_together(fresh_lab, orders), 3)
