# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names of runs: a ULID, so that names sort by when they began and two runs never share one."""

from __future__ import annotations

import secrets
import time
from typing import Final

_CROCKFORD: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_RANDOM_BITS: Final = 80
_LETTERS: Final = 26


def new_run_id() -> str:
    """A fresh ULID: 48 bits of milliseconds since 1970, 80 random bits; 26 letters and digits."""
    number = (time.time_ns() // 1_000_000) << _RANDOM_BITS | secrets.randbits(_RANDOM_BITS)
    letters = []
    for _ in range(_LETTERS):
        number, digit = divmod(number, len(_CROCKFORD))
        letters.append(_CROCKFORD[digit])
    return "".join(reversed(letters))
