# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What may be said to tenants (runbook: Tenant and commercial copy), and a check of what is said."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from .identity import is_zero_width

ENTITLEMENT_TITLE: Final = "GPU entitlement"
ENTITLEMENT: Final = (
    "This add-on increases your concurrent GPU quota. It does not reserve idle physical capacity, "
    "so workloads may queue when matching devices are busy."
)
RESERVATION_TITLE: Final = "Reserved GPU capacity"
RESERVATION: Final = (
    "This reservation holds fungible capacity for the named GPU profile and organization. "
    "It does not guarantee a particular device or host. Planned maintenance and hardware-failure terms apply."
)

REFUSED_WORDS: Final = ("dedicated", "reserved", "guaranteed", "always available")
"""Words that a plain add-on's copy never uses."""

# Letters of other scripts and digits that look like a Latin letter; compatibility forms fall to NFKD already.
_LOOKALIKES: Final = {
    ord(other): letter
    for letter, others in {
        "a": "\u0430\u0251\u03b14@",
        "b": "\u0432\u044c",
        "c": "\u0441\u03f2",
        "d": "\u0501\u056a",
        "e": "\u0435\u04bd\u03b53",
        "g": "\u0261\u0581",
        "i": "\u0456\u0131\u03b9",
        "l": "\u04cf|1",
        "n": "\u0578\u043f",
        "r": "\u0433",
        "s": "\u0455$5",
        "t": "\u0442\u03c4",
        "u": "\u03c5\u057d",
        "v": "\u03bd\u0475",
        "y": "\u0443\u04af\u03b3",
    }.items()
    for other in others
}
# Inside a word: hyphens and emphasis, a hyphen at a line's end, an HTML soft hyphen.
_JOIN: Final = r"(?:[-\u2010-\u2015\u2212_.*'/]{0,2}|[-\u2010][ ]*\r?\n[ ]*|&(?:shy|#173|#xad);)"
_APART: Final = r"[\W_]+"


def _pattern(word: str) -> re.Pattern[str]:
    """The word, perhaps hyphenated, or with all of its letters set apart."""
    parts = word.split(" ")
    joined = r"[\W_]*".join(_JOIN.join(part) for part in parts)
    apart = _APART.join(_APART.join(part) for part in parts)
    return re.compile(rf"(?<![a-z])(?:{joined}|{apart})(?![a-z])")


_PATTERNS: Final = tuple((word, _pattern(word)) for word in REFUSED_WORDS)


@dataclass(frozen=True)
class Wording:
    """What a tenant may be told: a title and the runbook's sentence."""

    title: str
    sentence: str


@dataclass(frozen=True)
class RefusedWord:
    """A word that copy for a plain add-on may not use, with its line (from 1) and how it is written there."""

    line: int
    word: str
    written: str


def wording(state: str | None) -> Wording:
    """What is true for a record's state: reserved capacity only while the record is active.

    Args:
        state: the record's state; None where there is no record.
    """
    if state == "active":
        return Wording(RESERVATION_TITLE, RESERVATION)
    return Wording(ENTITLEMENT_TITLE, ENTITLEMENT)


def refused_words(copy: str) -> tuple[RefusedWord, ...]:
    """The words in a plain add-on's copy that promise what it does not give.

    Case, hyphenation, letters set apart or broken over lines, combining marks, zero-width characters and
    look-alike letters hide no word. The runbook's own entitlement sentence passes.
    """
    plain, places = _plain(copy)
    found = []
    for word, pattern in _PATTERNS:
        for match in pattern.finditer(plain):
            start, end = places[match.start()], places[match.end() - 1] + 1
            found.append(RefusedWord(copy.count("\n", 0, start) + 1, word, copy[start:end]))
    return tuple(sorted(found, key=lambda one: (one.line, one.word)))


def _plain(copy: str) -> tuple[str, list[int]]:
    """The copy in plain small Latin letters, with the place in the copy of each of them."""
    letters: list[str] = []
    places: list[int] = []
    for place, character in enumerate(copy):
        if is_zero_width(character):
            continue
        for part in unicodedata.normalize("NFKD", character.casefold()).translate(_LOOKALIKES):
            if not unicodedata.combining(part):
                letters.append(part)
                places.append(place)
    return "".join(letters), places
