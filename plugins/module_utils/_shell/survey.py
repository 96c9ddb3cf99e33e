# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Survey variables of an order, as the option ``order`` carries them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

APPROVERS = {"approvedByProduct": "approvedBy.product", "approvedBySre": "approvedBy.sre"}
"""A survey has no mappings, so approvers are two variables."""


def survey_of(params: Mapping[str, Any]) -> dict[str, Any]:
    """Answers by the order's own keys; what was not given is left out."""
    given = params.get("order") or {}
    return {
        APPROVERS.get(key, key): value
        for key, value in given.items()
        if value is not None and "_" not in key  # Ansible keeps an alias beside the option that it stands for
    }
