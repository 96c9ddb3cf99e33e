# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every suite shares: how property tests search."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# A loaded machine is slow, not wrong: no deadline per example. Runs are repeatable unless asked otherwise.
settings.register_profile(
    "repeatable", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "search", parent=settings.get_profile("repeatable"), derandomize=False, max_examples=2000
)
settings.load_profile(os.environ.get("GPUOPS_HYPOTHESIS", "repeatable"))
