# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run ids: sortable, unique, and of a ULID's shape."""

from __future__ import annotations

import re
import time

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.identity import new_run_id


def test_a_run_id_is_a_ulid() -> None:
    assert re.fullmatch(r"[0-7][0-9A-HJKMNP-TV-Z]{25}", new_run_id())


def test_run_ids_are_unique() -> None:
    assert len({new_run_id() for _ in range(2000)}) == 2000


def test_run_ids_sort_by_when_they_began() -> None:
    earlier = new_run_id()
    begun = time.time_ns() // 1_000_000
    while time.time_ns() // 1_000_000 == begun:
        pass
    assert earlier < new_run_id()
