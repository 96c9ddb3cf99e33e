# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Somebody's cluster is taken only when it holds nothing of its own."""

from __future__ import annotations

import pytest

from lab.cluster_freshness import EMPTY, new_enough, strangers

FRESH = ["default", "kube-system", "kube-public", "kube-node-lease", "local-path-storage"]
NOTHING: dict[str, list[str]] = {path: [] for path in EMPTY}


def test_a_new_cluster_is_taken() -> None:
    assert strangers(FRESH, NOTHING) == []
    assert strangers(FRESH[:4], NOTHING) == []


def test_another_namespace_is_named() -> None:
    assert strangers([*FRESH, "payments"], NOTHING) == ["namespace payments"]


@pytest.mark.parametrize("path", EMPTY)
def test_anything_in_a_collection_that_ought_to_be_empty_is_named(path: str) -> None:
    kind = path.rsplit("/", maxsplit=1)[-1]
    assert strangers(FRESH, {**NOTHING, path: ["one", "two"]}) == [f"{kind} one", f"{kind} two"]


@pytest.mark.parametrize(
    ("minor", "enough"), [("36", True), ("36+", True), ("40", True), ("35", False), ("", False), ("x", False)]
)
def test_new_enough(minor: str, enough: bool) -> None:
    assert new_enough(minor) is enough
