# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Amounts: Kubernetes quantities as exact numbers, device counts, and no limit as a value of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

_SUFFIXES: Final[dict[str, Fraction]] = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 10**3),
    "": Fraction(1),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
}
_PLAIN_DIGITS: Final = 18
_QUANTITY: Final = re.compile(
    r"([+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40}))(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?[0-9]{1,2}))?",
    re.ASCII,
)


class QuantityError(ValueError):
    """The text is no Kubernetes quantity, or no whole number of devices."""


@dataclass(frozen=True)
class Unlimited:
    """No limit: a value of its own, so that no sum can mistake it for a big number."""

    def __str__(self) -> str:
        return "unlimited"


UNLIMITED: Final = Unlimited()

Amount = int | Unlimited
"""A number of devices, or no limit."""


def quantity(text: str) -> Fraction:
    """The exact number that a Kubernetes quantity says.

    Args:
        text: a quantity as the API server writes it (``8``, ``500m``, ``2Ti``, ``1e3``).

    Raises:
        QuantityError: the text is no quantity (``0x8``, empty, spaces, ``NaN``).
    """
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise QuantityError(f"{text[:60]!r} is not a Kubernetes quantity")
    number, suffix, exponent = match.groups()
    scale = Fraction(10) ** int(exponent) if exponent else _SUFFIXES[suffix or ""]
    return Fraction(number) * scale


def device_count(value: object) -> int:
    """A quantity that counts devices, as a whole number of at least zero.

    Args:
        value: text, or a whole number where a quota was written as a JSON number.

    Raises:
        QuantityError: not a quantity, a fraction of a device, negative, or of another type.
    """
    if isinstance(value, str) and len(value) < _PLAIN_DIGITS and value.isascii() and value.isdecimal():
        return int(value)  # what nearly every quantity looks like
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise QuantityError(f"{str(value)[:60]!r} is not a Kubernetes quantity")
    number = Fraction(value) if isinstance(value, int) else quantity(value)
    if number.denominator != 1 or number < 0:
        raise QuantityError(f"{str(value)[:60]!r} is not a whole number of devices")
    return int(number)
