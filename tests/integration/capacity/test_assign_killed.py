# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Killed with SIGKILL after each phase, and at random: run again, it ends as if nothing had happened."""

from __future__ import annotations

import random
import subprocess
import threading
import time

import pytest

from ansible_collections.gpuops.reservations.tests.integration.capacity.assigned import (
    require_assigned,
    require_equation_always,
)
from ansible_collections.gpuops.reservations.tests.integration.capacity.capacity_lab import (
    QUICK,
    CapacityLab,
    kill,
)

pytestmark = [pytest.mark.lab, pytest.mark.slow]

AFTER = {
    "lock": "Keep Dedicated VM creation closed",
    "freeze": "Snapshot, and prove the equation",
    "prove": "Commit the pending ledger record first",
    "hold": "Assign the exact operator-only add-on quantity",
    "entitle": "Set the project's device cap",
    "cap": "Repeat the capacity calculation",
    "proof with live quota": "Check that nobody waits for a device",
    "smoke VM created": "Wait for device and guest",
    "smoke VM stopped": "Wait until the device is free",
    "smoke": "Seal the evidence",
    "evidence": "Commit the ledger state active",
    "activate": "Check that the service has recovered",
    "gate let go": "Let go of the pool's lock",
    "lock let go": "Read the record",
}
"""By what has just been done, the task at whose beginning the run is killed."""
USUAL = ("hold", "smoke VM created")
PHASES = [
    pytest.param(task, id=name, marks=[] if name in USUAL else pytest.mark.soak)
    for name, task in AFTER.items()
]


@pytest.mark.parametrize("task", PHASES)
def test_killed_after_a_phase_the_next_run_ends_it(fresh_lab: CapacityLab, task: str) -> None:
    lab = fresh_lab
    lab.killed_at(task, "LAB-1", reopen=True)
    run = lab.assign("LAB-1", reopen=True)
    assert run.code == 0, run.output
    require_assigned(lab, "LAB-1", gate="true")
    require_equation_always(lab)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(30))
def test_killed_anywhere_the_next_run_ends_it(fresh_lab: CapacityLab, seed: int) -> None:
    lab = fresh_lab
    chance = random.Random(seed)
    process = lab.start("assign", ticket="LAB-1", **QUICK)
    assert process.stdout is not None
    # A number of tasks in, and then any moment of the task: the same seed tries the same task again.
    tasks, moment = chance.randrange(3, 42), chance.uniform(0, 3)
    reader = threading.Thread(target=_count, args=(process, tasks, moment))
    reader.start()
    reader.join(timeout=1200)
    assert not reader.is_alive()
    kill(process)
    process.stdout.close()
    run = lab.assign("LAB-1")
    assert run.code == 0, run.output
    require_assigned(lab, "LAB-1")
    require_equation_always(lab)


def _count(process: subprocess.Popen[str], tasks: int, moment: float) -> None:
    seen = 0
    for line in process.stdout or ():
        seen += line.startswith("TASK [")
        if seen == tasks:
            time.sleep(moment)  # any moment is the right one: this waits for nothing
            return
