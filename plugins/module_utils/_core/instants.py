# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Instants that others wrote into observed objects."""

from __future__ import annotations

from datetime import datetime

from .times import TimeError, moment


def instant(text: str) -> datetime | None:
    """A time of an observed object, in UTC; None where the text is none, which is never fresh."""
    try:
        return moment(text)
    except TimeError:
        return None
