# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Bars share one scale, and what is unknown is said and not drawn."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpuops.reservations.plugins.module_utils._reports.audit_chart import (
    WIDTH,
    pool_chart,
)


def equation(healthy: Any, *, active: Any = 0, pending: Any = 0, rest: Any = 0, spare: Any = 0) -> Any:
    return {
        "healthy": healthy,
        "reserved": {"active": active, "pending": pending, "releasing": 0},
        "non_reserved": rest,
        "spare": spare,
    }


def test_the_labs_pool() -> None:
    chart = pool_chart(equation(32, active=8, rest=6, spare=1))
    assert chart.healthy is not None
    assert chart.healthy.width == WIDTH
    assert [(part.kind, part.devices, part.x) for part in chart.demand] == [
        ("active", 8, 0),
        ("non_reserved", 6, 250),
        ("spare", 1, 437.5),
    ]
    assert chart.unknown == ()


def test_an_oversold_pool_is_wider_below_than_above() -> None:
    chart = pool_chart(equation(10, active=20))
    assert chart.healthy is not None
    assert chart.healthy.width == WIDTH / 2
    assert chart.demand[0].width == WIDTH


@pytest.mark.parametrize("word", ["unknown", "unlimited"])
def test_words_are_told_and_not_drawn(word: str) -> None:
    chart = pool_chart(equation("unknown", active=8, rest=word))
    assert chart.healthy is None
    assert chart.unknown == ("healthy schedulable: unknown", f"non-reserved: {word}")
    assert [part.kind for part in chart.demand] == ["active"]


def test_nothing_at_all() -> None:
    chart = pool_chart(equation(0))
    assert chart.healthy is not None
    assert chart.healthy.width == 0
    assert chart.demand == ()


counts = st.integers(0, 5000)


@given(healthy=counts, active=counts, pending=counts, rest=counts, spare=counts)
def test_no_bar_leaves_the_page_and_parts_keep_their_proportions(
    healthy: int, active: int, pending: int, rest: int, spare: int
) -> None:
    chart = pool_chart(equation(healthy, active=active, pending=pending, rest=rest, spare=spare))
    assert all(part.x + part.width <= WIDTH + 0.05 for part in chart.demand)
    assert sum(part.devices for part in chart.demand) == active + pending + rest + spare
    widest = max([*(part.width / part.devices for part in chart.demand), 0])
    assert all(part.width / part.devices == pytest.approx(widest, abs=0.01) for part in chart.demand)
