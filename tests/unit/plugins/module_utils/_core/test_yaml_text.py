# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plain values as YAML: read back by any loader as what they were."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpuops.reservations.plugins.module_utils._core.strict_yaml import load
from ansible_collections.gpuops.reservations.plugins.module_utils._core.yaml_text import to_yaml

TEXT = st.text(
    alphabet=st.characters(
        exclude_categories=("Cs", "Cc"), exclude_characters="\ufffe\uffff\ufeff\u2028\u2029"
    )
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(TEXT, st.integers(min_value=0), st.booleans(), st.none()),
    lambda below: st.one_of(
        st.lists(below, max_size=3), st.dictionaries(TEXT.filter(lambda key: key != "<<"), below, max_size=3)
    ),
    max_leaves=8,
)


def listed(value: Any) -> Any:
    """Lists as the strict loader gives them: tuples."""
    if isinstance(value, list):
        return tuple(listed(item) for item in value)
    if isinstance(value, dict):
        return {key: listed(below) for key, below in value.items()}
    return value


@given(st.dictionaries(TEXT, VALUES, max_size=4))
def test_both_loaders_read_back_what_was_written(value: dict[str, Any]) -> None:
    text = to_yaml(value)
    assert yaml.safe_load(text) == value
    if "<<" not in text:
        assert load(text).value == listed(value)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "8",
        "010",
        "yes",
        "NO",
        "null",
        "~",
        "true",
        "2026-11-01T09:00:00Z",
        "2026-11-01",
        "1:30",
        "1e3",
        ".inf",
        "- x",
        "# x",
        "a: b",
        "a #b",
        "'",
        '"',
        "&a",
        "*a",
        "!a",
        "%a",
        "@a",
        "`a",
        "{",
        "[",
        "|",
        ">",
        "?",
        "<<",
    ],
)
def test_what_could_be_read_as_something_else_stands_in_double_quotes(value: str) -> None:
    assert to_yaml({"a": value}).startswith('a: "')


@pytest.mark.parametrize(
    "value", ["borealis", "h100-vm", "gpu-res-lab-1", "INV-1", "desk@example.com", "two words", "1a"]
)
def test_plain_words_stand_without_quotes(value: str) -> None:
    assert to_yaml({"a": value}) == f"a: {value}\n"


def test_keys_stay_in_their_order_and_nothing_is_folded_or_aliased() -> None:
    shared = {"x": "y" * 300}
    text = to_yaml({"z": shared, "a": shared, "m": [], "k": {}})
    assert text == f"z:\n  x: {'y' * 300}\na:\n  x: {'y' * 300}\nm: []\nk: {{}}\n"


def test_letters_of_other_scripts_stay_readable() -> None:
    assert to_yaml({"a": "Zürich Ökostrom"}) == 'a: "Zürich Ökostrom"\n'
