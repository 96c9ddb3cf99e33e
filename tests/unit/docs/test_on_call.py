# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The on-call page has an entry for every code that a run can stop with, and for no other."""

from __future__ import annotations

import re
from itertools import pairwise

from .guide_examples import GUIDES
from .source_codes import codes

PAGE = (GUIDES / "guide_on_call.rst").read_text(encoding="utf-8")
ENTRIES = re.findall(r"^``([a-z0-9-]+)``$", PAGE, re.MULTILINE)


def test_every_code_has_an_entry() -> None:
    missing = {code: file for code, file in codes().items() if code not in ENTRIES}
    assert not missing, "\n" + "\n".join(f"{code} ({file})" for code, file in sorted(missing.items()))


def test_every_entry_is_a_code() -> None:
    gone = sorted(set(ENTRIES) - codes().keys())
    assert not gone


def test_no_code_has_two_entries() -> None:
    assert not [one for one, other in pairwise(sorted(ENTRIES)) if one == other]


def test_every_entry_says_what_happened_and_what_to_do() -> None:
    for code, text in zip(ENTRIES, re.split(r"^``[a-z0-9-]+``$", PAGE, flags=re.MULTILINE)[1:], strict=True):
        body = " ".join(text.split("\n\n", 1)[0].split())
        assert "*Do:* " in body, code
        assert len(body.split("*Do:* ")[0].split()) >= 4, code
