# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab for tests of capacity holds: the one that GPUOPS_LAB_DIR names, or one of these tests' own.

A lab that is named is started where it does not run, and left running.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.gpuops.reservations.tests.integration.capacity.capacity_lab import (
    CapacityLab,
    lab_command,
)
from lab.directory import LabDirectory


@pytest.fixture(scope="session")
def any_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CapacityLab]:
    """A lab in whatever state the test before left it."""
    named = os.environ.get("GPUOPS_TEST_LAB_DIR") or os.environ.get("GPUOPS_LAB_DIR")
    lab = LabDirectory(Path(named) if named else tmp_path_factory.mktemp("capacity") / "lab")
    try:
        lab_command(lab, "up")
        yield CapacityLab(lab, tmp_path_factory.mktemp("operator"))
    finally:
        if not named:
            lab_command(lab, "down")


@pytest.fixture
def fresh_lab(any_lab: CapacityLab) -> CapacityLab:
    """The fixture, nothing assigned."""
    any_lab.reset()
    return any_lab


@pytest.fixture(scope="module")
def told_lab(any_lab: CapacityLab) -> CapacityLab:
    """The fixture once for a whole file, whose tests tell one story in their order."""
    any_lab.reset()
    return any_lab
