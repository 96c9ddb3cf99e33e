# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The patterns themselves: a needle never hides what its pattern would find."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.gpuops.reservations.plugins.module_utils._core.identifier_patterns import (
    IDENTIFIER_PATTERNS,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.redaction import KINDS


def test_every_pattern_has_a_known_kind_and_needles_in_lower_case() -> None:
    for kind, needles, _pattern in IDENTIFIER_PATTERNS:
        assert kind in KINDS
        assert needles
        assert all(needle and needle == needle.lower() for needle in needles)


@pytest.mark.parametrize("place", range(len(IDENTIFIER_PATTERNS)))
def test_whatever_a_pattern_matches_has_one_of_its_needles(place: int) -> None:
    _kind, needles, pattern = IDENTIFIER_PATTERNS[place]

    @settings(max_examples=20)
    @given(st.from_regex(pattern))
    def matches_hold_a_needle(text: str) -> None:
        assert any(needle in text.lower() for needle in needles)

    matches_hold_a_needle()


@pytest.mark.parametrize("place", range(len(IDENTIFIER_PATTERNS)))
def test_no_pattern_takes_long_for_a_text_that_nearly_matches(place: int) -> None:
    """Quadratic behaviour would take minutes here."""
    _kind, _needles, pattern = IDENTIFIER_PATTERNS[place]
    for piece in ("a", "0", "-", "eyJ", "gpu-", "0:", "x.", "://", " ", "_", "-----BEGIN PRIVATE KEY-----"):
        assert len(list(pattern.finditer(piece * (20_000 // len(piece))))) >= 0
