# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The equation's arithmetic: unknowns and no limit never become numbers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpuops.reservations.plugins.module_utils._core.amount import UNLIMITED, Amount
from ansible_collections.gpuops.reservations.plugins.module_utils._core.equation import Equation, sum_amounts

count = st.one_of(st.none(), st.integers(0, 10**6))
amount = st.one_of(count, st.just(UNLIMITED))


def test_the_runbooks_equation() -> None:
    equation = Equation(32, 8, 8, 0, 6, 1)
    assert (equation.reserved, equation.headroom, equation.holds) == (16, 9, True)
    assert equation.with_pending(9).headroom == 0
    assert equation.with_pending(10).headroom == -1
    assert not equation.with_pending(10).holds


equations = st.builds(Equation, count, count, count, count, amount, count)


@given(equations)
def test_a_headroom_rests_on_no_unknown_and_holds_only_with_one(equation: Equation) -> None:
    terms = (
        equation.healthy,
        equation.pending,
        equation.active,
        equation.releasing,
        equation.non_reserved,
        equation.spare,
    )
    if None in terms or equation.non_reserved == UNLIMITED:
        assert equation.headroom is None
        assert not equation.holds
        assert equation.result()["headroom"] == "unknown"
    else:
        assert equation.headroom is not None
        assert equation.holds is (equation.headroom >= 0)
    assert equation.result()["healthy"] == ("unknown" if equation.healthy is None else equation.healthy)


@given(st.lists(amount, max_size=8))
def test_sums(values: list[Amount | None]) -> None:
    found = sum_amounts(values)
    if None in values:
        assert found is None
    elif UNLIMITED in values:
        assert found == UNLIMITED
    else:
        assert found == sum(value for value in values if isinstance(value, int))
