# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The API server's time has no fractions: a lease of this very second is not ahead of the clock."""

from __future__ import annotations

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.freshness import (
    LeaseReading,
    lease_plain,
)


@pytest.mark.parametrize(
    ("renewed", "fresh"),
    [
        ("2026-11-30T23:54:30.999999Z", True),
        ("2026-11-30T23:54:31.000000Z", False),
        ("2026-11-30T23:53:30.000000Z", True),
        ("2026-11-30T23:53:29.999999Z", False),
    ],
)
def test_a_second_ahead_is_the_clocks_resolution(renewed: str, fresh: bool) -> None:
    assert lease_plain(LeaseReading(renewed, "2026-11-30T23:54:30Z"), 60) is fresh
