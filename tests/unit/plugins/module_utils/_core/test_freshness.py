# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Old is not fresh, ahead is not fresh, and a clock that is off has to move."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpuops.reservations.plugins.module_utils._core.freshness import (
    LeaseReading,
    lease_fresh,
    lease_plain,
    status_age,
    status_fresh,
)

START = datetime(2026, 11, 10, 12, tzinfo=UTC)


def at(seconds: float) -> str:
    return (START + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def reading(renewed: float, seen: float = 0) -> LeaseReading:
    return LeaseReading(at(renewed), at(seen))


@pytest.mark.parametrize(
    ("renewed", "fresh"), [(0, True), (-60, True), (-60.001, False), (0.999, True), (1, False), (3600, False)]
)
def test_one_reading(renewed: float, fresh: bool) -> None:
    assert lease_plain(reading(renewed), 60) is fresh
    assert lease_fresh(reading(renewed), None, 60) is fresh


@pytest.mark.parametrize(
    ("earlier", "later", "fresh"),
    [
        (reading(-600, -10), reading(-590), True),
        (reading(600, -10), reading(610), True),
        (reading(-600, -10), reading(-600), False),
        (reading(600, -10), reading(600), False),
        (reading(-590, -10), reading(-600), False),
        (reading(-600, -61), reading(-590), False),
        (reading(-600, 10), reading(-590), False),
    ],
    ids=[
        "old, moved",
        "ahead, moved",
        "old, still",
        "ahead, still",
        "went back",
        "too far apart",
        "out of order",
    ],
)
def test_two_readings(earlier: LeaseReading, later: LeaseReading, fresh: bool) -> None:
    assert lease_fresh(later, earlier, 60) is fresh


@pytest.mark.parametrize("text", ["", "yesterday", "2026-11-10 12:00:00", "2026-13-10T12:00:00Z"])
def test_what_is_no_time_is_never_fresh(text: str) -> None:
    assert not lease_fresh(LeaseReading(text, at(0)), LeaseReading(text, at(-1)), 60)
    assert not lease_fresh(LeaseReading(at(0), text), LeaseReading(at(-1), text), 60)
    assert not status_fresh(text, at(0), 600)
    assert not status_fresh(at(0), text, 600)


@pytest.mark.parametrize(
    ("age", "fresh"), [(0, True), (600, True), (600.5, False), (-60, True), (-60.5, False)]
)
def test_a_status_may_be_a_minute_ahead(age: float, fresh: bool) -> None:
    assert status_fresh(at(-age), at(0), 600) is fresh
    assert status_age(at(-age), at(0)) == pytest.approx(age)


@given(skew=st.integers(-(10**6), 10**6), step=st.integers(1, 60), limit=st.integers(1, 600))
def test_a_living_kubelet_is_fresh_whatever_its_clock_says(skew: int, step: int, limit: int) -> None:
    gap = min(step, limit)
    assert lease_fresh(reading(skew + gap, gap), reading(skew, 0), limit)


@given(renewed=st.integers(-(10**6), -601), gap=st.integers(0, 600))
def test_a_dead_kubelet_is_never_fresh(renewed: int, gap: int) -> None:
    assert not lease_fresh(reading(renewed, gap), reading(renewed, 0), 600)
