# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""For whom a gate is closed: it never opens while somebody needs it closed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpuops.reservations.plugins.module_utils._core.gate_use import (
    Gate,
    close_for,
    let_go,
    may_open,
    use_of,
    why_not_open,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.lock import LockDocument, nobody


def closed(*holders: str, gate: Gate = "vm", open_now: bool = True) -> LockDocument:
    document = nobody()
    for place, holder in enumerate(holders):
        document = close_for(document, gate, holder, open_now=open_now if place == 0 else False)
    return document


def test_the_first_holder_notes_whether_it_was_open() -> None:
    assert use_of(closed("lab-1"), "vm").open_before
    assert not use_of(closed("lab-1", open_now=False), "vm").open_before


def test_those_who_come_later_find_it_closed_because_of_the_first() -> None:
    use = use_of(closed("lab-1", "lab-2", "transition:gpu-01"), "vm")
    assert use.open_before
    assert use.closed_for == ("lab-1", "lab-2", "transition:gpu-01")


def test_closing_twice_for_one_holder_is_once() -> None:
    document = closed("lab-1")
    assert close_for(document, "vm", "lab-1", open_now=False) == document


def test_letting_go_twice_is_once() -> None:
    document = let_go(closed("lab-1", "lab-2"), "vm", "lab-1")
    assert use_of(document, "vm").closed_for == ("lab-2",)
    assert let_go(document, "vm", "lab-1") == document


def test_after_everybody_let_go_the_next_first_notes_anew() -> None:
    document = let_go(closed("lab-1"), "vm", "lab-1")
    assert not use_of(close_for(document, "vm", "lab-2", open_now=False), "vm").open_before


def test_the_two_gates_are_apart() -> None:
    document = closed("lab-1", gate="shared")
    assert use_of(document, "vm").closed_for == ()
    assert use_of(document, "shared").closed_for == ("lab-1",)


def test_the_last_one_opens_what_was_open() -> None:
    document = closed("lab-1")
    assert may_open(document, "vm", "lab-1", frozen=False, reopen=True)
    assert may_open(let_go(document, "vm", "lab-1"), "vm", "lab-1", frozen=False, reopen=True)


@pytest.mark.parametrize(
    ("holders", "open_now", "frozen", "reopen", "told"),
    [
        (("lab-1", "lab-2"), True, False, True, "lab-2"),
        (("lab-1",), False, False, True, "not open before"),
        (("lab-1",), True, True, True, "a freeze stands"),
        (("lab-1",), True, False, False, "reopen was not asked for"),
    ],
)
def test_why_it_stays_closed(
    holders: tuple[str, ...], open_now: bool, frozen: bool, reopen: bool, told: str
) -> None:
    document = closed(*holders, open_now=open_now)
    assert told in why_not_open(document, "vm", "lab-1", frozen=frozen, reopen=reopen)
    assert not may_open(document, "vm", "lab-1", frozen=frozen, reopen=reopen)


HOLDERS = ["lab-1", "lab-2", "transition:gpu-01", "reservation:team-a"]
STEPS = st.lists(
    st.tuples(st.sampled_from(["close", "go"]), st.sampled_from(HOLDERS), st.booleans()), max_size=40
)


@given(STEPS, st.booleans())
def test_of_any_interleaving_the_gate_never_opens_while_somebody_needs_it_closed(
    steps: list[tuple[Any, ...]], open_at_first: bool
) -> None:
    """A model of the gate itself: it opens exactly when the document allows it."""
    document = nobody()
    gate_open = open_at_first
    needed: set[str] = set()
    for kind, holder, reopen in steps:
        if kind == "close":
            document = close_for(document, "vm", holder, open_now=gate_open)
            gate_open = False
            needed.add(holder)
        else:
            opens = holder in needed and may_open(document, "vm", holder, frozen=False, reopen=reopen)
            document = let_go(document, "vm", holder)
            needed.discard(holder)
            if opens:
                assert not needed
                assert open_at_first
                gate_open = True
        assert set(use_of(document, "vm").closed_for) == needed
        assert not (gate_open and needed)


@given(STEPS)
def test_with_a_freeze_standing_nothing_opens(steps: list[tuple[Any, ...]]) -> None:
    document = nobody()
    for kind, holder, _reopen in steps:
        if kind == "close":
            document = close_for(document, "vm", holder, open_now=True)
        else:
            document = let_go(document, "vm", holder)
        assert not any(may_open(document, "vm", other, frozen=True, reopen=True) for other in HOLDERS)
