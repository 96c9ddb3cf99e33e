# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A fresh world for each test of a module."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.capacity_world import CapacityWorld


@pytest.fixture
def world(tmp_path: Path) -> CapacityWorld:
    """The fixture's cluster and fleet, nothing assigned yet."""
    return CapacityWorld(tmp_path / "world")
