# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""One check of a report: an identified question with its answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal

from .strict_model import StrictModel

MOST_TOLD: Final = 10
"""A message tells so many findings; results have them all."""

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


def told(texts: Iterable[str]) -> str:
    """Sentences as one, each once; of many, the first few and how many more there are."""
    return "; ".join(bounded(tuple(dict.fromkeys(filter(None, texts)))))


def bounded(texts: Sequence[str], *, prefix: str = "") -> tuple[str, ...]:
    """The first few of many texts, and a last one that says how many more there are.

    Args:
        texts: in their order.
        prefix: what the last one begins with.
    """
    more = len(texts) - MOST_TOLD
    return (*texts[:MOST_TOLD], f"{prefix}and {more} more, see checks") if more > 0 else tuple(texts)
