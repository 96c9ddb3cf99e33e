# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Approval by two people."""

from __future__ import annotations

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.approval import (
    Approvers,
    two_approvers,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.strict_model import ValidationError


@pytest.mark.parametrize(
    ("product", "sre"),
    [
        ("p", "p"),
        ("P.Owner", "p.owner"),
        ("p\u200b.owner", "p.owner"),
        ("Straße", "STRASSE"),
        ("p o", "p\u00a0o"),
    ],
)
def test_a10_one_person_is_not_two(product: str, sre: str) -> None:
    assert "two people" in two_approvers(product, sre)


def test_a10_two_people() -> None:
    assert two_approvers("p.owner", "s.owner") == ""


@pytest.mark.parametrize(
    "value", [{"product": "p"}, {"product": "p", "sre": ""}, {"product": "p", "sre": "s", "x": 1}]
)
def test_both_have_to_be_named_and_nobody_else(value: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Approvers.model_validate(value)
