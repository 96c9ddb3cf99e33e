# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Releases raced and killed: nothing oversold or freed early, the gate closed while somebody needs it."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.tests.integration.capacity.assigned import (
    require_assigned,
    require_equation_always,
    survey,
)
from ansible_collections.gpuops.reservations.tests.integration.capacity.auditing import LiveModules, found
from ansible_collections.gpuops.reservations.tests.integration.capacity.capacity_lab import (
    LEDGER,
    QUICK,
    CapacityLab,
    Run,
    kill,
)
from ansible_collections.gpuops.reservations.tests.integration.capacity.put_back import (
    instance_phase,
    put_back,
    start_machine,
    stop_machine,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.assignment import step
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.returning import release

pytestmark = [pytest.mark.lab, pytest.mark.slow]

POLLING: dict[str, Any] = {"poll_interval": 0.5, "health_interval": 0.2}


@pytest.fixture(scope="module")
def lab(told_lab: CapacityLab) -> CapacityLab:
    return told_lab


@pytest.fixture
def stage(lab: CapacityLab) -> Iterator[CapacityLab]:
    with put_back(lab):
        yield lab


def together(lab: CapacityLab, runs: dict[str, tuple[str, dict[str, Any]]]) -> dict[str, Run]:
    """Playbooks at once, audited meanwhile: no audit finds an error."""
    auditor = LiveModules(lab, "reader")
    files = {name: (lab.folder / f"{name}.log").open("w+", encoding="utf-8") for name in runs}
    started = {
        name: lab.start(playbook, output=files[name], **variables)
        for name, (playbook, variables) in runs.items()
    }
    errors: set[tuple[str, str]] = set()
    while any(process.poll() is None for process in started.values()):
        errors |= found(auditor.audit())
        time.sleep(0.5)  # between two audits; the loop's condition is what is waited for
    ended = {}
    for name, process in started.items():
        files[name].seek(0)
        ended[name] = Run(process.returncode, files[name].read())
        files[name].close()
        lab.printed.append(ended[name].output)
    assert errors == set(), {name: run.output[-2000:] for name, run in ended.items()}
    return ended


def states_since(lab: CapacityLab, tip: str, ticket: str) -> list[str]:
    """The states of a ticket's record that were committed after a commit, oldest first."""
    path = f"{LEDGER}/records/gpu-res-{ticket.lower()}.yaml"
    commits = lab.git("rev-list", "--reverse", f"{tip}..main", "--", path).split()
    found_states = []
    for commit in commits:
        line = next(line for line in lab.file(path, commit).splitlines() if line.strip().startswith("state:"))
        found_states.append(line.split(":")[1].strip())
    return found_states


def require_released_once(lab: CapacityLab, tip: str) -> None:
    record = lab.record("lab-0")
    assert record is not None
    assert record["spec"]["state"] == "released"
    states = states_since(lab, tip, "LAB-0")
    assert states[-1] == "released"
    assert set(states[:-1]) == {"releasing"}
    assert lab.add_ons("cumulus").get("gpu-h100-reserved", 0) == 0
    assert lab.hard("cumulus") == "0"
    assert lab.lock()["pools"] == {}
    assert lab.lock()["gate"]["vm"]["closedFor"] == []
    require_equation_always(lab)


def test_the_gate_stays_closed_while_another_pools_ticket_needs_it(stage: CapacityLab) -> None:
    modules = LiveModules(stage)
    other: dict[str, Any] = {"ticket": "OTHER-1", "run_id": "01OTHER", "profile_id": "v100-vm"}
    gate: dict[str, Any] = {"gate": "vm", **other}
    step(modules, "gpu_lock", state="held", **other)
    step(modules, "gpu_creation_gate", state="closed", **gate)
    release(modules, "LAB-0", wait_timeout=20, reopen=True)
    assert stage.gate() == "false"
    assert stage.lock()["gate"]["vm"]["closedFor"] == ["other-1"]
    assert found(modules.audit()) == set()
    step(modules, "gpu_creation_gate", state="released", reopen=True, recovered=True, **gate)
    step(modules, "gpu_lock", state="released", **other)
    assert stage.gate() == "true"
    assert stage.lock()["gate"]["vm"]["closedFor"] == []


def test_of_two_runs_of_one_release_nothing_is_double(stage: CapacityLab) -> None:
    tip = stage.refs()["main"]
    asked = ("release", {"ticket": "LAB-0", **POLLING})
    ended = together(stage, {"first": asked, "second": asked})
    codes = sorted(run.code for run in ended.values())
    assert codes[0] == 0, [run.output for run in ended.values()]
    for run in ended.values():
        if run.code != 0:
            assert "no longer holds its lock" in run.output or "lock-lost" in run.output, run.output
    require_released_once(stage, tip)


@pytest.mark.soak
@pytest.mark.parametrize("repeat", range(3))
def test_a_release_against_an_assignment_that_needs_its_devices(stage: CapacityLab, repeat: int) -> None:
    """20 devices fit only once the 8 of LAB-0 are free."""
    tip = stage.refs()["main"]
    ticket = f"NEEDS-{repeat}"
    ended = together(
        stage,
        {
            "release": ("release", {"ticket": "LAB-0", "lock_wait": 600, **POLLING}),
            "assign": ("assign", {"ticket": ticket, "lock_wait": 600, **QUICK, **survey("aurora", 20)}),
        },
    )
    assert ended["release"].code == 0, ended["release"].output
    require_released_once(stage, tip)
    if ended["assign"].code == 0:
        require_assigned(stage, ticket)
    else:
        assert "order-exceeds-capacity" in ended["assign"].output or "lacks" in ended["assign"].output
        assert stage.record(ticket) is None


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10))
def test_a_release_killed_anywhere_frees_nothing_early_and_ends_with_the_next_run(
    stage: CapacityLab, seed: int
) -> None:
    lab, chance = stage, random.Random(seed)
    tip = lab.refs()["main"]
    running = seed % 2 == 1
    if running:
        start_machine(lab, "cumulus-lab", "keeps-running")
    entitlements = lab.entitlements()
    process = lab.start("release", ticket="LAB-0", wait_timeout=2, **POLLING)
    assert process.stdout is not None
    tasks, moment = chance.randrange(2, 9 if running else 26), chance.uniform(0, 2)
    reader = threading.Thread(target=_count, args=(process.stdout, tasks, moment))
    reader.start()
    reader.join(timeout=600)
    assert not reader.is_alive()
    kill(process)
    process.stdout.close()
    if running:
        assert lab.entitlements() == entitlements, "a holder keeps its entitlement"
        assert instance_phase(lab, "cumulus-lab", "keeps-running") == "Running"
        assert found(LiveModules(lab).audit()) == set()
        stop_machine(lab, "cumulus-lab", "keeps-running")
    run = lab.playbook("release", ticket="LAB-0", **POLLING)
    assert run.code == 0, run.output
    require_released_once(lab, tip)


def _count(output: Any, tasks: int, moment: float) -> None:
    seen = 0
    for line in output:
        seen += line.startswith("TASK [")
        if seen == tasks:
            time.sleep(moment)  # any moment is the right one: this waits for nothing
            return
