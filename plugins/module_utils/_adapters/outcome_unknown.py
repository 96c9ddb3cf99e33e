# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The error of a write whose answer never came: it may have been carried out, or not."""

from __future__ import annotations

from .._core.errors import ObservationError


class OutcomeUnknown(ObservationError):
    """A write was sent and no answer came back.

    Never repeated blindly: whoever wrote reads again, and goes on from what is there.
    """

    changed = True
    """Said to be true because it may be: an operator then looks."""
