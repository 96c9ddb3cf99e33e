# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab of these tests' own, or the one that GPUOPS_TEST_LAB_DIR names, put back before each test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.gpuops.reservations.tests.integration.node_mode.lab_stage import LabStage, command
from lab.directory import LabDirectory


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabDirectory]:
    named = os.environ.get("GPUOPS_TEST_LAB_DIR")
    if named:
        yield LabDirectory(Path(named))
        return
    own = LabDirectory(tmp_path_factory.mktemp("node-mode") / "lab")
    try:
        command(own, "up")
        yield own
    finally:
        command(own, "down")


@pytest.fixture
def stage(lab: LabDirectory, tmp_path: Path) -> LabStage:
    """The lab as its fixture has it."""
    command(lab, "reset")
    return LabStage(lab, tmp_path)


@pytest.fixture(scope="module")
def closed_lab(lab: LabDirectory, tmp_path_factory: pytest.TempPathFactory) -> LabStage:
    """One lab for several tests that leave it as they found it: both gates are closed everywhere."""
    command(lab, "reset")
    stage = LabStage(lab, tmp_path_factory.mktemp("closed"))
    stage.close_gates()
    return stage
