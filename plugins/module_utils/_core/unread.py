# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Something that could not be read, as a value that stands in its place until it is judged."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import GpuopsError


@dataclass(frozen=True)
class Unread:
    """Something that could not be read: never taken for empty, and never for closed."""

    what: str
    cause: str
    next_action: str

    @classmethod
    def of(cls, what: str, error: GpuopsError) -> Unread:
        """What an error left unread."""
        return cls(what, error.message, error.next_action)
