# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Label selectors mean what they mean to Kubernetes, and say what does not match."""

from __future__ import annotations

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.label_selector import LabelSelector


@pytest.mark.parametrize(
    ("requirement", "matches"),
    [
        ({"key": "tier", "operator": "In", "values": ["a", "b"]}, True),
        ({"key": "tier", "operator": "In", "values": ["b"]}, False),
        ({"key": "tier", "operator": "In"}, False),
        ({"key": "none", "operator": "In", "values": ["a"]}, False),
        ({"key": "tier", "operator": "NotIn", "values": ["b"]}, True),
        ({"key": "tier", "operator": "NotIn", "values": ["a"]}, False),
        ({"key": "none", "operator": "NotIn", "values": ["a"]}, True),
        ({"key": "tier", "operator": "Exists"}, True),
        ({"key": "none", "operator": "Exists"}, False),
        ({"key": "tier", "operator": "DoesNotExist"}, False),
        ({"key": "none", "operator": "DoesNotExist"}, True),
        ({"key": "size", "operator": "Gt", "values": ["7"]}, True),
        ({"key": "size", "operator": "Gt", "values": ["8"]}, False),
        ({"key": "size", "operator": "Lt", "values": ["9"]}, True),
        ({"key": "tier", "operator": "Gt", "values": ["1"]}, False),
        ({"key": "none", "operator": "Lt", "values": ["1"]}, False),
        ({"key": "size", "operator": "Lt"}, False),
        ({"key": "tier", "operator": "Sometimes"}, False),
    ],
)
def test_each_operator(requirement: dict[str, object], *, matches: bool) -> None:
    selector = LabelSelector.model_validate({"matchExpressions": [requirement]})
    assert selector.matches({"tier": "a", "size": "8"}) is matches


def test_all_parts_have_to_match_and_the_odd_one_is_named() -> None:
    selector = LabelSelector.model_validate(
        {
            "matchLabels": {"app": "train", "tier": "a"},
            "matchExpressions": [{"key": "x", "operator": "Exists"}],
        }
    )
    assert selector.mismatches({"app": "other", "tier": "a"}) == (
        "app In [train], but app is other",
        "x Exists, but there is no label x",
    )
    assert selector.text == "app=train, tier=a, x Exists"


def test_an_empty_selector_matches_everything_and_says_so() -> None:
    selector = LabelSelector()
    assert selector.empty
    assert selector.matches({})
    assert selector.text == "every object"
