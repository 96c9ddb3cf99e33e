# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Text that people typed: what counts as space, and when two approvers are one person."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Final

# Characters that show nothing and are in no format or space category: fillers, joiners, braille blank.
_BLANK_LETTERS: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")


@lru_cache(maxsize=4096)
def is_zero_width(character: str) -> bool:
    """Whether a character shows nothing: format characters and the fillers."""
    return character in _BLANK_LETTERS or unicodedata.category(character) == "Cf"


@lru_cache(maxsize=4096)
def is_space(character: str) -> bool:
    """Whether a character is a space of any kind, zero-width ones among them."""
    return character.isspace() or unicodedata.category(character).startswith("Z") or is_zero_width(character)


def is_blank(text: str) -> bool:
    """Whether nothing but space is there."""
    first = text[:1]
    if first.isascii() and first.isalnum():
        return False
    return all(is_space(character) for character in text)


def has_outer_space(text: str) -> bool:
    """Whether text begins or ends with a space of any kind."""
    return bool(text) and (is_space(text[0]) or is_space(text[-1]))


def folded(identity: str) -> str:
    """An identity in the form that is compared: no outer space, no zero-width character, case folded.

    Spaces inside count as one plain space each, so that a no-break space makes no second person.
    Nothing else is interpreted: no sub-address, display name or placeholder.
    """
    seen = "".join(" " if is_space(c) else c for c in identity if not is_zero_width(c))
    return seen.strip(" ").casefold()


def same_person(one: str, other: str) -> bool:
    """Whether two approvers are one: equal when trimmed and case-folded."""
    return folded(one) == folded(other)
