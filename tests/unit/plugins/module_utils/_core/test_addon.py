# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The add-on annotation: one quantity set, everything else as it stands."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpuops.reservations.plugins.module_utils._core.addon import ANNOTATION, set_quantity
from ansible_collections.gpuops.reservations.plugins.module_utils._core.addon_entries import (
    AnnotationError,
    quantities,
)


@pytest.mark.parametrize(
    ("before", "quantity", "after"),
    [
        (None, 8, '[{"addonId":"r","quantity":8}]'),
        (None, 0, None),
        ("[]", 8, '[{"addonId":"r","quantity":8}]'),
        ("[ ]", 8, '[{"addonId":"r","quantity":8} ]'),
        ('[{"addonId":"a","quantity":4}]', 8, '[{"addonId":"a","quantity":4},{"addonId":"r","quantity":8}]'),
        (
            '[{"addonId": "a", "quantity": 4}]',
            8,
            '[{"addonId": "a", "quantity": 4}, {"addonId": "r", "quantity": 8}]',
        ),
        ('[{"addonId":"r","quantity":4}]', 8, '[{"addonId":"r","quantity":8}]'),
        (
            '[{"addonId":"a","quantity":1},{"quantity":4 ,"since":1.50,"addonId":"r","x":{"quantity":9}}]',
            8,
            '[{"addonId":"a","quantity":1},{"quantity":8 ,"since":1.50,"addonId":"r","x":{"quantity":9}}]',
        ),
        ('[{"addonId":"r","quantity":4}]', 0, "[]"),
        ('[{"addonId":"r","quantity":4},{"addonId":"a","quantity":1}]', 0, '[{"addonId":"a","quantity":1}]'),
        ('[{"addonId":"a","quantity":1}, {"addonId":"r","quantity":4}]', 0, '[{"addonId":"a","quantity":1}]'),
        (
            '[{"addonId":"a","quantity":1},\n{"addonId":"r","quantity":4},\n{"addonId":"b","quantity":2}]\n',
            0,
            '[{"addonId":"a","quantity":1},\n{"addonId":"b","quantity":2}]\n',
        ),
        ('[{"addonId":"\\u0072","quantity":4}]', 8, '[{"addonId":"\\u0072","quantity":8}]'),
        (
            '[{"addonId":"r","note":"}],{\\"quantity\\":1","quantity":4}]',
            5,
            '[{"addonId":"r","note":"}],{\\"quantity\\":1","quantity":5}]',
        ),
    ],
)
def test_one_quantity_is_set(before: str | None, quantity: int, after: str | None) -> None:
    change = set_quantity(before, "r", quantity)
    assert change.text == after
    assert change.after == quantity
    assert change.changed is (change.before != quantity)


@pytest.mark.parametrize(
    ("text", "quantity"),
    [('[ {"addonId" : "r", "quantity" : 4} ]', 4), ("[ ]", 0), ('[{"addonId":"r","quantity":0}]', 0)],
)
def test_what_is_so_already_is_not_touched(text: str, quantity: int) -> None:
    change = set_quantity(text, "r", quantity)
    assert change.text == text
    assert not change.changed


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "null",
        "{}",
        "x",
        "[",
        '[{"addonId":"r"}]',
        '[{"quantity":1}]',
        '[{"addonId":"r","quantity":"4"}]',
        '[{"addonId":"r","quantity":1.5}]',
        '[{"addonId":"r","quantity":4.0}]',
        '[{"addonId":"r","quantity":-1}]',
        '[{"addonId":"r","quantity":true}]',
        '[{"addonId":"r","quantity":null}]',
        '[{"addonId":"","quantity":1}]',
        '[{"addonId":"r","quantity":1},{"addonId":"r","quantity":1}]',
        '[{"addonId":"r","quantity":1,"quantity":2}]',
        '[{"addonId":"r","quantity":1}] x',
        '[{"addonId":"r","quantity":NaN}]',
        "[1]",
        '[["r",1]]',
        '[{"addonId":"a","quantity":"1"},{"addonId":"r","quantity":1}]',
    ],
)
def test_b19_what_does_not_say_how_many_of_what_is_not_edited(text: str) -> None:
    with pytest.raises(AnnotationError):
        set_quantity(text, "r", 8)


def test_a_negative_quantity_is_refused() -> None:
    with pytest.raises(ValueError, match="-1"):
        set_quantity(None, "r", -1)


def test_the_annotations_name() -> None:
    assert ANNOTATION == "billing.kube-dc.com/addons"


NAMES = st.sampled_from(["a", "b", "r", "é", 'x"y'])
EXTRA = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda below: st.lists(below, max_size=2),
)


@st.composite
def listings(draw: st.DrawFn) -> str:
    entries = []
    for name in draw(st.lists(NAMES, unique=True, max_size=4)):
        entry: dict[str, Any] = {"addonId": name, "quantity": draw(st.integers(0, 20))}
        entry.update(draw(st.dictionaries(st.sampled_from(["note", "since", "x"]), EXTRA, max_size=2)))
        keys = draw(st.permutations(list(entry)))
        entries.append({key: entry[key] for key in keys})
    indent = draw(st.sampled_from([None, 0, 2]))
    return json.dumps(entries, indent=indent, ensure_ascii=draw(st.booleans()))


@given(listings(), st.integers(0, 20))
def test_everything_else_in_any_annotation_stays(text: str, quantity: int) -> None:
    change = set_quantity(text, "r", quantity)
    assert change.text is not None
    before, after = json.loads(text), json.loads(change.text)
    assert [entry for entry in after if entry["addonId"] != "r"] == [
        entry for entry in before if entry["addonId"] != "r"
    ]
    assert quantities(change.text).get("r", 0) == quantity
    assert set_quantity(change.text, "r", quantity).text == change.text
    mine = [entry for entry in before if entry["addonId"] == "r"]
    if mine and quantity:
        (now,) = [entry for entry in after if entry["addonId"] == "r"]
        assert {**now, "quantity": 0} == {**mine[0], "quantity": 0}
        assert [entry["addonId"] for entry in after] == [entry["addonId"] for entry in before]
