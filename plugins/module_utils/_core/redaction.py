# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Identifiers and secrets that must not leave restricted evidence: found, refused, masked.

Full patterns, kind by kind. A Kubernetes UID is no device UUID, the seconds of a time are no PCI address,
a run of digits inside a digest is no card number: a release blocked by an unlucky digest is as bad as a leak.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from .errors import InputError
from .identifier_patterns import IDENTIFIER_PATTERNS
from .payment_numbers import CARD_CANDIDATE, IBAN_CANDIDATE, is_card_number, is_iban

KINDS: Final[Mapping[str, str]] = {
    "device-uuid": "a device UUID",
    "pci-address": "a PCI address",
    "private-key": "a private key",
    "token": "a token or password",
    "card-number": "a card number",
    "bank-account": "a bank account number",
}

_CHECKED: Final[tuple[tuple[str, re.Pattern[str], Callable[[str], bool]], ...]] = (
    ("card-number", CARD_CANDIDATE, is_card_number),
    ("bank-account", IBAN_CANDIDATE, is_iban),
)


@dataclass(frozen=True)
class Hit:
    """Something found in a text: its kind (a key of KINDS) and where it stands, as for slices."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True)
class MaskedHit:
    """Something masked in a value: the path (keys and indices joined by dots, masked) and its kind."""

    path: str
    kind: str


@functools.lru_cache(maxsize=1 << 12)  # a result says the same few words of thousands of objects
def find(text: str) -> tuple[Hit, ...]:
    """Every identifier and secret in a text, in order, none overlapping another."""
    lowered = text.lower()
    hits: list[Hit] = []
    for kind, needles, pattern in IDENTIFIER_PATTERNS:
        for needle in needles:
            if needle in lowered:
                hits.extend(Hit(kind, match.start(), match.end()) for match in pattern.finditer(text))
                break
    for kind, candidate, confirmed in _CHECKED:
        hits.extend(Hit(kind, m.start(), m.end()) for m in candidate.finditer(text) if confirmed(m.group()))
    if len(hits) < 2:
        return tuple(hits)
    kept: list[Hit] = []
    for hit in sorted(hits, key=lambda found: (found.start, -found.end)):
        if not kept or hit.start >= kept[-1].end:
            kept.append(hit)
        elif hit.end > kept[-1].end:
            kept[-1] = Hit(kept[-1].kind, kept[-1].start, hit.end)
    return tuple(kept)


def mask_text(text: str) -> str:
    """The text with each identifier replaced by its kind in angle brackets."""
    hits = find(text)
    for hit in reversed(hits):
        text = f"{text[: hit.start]}<{hit.kind}>{text[hit.end :]}"
    return text


def refuse(text: str, where: str) -> None:
    """Stop when a text that is to be written holds an identifier.

    Args:
        text: what is to be written.
        where: the file and field, or the option, for the message.

    Raises:
        InputError: code ``identifier-in-document``; the message masks what was found.
    """
    hits = find(text)
    if not hits:
        return
    kinds = sorted({hit.kind for hit in hits})
    raise InputError(
        "identifier-in-document",
        f"{mask_text(where)} holds {' and '.join(KINDS[kind] for kind in kinds)}: {mask_text(text)[:200]!r}",
        next_action="remove it: identifiers, secrets and payment data belong in restricted evidence only",
        details={"where": mask_text(where), "kinds": kinds},
    )


def refuse_value(value: Any, where: str) -> None:
    """Stop when a value that is to be written holds an identifier anywhere, keys and numbers among it.

    Raises:
        InputError: as :func:`refuse`, naming the path below ``where``.
    """
    if isinstance(value, Mapping):
        for key, below in value.items():
            refuse(str(key), where)
            refuse_value(below, f"{where}.{key}")
    elif isinstance(value, (list, tuple)):
        for index, below in enumerate(value):
            refuse_value(below, f"{where}[{index}]")
    elif isinstance(value, (str, int)) and not isinstance(value, bool):
        refuse(_as_text(value), where)


def mask(value: Any) -> tuple[Any, tuple[MaskedHit, ...]]:
    """A JSON value with every identifier in it masked, for messages and results.

    Args:
        value: dict, list or tuple, text, number, boolean or None, nested.

    Returns:
        The masked value (tuples become lists), and what was masked where.
    """
    hits: list[MaskedHit] = []
    return _mask(value, "", hits), tuple(hits)


def _mask(value: Any, path: str, hits: list[MaskedHit]) -> Any:
    if isinstance(value, str):
        return _mask_string(value, path, hits)
    if isinstance(value, Mapping):
        return {
            _mask_key(key, path, hits): _mask(below, f"{path}.{mask_text(str(key))}".lstrip("."), hits)
            for key, below in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_mask(below, f"{path}.{index}".lstrip("."), hits) for index, below in enumerate(value)]
    if isinstance(value, int) and not isinstance(value, bool):
        masked = _mask_string(_as_text(value), path, hits)
        return value if masked == _as_text(value) else masked
    return value


def _mask_key(key: object, path: str, hits: list[MaskedHit]) -> str:
    return _mask_string(str(key), path, hits)


def _mask_string(text: str, path: str, hits: list[MaskedHit]) -> str:
    found = find(text)
    if not found:
        return text
    hits.extend(MaskedHit(path, hit.kind) for hit in found)
    return mask_text(text)


def _as_text(value: str | int) -> str:
    if isinstance(value, str):
        return value
    return str(value) if abs(value) < 10**19 else ""  # no card number is longer
