# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Times: the corners of RFC 3339, comparison, and the form that we write."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpuops.reservations.plugins.module_utils._core.times import (
    TimeError,
    end_after_start,
    moment,
    seconds_between,
    stamp,
    to_second,
)

NINE = datetime(2026, 11, 1, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-01T09:00:00Z", NINE),
        ("2026-11-01t09:00:00z", NINE),
        ("2026-11-01 09:00:00Z", NINE),
        ("2026-11-01T09:00:00+00:00", NINE),
        ("2026-11-01T09:00:00-00:00", NINE),
        ("2026-11-01T10:30:00+01:30", NINE),
        ("2026-11-02T08:59:00+23:59", NINE),
        ("2026-10-31T09:01:00-23:59", NINE),
        ("2026-11-01T09:00:00.5Z", NINE.replace(microsecond=500_000)),
        ("2026-11-01T09:00:00.123456999999Z", NINE.replace(microsecond=123_456)),
        ("2024-02-29T00:00:00Z", datetime(2024, 2, 29, tzinfo=UTC)),
    ],
)
def test_a06_what_rfc_3339_allows(text: str, expected: datetime) -> None:
    assert moment(text) == expected
    assert moment(text).utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-11-01",
        "2026-11-01T09:00:00",
        "2026-11-01T09:00Z",
        "2026-11-01T09:00:00 Z",
        "2026-11-01T09:00:00.Z",
        "2026-11-01T09:00:00+0100",
        "2026-11-01T09:00:00+01",
        "2026-11-01T24:00:00Z",
        "2026-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-11-01T09:60:00Z",
        "2026-11-01T09:00:00+24:00",
        "2026-11-01T09:00:00+00:60",
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "2026-11-01  09:00:00Z",
        "2026-11-01T09:00:00Z ",
        " 2026-11-01T09:00:00Z",
        "2026-11-01T09:00:00Z\n",
        "20261101T090000Z",
        "now",
        "2026-11-01T09:00:00,5Z",
        "٢٠٢٦-11-01T09:00:00Z",
        "2026-11-01T09:00:00\u22121:00",
    ],
)
def test_a06_what_it_does_not_allow(text: str) -> None:
    with pytest.raises(TimeError):
        moment(text)


@pytest.mark.parametrize("text", ["2016-12-31T23:59:60Z", "2016-12-31T23:59:60.5+00:00"])
def test_a06_a_leap_second_is_refused_with_a_message_that_says_so(text: str) -> None:
    with pytest.raises(TimeError, match="leap second"):
        moment(text)


def test_d05_times_are_written_to_the_second_in_utc_with_z() -> None:
    assert (
        stamp(datetime(2026, 11, 1, 10, 0, 0, 999_999, tzinfo=timezone(timedelta(hours=1))))
        == "2026-11-01T09:00:00Z"
    )
    assert to_second("2026-11-01t10:00:00.9+01:00") == "2026-11-01T09:00:00Z"


def test_a_moment_without_a_zone_is_not_written() -> None:
    with pytest.raises(TimeError):
        stamp(datetime(2026, 11, 1))  # noqa: DTZ001


@given(st.datetimes(timezones=st.just(UTC)))
def test_what_is_written_is_read_back_to_the_second(at: datetime) -> None:
    assert moment(stamp(at)) == at.replace(microsecond=0)


def test_seconds_between_two_times() -> None:
    assert seconds_between("2026-11-01T09:00:00Z", "2026-11-01T11:00:30+01:00") == 3630
    assert seconds_between("2026-11-01T09:00:01Z", "2026-11-01T09:00:00Z") == -1


@pytest.mark.parametrize(
    ("end", "fine"),
    [
        ("", True),
        ("2026-11-01T09:00:01Z", True),
        ("2026-11-01T09:00:00Z", False),
        ("2026-11-01T10:00:00+01:00", False),
    ],
)
def test_an_end_comes_after_the_start(end: str, fine: bool) -> None:
    assert (end_after_start(end, "2026-11-01T09:00:00Z") == "") is fine
