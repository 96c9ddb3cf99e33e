# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A write without an answer counts as a change, and as no observation."""

from __future__ import annotations

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.outcome_unknown import (
    OutcomeUnknown,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import ObservationError


def test_it_says_that_something_may_have_changed() -> None:
    error = OutcomeUnknown("write-outcome-unknown", "no answer", next_action="look")
    assert isinstance(error, ObservationError)
    assert error.changed is True
