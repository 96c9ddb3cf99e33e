# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Freshness by the API server's clock: node leases and quota status ("Healthy schedulable devices")."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from .instants import instant

FUTURE_TOLERANCE: Final = timedelta(seconds=60)
"""How far ahead of the API server a status time may lie."""


CLOCK_RESOLUTION: Final = timedelta(seconds=1)
"""The API server's time comes from a header without fractions, so it may lie so much behind."""


@dataclass(frozen=True)
class LeaseReading:
    """One reading of a node's lease.

    Attributes:
        renewed: its renewTime as text.
        at: the API server's time of the reading as text.
    """

    renewed: str
    at: str


def lease_plain(reading: LeaseReading, limit_seconds: float) -> bool:
    """Whether one reading alone shows a lease renewed within the limit, and not ahead of the clock."""
    renewed, now = instant(reading.renewed), instant(reading.at)
    if renewed is None or now is None:
        return False
    return -CLOCK_RESOLUTION < now - renewed <= timedelta(seconds=limit_seconds)


def lease_fresh(reading: LeaseReading, earlier: LeaseReading | None, limit_seconds: float) -> bool:
    """Whether a node's lease is fresh.

    A renew time that looks old or lies ahead may come from a kubelet whose clock is off; then it has
    to have moved forward between two readings that lie no further apart than the limit.

    Args:
        reading: the last reading.
        earlier: a reading before it, None where it was read once.
        limit_seconds: how long a lease may go without being renewed.
    """
    if lease_plain(reading, limit_seconds):
        return True
    if earlier is None:
        return False
    renewed, before = instant(reading.renewed), instant(earlier.renewed)
    now, then = instant(reading.at), instant(earlier.at)
    if renewed is None or before is None or now is None or then is None:
        return False
    return renewed > before and timedelta(0) <= now - then <= timedelta(seconds=limit_seconds)


def status_age(updated: str, server_time: str) -> float | None:
    """Seconds since a status was written, negative where it lies ahead; None where a time is unreadable."""
    written, now = instant(updated), instant(server_time)
    return None if written is None or now is None else (now - written).total_seconds()


def status_fresh(updated: str, server_time: str, limit_seconds: float) -> bool:
    """Whether a status was written within the limit, or at most a minute ahead of the server's clock."""
    age = status_age(updated, server_time)
    return age is not None and -FUTURE_TOLERANCE.total_seconds() <= age <= limit_seconds
