# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Approval by two people, Product and SRE: the same rule wherever it is asked for."""

from __future__ import annotations

from .fields import Text
from .identity import same_person
from .strict_model import StrictModel


class Approvers(StrictModel):
    """Typed names, for now: nothing verifies who typed them."""

    product: Text
    sre: Text


def two_approvers(product: str, sre: str) -> str:
    """What is wrong with a Product and an SRE approver: trimmed and case-folded they have to differ."""
    if not same_person(product, sre):
        return ""
    return "is the same identity as the SRE approver: two people have to approve"
