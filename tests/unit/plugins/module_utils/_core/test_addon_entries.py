# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The add-on annotation: whole quantities by id, or an error, never a guess."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpuops.reservations.plugins.module_utils._core.addon_entries import (
    AnnotationError,
    quantities,
)


def test_absent_is_none_and_order_stays() -> None:
    assert quantities(None) == {}
    assert quantities("[]") == {}
    text = '[{"addonId": "b", "quantity": 2, "note": "x"}, {"quantity": 0, "addonId": "a"}]'
    assert list(quantities(text).items()) == [("b", 2), ("a", 0)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no list of add-ons"),
        (" ", "no list of add-ons"),
        ("{}", "no list"),
        ("null", "no list"),
        ('"a"', "no list"),
        ("[1]", "entry 0 has no addonId"),
        ("[{}]", "entry 0 has no addonId"),
        ('[{"addonId": "", "quantity": 1}]', "entry 0 has no addonId"),
        ('[{"addonId": "a"}]', "a has quantity None"),
        ('[{"addonId": "a", "quantity": "1"}]', "a has quantity '1'"),
        ('[{"addonId": "a", "quantity": 1.0}]', "a has quantity 1.0"),
        ('[{"addonId": "a", "quantity": -1}]', "a has quantity -1"),
        ('[{"addonId": "a", "quantity": true}]', "a has quantity True"),
        ('[{"addonId": "a", "quantity": 1e400}]', "a has quantity inf"),
        ('[{"addonId": "a", "quantity": Infinity}]', "no JSON"),
        ('[{"addonId": "a", "quantity": 1, "quantity": 2}]', "twice"),
        ('[{"addonId": "a", "quantity": 1}, {"addonId": "a", "quantity": 1}]', "a stands there twice"),
        ("[" * 100_000, "no list of add-ons"),
        ('[{"addonId": "a", "quantity": ' + "9" * 5000 + "}]", "no list of add-ons"),
    ],
    ids=range(19),
)
def test_what_is_ambiguous_is_refused(text: str, says: str) -> None:
    with pytest.raises(AnnotationError, match=says):
        quantities(text)


@given(st.dictionaries(st.text(min_size=1), st.integers(0, 10**6)))
def test_what_was_written_is_read(listed: dict[str, int]) -> None:
    text = json.dumps([{"addonId": name, "quantity": count} for name, count in listed.items()])
    assert quantities(text) == listed


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = quantities(text)
    except AnnotationError:
        return
    assert all(count >= 0 for count in found.values())
