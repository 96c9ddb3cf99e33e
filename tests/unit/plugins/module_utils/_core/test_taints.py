# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Taints and tolerations, judged as the scheduler does."""

from __future__ import annotations

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.cluster_objects import Toleration
from ansible_collections.gpuops.reservations.plugins.module_utils._core.taints import (
    reserved_taints,
    same_taint,
    tolerates,
    tolerates_tenant,
    untolerated,
)

TAINT = {"key": "reserved", "value": "foo", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("toleration", "covers"),
    [
        ({"key": "reserved", "value": "foo"}, True),
        ({"key": "reserved", "operator": "Equal", "value": "foo", "effect": "NoSchedule"}, True),
        ({"key": "reserved", "value": "foo", "effect": "NoExecute"}, False),
        ({"key": "reserved", "value": "bar"}, False),
        ({"key": "reserved"}, False),
        ({"key": "reserved", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"operator": "Exists", "effect": "NoExecute"}, False),
        ({"value": "foo"}, False),
        ({"key": "other", "operator": "Exists"}, False),
        ({"key": "reserved", "operator": "Gt", "value": "1"}, False),
    ],
)
def test_what_a_toleration_covers(toleration: dict[str, str], *, covers: bool) -> None:
    assert tolerates(Toleration.model_validate(toleration), TAINT) is covers


def test_a_preference_keeps_nobody_off() -> None:
    soft = {**TAINT, "effect": "PreferNoSchedule"}
    assert untolerated((), [TAINT, soft]) == (TAINT,)


def test_by_value_means_that_very_value() -> None:
    assert tolerates_tenant([Toleration(key="reserved", value="foo")], "foo")
    assert not tolerates_tenant([Toleration(key="reserved", operator="Exists")], "foo")
    assert not tolerates_tenant([Toleration(key="reserved", value="foo")], "bar")


def test_an_absent_value_is_an_empty_one() -> None:
    bare = {"key": "reserved", "effect": "NoSchedule"}
    assert same_taint(bare, {**bare, "value": ""})
    assert tolerates(Toleration(key="reserved"), bare)
    assert reserved_taints([bare, {"key": "other", "effect": "NoSchedule"}]) == (bare,)
