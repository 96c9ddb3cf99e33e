# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""One check of a report: an identified question with its answer."""

from __future__ import annotations

from typing import Any, Literal

from .strict_model import StrictModel

Status = Literal["pass", "fail", "unknown", "not_applicable"]


class Check(StrictModel):
    """An answer to one identified question.

    ``unknown`` is never ``pass``: a reader that only tells those two apart stops on both.

    Attributes:
        id: stable identifier, lower case with hyphens; the audit's finding ids where one fits.
        status: the answer.
        message: cause and facts, naming the object.
        next_action: the exact next step; empty where the check passed.
        object: what it is about (``node/gpu-01``, ``organization/aurora``), empty for the whole.
    """

    id: str
    status: Status
    message: str
    next_action: str = ""
    object: str = ""

    def result(self) -> dict[str, Any]:
        """The check as a module returns it: a dict of text values."""
        return self.model_dump(mode="json")


def passed(checks: tuple[Check, ...]) -> bool:
    """Whether nothing failed and nothing is unknown."""
    return all(check.status in ("pass", "not_applicable") for check in checks)


def stopping(checks: tuple[Check, ...]) -> tuple[Check, ...]:
    """The checks that stop a run: failed or unknown ones, in their order."""
    return tuple(check for check in checks if check.status in ("fail", "unknown"))
