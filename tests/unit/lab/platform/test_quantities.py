# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Quantities keep their exact amount through parse and format."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.platform import quantities


@given(st.integers(0, 2**50))
def test_memory_is_exact(amount: int) -> None:
    assert quantities.parse(quantities.memory(Decimal(amount))) == amount


@given(st.integers(0, 10**9))
def test_counts_are_exact_to_a_thousandth(thousandths: int) -> None:
    amount = Decimal(thousandths) / 1000
    assert quantities.parse(quantities.count(amount)) == amount


@pytest.mark.parametrize("text", ["0x8", "", "1 0", "eight"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"quantity|number|suffix"):
        quantities.parse(text)
