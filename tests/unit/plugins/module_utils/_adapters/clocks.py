# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A clock that passes only when somebody waits."""

from __future__ import annotations


class WaitingClock:
    """Pauses take no time and are remembered."""

    def __init__(self) -> None:
        self.time = 1000.0
        self.pauses: list[float] = []

    def now(self) -> float:
        return self.time

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.time += seconds
