# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Types of the fields of our documents: each says what it takes, and what to do about anything else.

They judge what the strict loader returns: plain scalars that other loaders read in another way arrive
as ``AmbiguousScalar``, an empty value as None, times as text.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Annotated, Any, Final

from . import names, times
from .identity import has_outer_space, is_blank
from .strict_model import BeforeValidator
from .strict_yaml import AmbiguousScalar

_NO_TEXT: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})


class FieldError(ValueError):
    """A field's value is not what the field takes; the message says what to write."""


def _require_text(value: object) -> str:
    if isinstance(value, str):
        if has_outer_space(value):
            raise FieldError("has space at its beginning or end: remove it")
        if not value.isprintable() and any(unicodedata.category(one) in _NO_TEXT for one in value):
            raise FieldError("holds a control character or a line break: write one line of text")
        return value
    if isinstance(value, AmbiguousScalar):
        raise FieldError(f"{value.source[:60]!r} is read differently by different loaders: put it in quotes")
    if isinstance(value, (bool, int)):
        raise FieldError("must be text: put the value in quotes")
    raise FieldError("must be text")


def text_or_empty(value: object) -> str:
    """Text, where nothing, null and only space are all the empty text."""
    if value is None or (isinstance(value, str) and is_blank(value)):
        return ""
    return _require_text(value)


def text(value: object) -> str:
    """Text that has to be there.

    Raises:
        FieldError: empty, not text, outer space, or a control character.
    """
    found = text_or_empty(value)
    if not found:
        raise FieldError("must not be empty")
    return found


def _named(problem_of: Callable[[str], str], *, optional: bool = False) -> Callable[[object], str]:
    def check(value: object) -> str:
        found = text_or_empty(value) if optional else text(value)
        problem = problem_of(found) if found else ""
        if problem:
            raise FieldError(problem)
        return found

    return check


def _time_problem(found: str) -> str:
    try:
        times.moment(found)
    except times.TimeError as error:
        return str(error)
    return ""


def whole_number(least: int) -> Callable[[object], int]:
    """A check for a whole number written in plain decimal digits, judged on the source text."""

    def check(value: object) -> int:
        if isinstance(value, AmbiguousScalar):
            raise FieldError(
                f"{value.source[:60]!r} is not written in plain decimal digits without a leading zero, "
                "or has more of them than can be converted"
            )
        if isinstance(value, bool) or not isinstance(value, int):
            raise FieldError("must be a whole number in plain decimal digits, without quotes")
        if value < least:
            raise FieldError(f"must be at least {least}")
        return value

    return check


def true_or_false(value: object) -> bool:
    """A boolean, which only the words true and false are."""
    if not isinstance(value, bool):
        raise FieldError("must be true or false")
    return value


def nothing_or(value: Any) -> Any:
    """An optional mapping: null, empty text and only space are all nothing."""
    return None if isinstance(value, str) and is_blank(value) else value


Text = Annotated[str, BeforeValidator(text)]
OptionalText = Annotated[str, BeforeValidator(text_or_empty)]
Label = Annotated[str, BeforeValidator(_named(names.label_problem))]
OptionalLabel = Annotated[str, BeforeValidator(_named(names.label_problem, optional=True))]
NodeName = Annotated[str, BeforeValidator(_named(names.node_name_problem))]
Ticket = Annotated[str, BeforeValidator(_named(names.ticket_problem))]
RecordId = Annotated[str, BeforeValidator(_named(names.record_id_problem))]
LockHolder = Annotated[str, BeforeValidator(_named(names.lock_holder_problem))]
Cluster = Annotated[str, BeforeValidator(_named(names.cluster_problem))]
Time = Annotated[str, BeforeValidator(_named(_time_problem))]
OptionalTime = Annotated[str, BeforeValidator(_named(_time_problem, optional=True))]
Devices = Annotated[int, BeforeValidator(whole_number(1))]
Count = Annotated[int, BeforeValidator(whole_number(0))]
Switch = Annotated[bool, BeforeValidator(true_or_false)]
