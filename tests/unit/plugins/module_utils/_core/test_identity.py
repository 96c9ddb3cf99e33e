# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Identities: what is space, and when two approvers are one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpuops.reservations.plugins.module_utils._core.identity import (
    folded,
    has_outer_space,
    is_blank,
    same_person,
)

SPACES = [" ", "\t", "\u00a0", "\u1680", "\u2003", "\u200a", "\u202f", "\u205f", "\u3000", "\u2028"]
ZERO_WIDTH = [
    "\u200b",
    "\u200c",
    "\u200d",
    "\u2060",
    "\ufeff",
    "\u00ad",
    "\u180e",
    "\u200e",
    "\u034f",
    "\u3164",
]


@pytest.mark.parametrize("space", SPACES + ZERO_WIDTH)
def test_a10_all_unicode_spaces_and_zero_width_characters_are_trimmed(space: str) -> None:
    assert same_person(f"{space}Owner@example.com", f"owner@EXAMPLE.com{space}{space}")
    assert has_outer_space(f"{space}x")
    assert has_outer_space(f"x{space}")
    assert is_blank(space * 3)


@pytest.mark.parametrize("character", ZERO_WIDTH)
def test_a10_a_zero_width_character_inside_makes_no_second_person(character: str) -> None:
    assert same_person(f"p.ow{character}ner", "p.owner")


@pytest.mark.parametrize(("one", "other"), [("STRASSE", "straße"), ("İ", "i\u0307"), ("ΣΊΣΥΦΟΣ", "σίσυφος")])
def test_a10_case_is_folded_not_only_lowered(one: str, other: str) -> None:
    assert same_person(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("p.owner", "s.owner"),
        ("owner+product@example.com", "owner@example.com"),
        ("n/a", "none"),
        ("P. Owner <p@example.com>", "p@example.com"),
        ("powner", "p owner"),
    ],
)
def test_a10_nothing_is_interpreted_beyond_that(one: str, other: str) -> None:
    assert not same_person(one, other)


def test_text_without_outer_space() -> None:
    assert not has_outer_space("a b")
    assert not has_outer_space("")
    assert is_blank("")
    assert not is_blank(" x ")


@given(st.text())
def test_folding_twice_changes_nothing_more(identity: str) -> None:
    once = folded(identity)
    assert folded(once) == folded(folded(once))
    assert same_person(identity, identity)


@given(st.text(), st.sampled_from(SPACES + ZERO_WIDTH), st.sampled_from(SPACES + ZERO_WIDTH))
def test_a10_outer_space_never_makes_a_second_person(identity: str, before: str, after: str) -> None:
    assert same_person(before + identity + after, identity)
