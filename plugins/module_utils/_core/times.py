# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Times: RFC 3339 with a zone, as text in documents, as moments where they are compared."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Final

_RFC3339: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]"
    r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?"
    r"(?:([Zz])|([+-])([0-9]{2}):([0-9]{2}))"
)
_LEAP_SECOND: Final = 60
_LAST_HOUR: Final = 23
_LAST_MINUTE: Final = 59


class TimeError(ValueError):
    """The text is no RFC 3339 time with a zone, or one that cannot be held."""


@lru_cache(maxsize=4096)  # a record's times are compared several times
def moment(text: str) -> datetime:
    """The moment that an RFC 3339 time says, in UTC; fractions are cut after the microsecond.

    Args:
        text: ``2026-11-01T09:00:00Z``; t and z, a space for the T, and any offset below 24 hours pass.

    Raises:
        TimeError: no RFC 3339 time with a zone, no such date, a leap second, or out of range.
    """
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise TimeError(f"{text[:60]!r} is no RFC 3339 time with a zone, such as 2026-11-01T09:00:00Z")
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    if second == _LEAP_SECOND:
        raise TimeError(f"{text[:60]!r} is a leap second, which cannot be held: give the second before it")
    sign, hours, minutes = match.group(9), match.group(10), match.group(11)
    if sign and (int(hours) > _LAST_HOUR or int(minutes) > _LAST_MINUTE):
        raise TimeError(f"{text[:60]!r} has no such offset from UTC")
    offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0)) * (-1 if sign == "-" else 1)
    try:
        local = datetime(
            year,
            month,
            day,
            hour,
            minute,
            second,
            int((match.group(7) or "")[:6].ljust(6, "0")),
            tzinfo=timezone(offset),
        )
        return local.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise TimeError(f"{text[:60]!r} is no such moment: {error}") from error


def stamp(at: datetime) -> str:
    """The text of a moment as we write it: UTC with Z, to the second, the fraction cut.

    Raises:
        TimeError: the moment has no zone.
    """
    if at.tzinfo is None:
        raise TimeError("a moment without a zone cannot be written")
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")


def to_second(text: str) -> str:
    """A time's text as we write it: UTC with Z, to the second.

    Raises:
        TimeError: no RFC 3339 time.
    """
    return stamp(moment(text))


def seconds_between(earlier: str, later: str) -> float:
    """Seconds from one time to another; negative where the order is the other way round.

    Raises:
        TimeError: one of them is no RFC 3339 time.
    """
    return (moment(later) - moment(earlier)).total_seconds()


def end_after_start(ends_at: str, starts_at: str) -> str:
    """What is wrong with an end (both are RFC 3339): where there is one, it comes after the start."""
    if not ends_at or moment(ends_at) > moment(starts_at):
        return ""
    return f"is not after the start ({starts_at}): give a later end"
