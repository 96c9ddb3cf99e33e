# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab of these tests' own, or the one that GPUOPS_TEST_LAB_DIR names, cleared before each test."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.gpuops.reservations.tests.integration.reservations.attack_stage import (
    editing_namespaces,
    set_up,
)
from ansible_collections.gpuops.reservations.tests.integration.reservations.stage import Stage, stage_of
from lab.directory import CHECKOUT, LabDirectory


def command(lab: LabDirectory, *arguments: str) -> None:
    """``python -m lab`` for this lab, and nobody else's."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("GPUOPS_", "KUBE"))}
    done = subprocess.run(
        [sys.executable, "-m", "lab", *arguments],
        cwd=CHECKOUT,
        env={**inherited, "GPUOPS_LAB_DIR": str(lab.root)},
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabDirectory]:
    named = os.environ.get("GPUOPS_TEST_LAB_DIR")
    if named:
        yield LabDirectory(Path(named))
        return
    own = LabDirectory(tmp_path_factory.mktemp("reservations") / "lab")
    try:
        command(own, "up")
        yield own
    finally:
        command(own, "down")


@pytest.fixture(scope="session")
def whole_stage(lab: LabDirectory) -> Stage:
    return stage_of(lab)


@pytest.fixture
def stage(whole_stage: Stage) -> Stage:
    whole_stage.clear()
    return whole_stage


@pytest.fixture(scope="module")
def reserved(whole_stage: Stage) -> Iterator[Stage]:
    """Two tenants with nodes of their own, for all attacks of a file."""
    set_up(whole_stage)
    yield whole_stage
    whole_stage.clear()


@pytest.fixture
def attack(reserved: Stage) -> Iterator[Stage]:
    yield reserved
    reserved.clear_workloads()


@pytest.fixture
def namespace_editor(reserved: Stage) -> Iterator[Stage]:
    with editing_namespaces(reserved) as stage:
        yield stage
