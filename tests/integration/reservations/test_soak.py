# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Killed at random and run again, on the real API server; a handful always, many with ``-m soak``."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ansible_collections.gpuops.reservations.tests.integration.reservations.stage import (
    RESERVATIONS,
    TRAINING,
    Stage,
    refusal,
)
from lab.directory import CHECKOUT
from lab.environment import exports

FOO = "tenant-foo"
NODES = list(TRAINING[:5])


def killed_run(stage: Stage, seconds: float) -> bool:
    """One run of the playbook, killed with all it started after so long; whether it was still running."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("GPUOPS_", "KUBE", "K8S_"))}
    process = subprocess.Popen(
        [str(Path(sys.executable).parent / "ansible-playbook"), "playbooks/reservations.yml"],
        cwd=CHECKOUT,
        env={**inherited, **exports(stage.lab), "ANSIBLE_CONFIG": str(CHECKOUT / "ansible.cfg")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return True
    return False


def owned(stage: Stage) -> set[str]:
    found = set()
    for name in TRAINING:
        node = stage.node(name)
        if node["metadata"]["labels"].get("reserved.tenant") == FOO:
            assert node["metadata"]["annotations"]["gpuops.reservations/reserved-by"] == "foo"
            found.add(name)
    return found


def storm(stage: Stage, rounds: int, seed: int) -> None:
    """Edits, each followed by a run that is killed; after each, one undisturbed run has to make it right."""
    chance = random.Random(seed)
    stage.reserve("foo", FOO, ["train-01"])
    stage.bind(FOO, "foo")
    began = time.monotonic()
    stage.play("reservations")
    whole = time.monotonic() - began
    killed = 0
    for number in range(rounds):
        wanted = sorted(chance.sample(NODES, chance.randint(1, len(NODES))))
        stage.edit_reservation("foo", reservedNodes=wanted)
        killed += killed_run(stage, chance.uniform(0.3, 1.0) * whole)
        stage.reconcile()
        assert owned(stage) == set(wanted), f"round {number}, seed {seed}"
        status = stage.get(f"{RESERVATIONS}/foo")["status"]
        assert {node["name"] for node in status["nodes"]} == set(wanted)
        assert not [n for n in TRAINING if stage.node(n)["spec"].get("unschedulable")]
        assert not stage.reconcile().changed
    assert killed > 0, "no run was killed: the test shows nothing"


def test_a_handful_of_kills(stage: Stage) -> None:
    storm(stage, 4, seed=1)


@pytest.mark.soak
@pytest.mark.slow
def test_many_kills(stage: Stage) -> None:
    storm(stage, int(os.environ.get("GPUOPS_SOAK_ROUNDS", "100")), seed=int(time.time()))


@pytest.mark.soak
@pytest.mark.slow
def test_hours_of_reconcile_change_nothing(stage: Stage) -> None:
    """Nothing happens, and nothing is written: no version of a node or Reservation moves."""
    stage.reserve("foo", FOO, NODES)
    stage.bind(FOO, "foo")
    stage.reconcile()
    version = stage.get(f"{RESERVATIONS}/foo")["metadata"]["resourceVersion"]
    until = time.monotonic() + 60 * float(os.environ.get("GPUOPS_SOAK_MINUTES", "60"))
    passes = 0
    while time.monotonic() < until:
        assert refusal(stage.reconcile) == ""
        passes += 1
    assert passes > 0
    assert stage.get(f"{RESERVATIONS}/foo")["metadata"]["resourceVersion"] == version
    assert owned(stage) == set(NODES)
