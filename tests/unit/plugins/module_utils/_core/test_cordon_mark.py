# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Our mark on a cordon is read back as it was written, and nothing else is taken for it."""

from __future__ import annotations

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.cluster_objects import Node
from ansible_collections.gpuops.reservations.plugins.module_utils._core.cordon_mark import (
    CordonMark,
    cordon_mark,
    kept_by_a_person,
)


def node(**annotations: str) -> Node:
    marked = {key.replace("_", "/", 1).replace("_", "-"): value for key, value in annotations.items()}
    return Node.model_validate({"metadata": {"name": "acc-7", "annotations": marked}})


@pytest.mark.parametrize("by", ["transition", "reservation"])
def test_a_mark_comes_back(by: str) -> None:
    mark = CordonMark(by, "01RUN", "2026-01-02T03:04:05Z")  # type: ignore[arg-type]
    assert cordon_mark(node(**{"gpuops.reservations_cordon": mark.to_text()})) == mark


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yes",
        "[]",
        "{}",
        "null",
        '{"by": "person", "id": "x", "since": "y"}',
        '{"by": "transition"}',
        '"x"',
    ],
)
def test_anything_else_is_no_mark(text: str) -> None:
    assert cordon_mark(node(**{"gpuops.reservations_cordon": text})) is None


def test_without_the_annotation_there_is_no_mark() -> None:
    assert cordon_mark(node()) is None


def test_a_person_keeps_a_cordon_with_any_value() -> None:
    assert kept_by_a_person(node(**{"gpuops.reservations_keep_cordoned": ""}))
    assert not kept_by_a_person(node())
