# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Killed at random moments, as programs are, and resumed: the node arrives, with one commit."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from ansible_collections.gpuops.reservations.tests.integration.node_mode.lab_stage import LabStage

pytestmark = [pytest.mark.lab, pytest.mark.slow]

MODES = ("pod-hami", "vm-passthrough")


def killed_and_resumed(stage: LabStage, chance: random.Random, longest: float) -> str:
    """One transition that is killed once or twice and then finished; answers where it was killed."""
    from_mode = stage.mode()
    to_mode = MODES[1 - MODES.index(from_mode)]
    head = stage.remote.tip()
    told: list[str] = []
    for _ in range(chance.choice((1, 1, 2))):
        moment = chance.uniform(0.3, longest)
        process = stage.start(*stage.module_command(from_mode, to_mode, resume_cordoned=bool(told)))
        try:
            process.communicate(timeout=moment)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        told.append(f"{moment:.2f} s: cordoned {stage.cordoned()}, lock {stage.locked_by()}")
    finished = stage.move(from_mode, to_mode, resume_cordoned=True)
    assert finished.code == 0, (told, finished.output)
    stage.at_rest(to_mode)
    commits = stage.remote.commits(head)
    assert len(commits) == 1, (told, commits)
    return "; ".join(told)


def duration(stage: LabStage) -> float:
    """How long a whole transition takes here, and back."""
    begun = time.monotonic()
    there = stage.move("pod-hami", "vm-passthrough")
    assert there.code == 0, there.output
    taken = time.monotonic() - begun
    back = stage.move("vm-passthrough", "pod-hami")
    assert back.code == 0, back.output
    return taken


def test_a_few_random_kills(closed_lab: LabStage) -> None:
    longest = duration(closed_lab)
    chance = random.Random(7)
    for _ in range(4):
        killed_and_resumed(closed_lab, chance, longest)


@pytest.mark.soak
def test_many_random_kills(closed_lab: LabStage) -> None:
    seed = int(os.environ.get("GPUOPS_SOAK_SEED", "0")) or random.SystemRandom().randrange(1, 10**6)
    count = int(os.environ.get("GPUOPS_SOAK_KILLS", "40"))
    sys.stderr.write(f"seed {seed}\n")
    longest = duration(closed_lab)
    chance = random.Random(seed)
    for number in range(count):
        where = killed_and_resumed(closed_lab, chance, longest)
        sys.stderr.write(f"{number + 1} of {count}: killed after {where}\n")
