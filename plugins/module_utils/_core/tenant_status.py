# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an Organization's or Project's status says of one profile's devices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .amount import QuantityError, device_count
from .cluster_objects import TenantStatus


@dataclass(frozen=True)
class StatusReading:
    """status.quotaUsage.accelerators.<profile>.devices; an absent entry is not zero.

    Attributes:
        present: whether there is an entry.
        hard: its hard devices; None where absent or unreadable.
        used: its used devices; None where absent or unreadable.
        problem: why it cannot be read; empty where it can or is absent.
    """

    present: bool
    hard: int | None = None
    used: int | None = None
    problem: str = ""


def _devices(entry: Mapping[str, object], key: str) -> tuple[int | None, str]:
    value = entry.get(key)
    if not isinstance(value, str):
        return None, f"{key} is {'absent' if value is None else 'no text'}"
    try:
        return device_count(value), ""
    except QuantityError as error:
        return None, f"{key}: {error}"


def read_status(status: TenantStatus, profile_id: str) -> StatusReading:
    """Read one profile's entry.

    Args:
        status: of an Organization or a Project.
        profile_id: the pool's profile.
    """
    if status.quota_usage is None or profile_id not in status.quota_usage.accelerators:
        return StatusReading(present=False)
    entry = status.quota_usage.accelerators[profile_id]
    devices = entry.get("devices") if isinstance(entry, Mapping) else None
    if devices is None:
        return StatusReading(present=False)
    if not isinstance(devices, Mapping):
        return StatusReading(present=True, problem="devices is no mapping")
    hard, hard_problem = _devices(devices, "hard")
    used, used_problem = _devices(devices, "used")
    return StatusReading(present=True, hard=hard, used=used, problem=hard_problem or used_problem)
