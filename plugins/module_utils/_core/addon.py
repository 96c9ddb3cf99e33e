# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""One add-on's quantity in an Organization's annotation, set with everything else in the text kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from .addon_entries import quantities

ANNOTATION: Final = "billing.kube-dc.com/addons"

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_DECODER: Final = json.JSONDecoder()


@dataclass(frozen=True)
class AddonChange:
    """A change of one add-on's quantity.

    Attributes:
        before: quantity that the annotation says; 0 where it lists none.
        after: quantity afterwards.
        text: the annotation's new text; None where there is no annotation and none is needed.
    """

    before: int
    after: int
    text: str | None

    @property
    def changed(self) -> bool:
        """Whether the quantity differs."""
        return self.before != self.after


@dataclass(frozen=True)
class _Member:
    """One entry of the list: its span in the text, and its value."""

    start: int
    end: int
    value: Any


def set_quantity(text: str | None, addon_id: str, quantity: int) -> AddonChange:
    """The annotation with one add-on's quantity set; 0 removes its entry.

    Other entries, their order, unknown keys in entries and the text's spacing stay as they are.

    Args:
        text: the annotation; None where it is absent.
        addon_id: the add-on.
        quantity: how many of it, at least 0.

    Raises:
        AnnotationError: the annotation does not say unambiguously how many of what.
        ValueError: a negative quantity.
    """
    if quantity < 0:
        raise ValueError(f"{addon_id} cannot have quantity {quantity}")
    listed = quantities(text)
    before = listed.get(addon_id, 0)
    if before == quantity:
        return AddonChange(before, quantity, text)
    if text is None:
        return AddonChange(before, quantity, f"[{_entry(addon_id, quantity, compact=True)}]")
    members = list(_members(text))
    place = next((at for at, member in enumerate(members) if member.value["addonId"] == addon_id), None)
    if place is None:
        return AddonChange(before, quantity, _appended(text, members, addon_id, quantity))
    if quantity == 0:
        return AddonChange(before, quantity, _removed(text, members, place))
    start, end = _quantity_span(text, members[place])
    return AddonChange(before, quantity, f"{text[:start]}{quantity}{text[end:]}")


def _entry(addon_id: str, quantity: int, *, compact: bool) -> str:
    separators = (",", ":") if compact else (", ", ": ")
    return json.dumps({"addonId": addon_id, "quantity": quantity}, separators=separators)


def _appended(text: str, members: list[_Member], addon_id: str, quantity: int) -> str:
    last = members[-1].end if members else text.index("[") + 1
    compact = '": ' not in text
    comma = "" if not members else "," if compact else ", "
    return f"{text[:last]}{comma}{_entry(addon_id, quantity, compact=compact)}{text[last:]}"


def _removed(text: str, members: list[_Member], place: int) -> str:
    """The text without one entry and the comma that joined it to a neighbour."""
    if place > 0:
        return text[: members[place - 1].end] + text[members[place].end :]
    end = members[1].start if len(members) > 1 else members[0].end
    return text[: members[0].start] + text[end:]


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _members(text: str) -> Iterator[_Member]:
    """The entries of a list that is known to be valid JSON."""
    at = _skip(text, _skip(text, 0) + 1)
    while text[at] != "]":
        value, end = _DECODER.raw_decode(text, at)
        yield _Member(at, end, value)
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)


def _quantity_span(text: str, member: _Member) -> tuple[int, int]:
    """Where the number of an entry's key ``quantity`` stands."""
    at = _skip(text, member.start + 1)
    while at < member.end:
        key, end = _DECODER.raw_decode(text, at)
        start = _skip(text, _skip(text, end) + 1)
        _value, end = _DECODER.raw_decode(text, start)
        if key == "quantity":
            return start, end
        at = _skip(text, _skip(text, end) + 1)
    raise AssertionError("an entry that was counted has a quantity")
