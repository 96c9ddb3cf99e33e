# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""How many of which add-on an Organization's annotation lists."""

from __future__ import annotations

import json
from typing import Any


class AnnotationError(ValueError):
    """The annotation does not say unambiguously how many of what; nothing may be counted from it."""


class _DuplicateKey(ValueError):
    pass


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _DuplicateKey("a key stands twice in one entry")
    return found


def _refuse_constant(name: str) -> Any:
    raise _DuplicateKey(f"{name} is no JSON")


def quantities(text: str | None) -> dict[str, int]:
    """Quantity by add-on id, in the annotation's order.

    Args:
        text: the annotation; None where it is absent, which is no add-on.

    Raises:
        AnnotationError: empty text, no list of {addonId, quantity}, an id twice, or a quantity that is
            no whole JSON number of at least 0.
    """
    if text is None:
        return {}
    try:
        entries = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise AnnotationError(f"it is no list of add-ons in JSON: {error}") from error
    if not isinstance(entries, list):
        raise AnnotationError("it is no list")
    found: dict[str, int] = {}
    for position, entry in enumerate(entries):
        name = entry.get("addonId") if isinstance(entry, dict) else None
        if not isinstance(name, str) or not name:
            raise AnnotationError(f"entry {position} has no addonId")
        count = entry.get("quantity")
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise AnnotationError(f"{name} has quantity {count!r}, not a whole number of at least 0")
        if name in found:
            raise AnnotationError(f"{name} stands there twice")
        found[name] = count
    return found
