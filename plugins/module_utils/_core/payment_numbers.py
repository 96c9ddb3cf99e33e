# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Payment data by its own checks: card numbers (issuer, length, Luhn), IBANs (country, form, checksum)."""

from __future__ import annotations

import re
from typing import Final

# A whole word.
_BEFORE: Final = r"(?<![0-9A-Za-z_])(?<![0-9][.,:-])"
_AFTER: Final = r"(?![0-9A-Za-z_]|[.,:-][0-9])"
CARD_CANDIDATE: Final = re.compile(
    rf"{_BEFORE}(?:[2-9][0-9]{{12,18}}"
    r"|[2-9][0-9]{3}([ -])[0-9]{4}\1[0-9]{4}\1[0-9]{1,4}(?:\1[0-9]{1,3})?"
    rf"|3[0-9]{{3}}([ -])[0-9]{{6}}\2[0-9]{{4,5}}){_AFTER}"
)
IBAN_CANDIDATE: Final = re.compile(
    r"(?<![0-9A-Za-z_])[A-Za-z]{2}[0-9]{2}"
    r"(?:[0-9A-Za-z]{11,30}|(?: [0-9A-Za-z]{4}){2,7}(?: [0-9A-Za-z]{1,3})?)(?![0-9A-Za-z_])"
)

# First digits (inclusive range, compared over the length of the bound) and lengths, by issuer.
_ISSUERS: Final[tuple[tuple[str, str, frozenset[int]], ...]] = (
    ("4", "4", frozenset({13, 16, 18, 19})),  # Visa
    ("51", "55", frozenset({16})),  # Mastercard
    ("2221", "2720", frozenset({16})),  # Mastercard
    ("34", "34", frozenset({15})),  # American Express
    ("37", "37", frozenset({15})),  # American Express
    ("300", "305", frozenset({14, 16, 17, 18, 19})),  # Diners Club
    ("3095", "3095", frozenset({14, 16, 17, 18, 19})),  # Diners Club
    ("36", "36", frozenset({14, 15, 16, 17, 18, 19})),  # Diners Club
    ("38", "39", frozenset({14, 16, 17, 18, 19})),  # Diners Club
    ("3528", "3589", frozenset({16, 17, 18, 19})),  # JCB
    ("6011", "6011", frozenset({16, 17, 18, 19})),  # Discover
    ("622126", "622925", frozenset({16, 17, 18, 19})),  # Discover and UnionPay
    ("644", "649", frozenset({16, 17, 18, 19})),  # Discover
    ("65", "65", frozenset({16, 17, 18, 19})),  # Discover, RuPay
    ("62", "62", frozenset({16, 17, 18, 19})),  # UnionPay
    ("8100", "8171", frozenset({16, 17, 18, 19})),  # UnionPay
    ("2200", "2204", frozenset({16, 17, 18, 19})),  # Mir
    ("508", "508", frozenset({16})),  # RuPay
    ("60", "60", frozenset({16})),  # RuPay
    ("81", "82", frozenset({16})),  # RuPay
    ("9792", "9792", frozenset({16})),  # Troy
    ("5018", "5018", frozenset(range(13, 20))),  # Maestro
    ("5020", "5020", frozenset(range(13, 20))),  # Maestro
    ("5038", "5038", frozenset(range(13, 20))),  # Maestro
    ("5893", "5893", frozenset(range(13, 20))),  # Maestro
    ("6304", "6304", frozenset(range(13, 20))),  # Maestro
    ("6759", "6759", frozenset(range(13, 20))),  # Maestro
    ("6761", "6763", frozenset(range(13, 20))),  # Maestro
)
_GIBIBYTE: Final = 2**30

# By country what follows an IBAN's check digits: n digits, a letters, c either, each with its count.
_IBAN: Final[dict[str, str]] = {
    "AD": "8n12c",
    "AE": "19n",
    "AL": "8n16c",
    "AT": "16n",
    "AZ": "4a20c",
    "BA": "16n",
    "BE": "12n",
    "BG": "4a6n8c",
    "BH": "4a14c",
    "BR": "23n1a1c",
    "BY": "4c4n16c",
    "CH": "5n12c",
    "CR": "18n",
    "CY": "8n16c",
    "CZ": "20n",
    "DE": "18n",
    "DK": "14n",
    "DO": "4c20n",
    "EE": "16n",
    "EG": "25n",
    "ES": "20n",
    "FI": "14n",
    "FO": "14n",
    "FR": "10n11c2n",
    "GB": "4a14n",
    "GE": "2a16n",
    "GI": "4a15c",
    "GL": "14n",
    "GR": "7n16c",
    "GT": "4c20c",
    "HR": "17n",
    "HU": "24n",
    "IE": "4a14n",
    "IL": "19n",
    "IQ": "4a15n",
    "IS": "22n",
    "IT": "1a10n12c",
    "JO": "4a4n18c",
    "KW": "4a22c",
    "KZ": "3n13c",
    "LB": "4n20c",
    "LC": "4a24c",
    "LI": "5n12c",
    "LT": "16n",
    "LU": "3n13c",
    "LV": "4a13c",
    "LY": "21n",
    "MC": "10n11c2n",
    "MD": "2c18c",
    "ME": "18n",
    "MK": "3n10c2n",
    "MR": "23n",
    "MT": "4a5n18c",
    "MU": "4a19n3a",
    "NL": "4a10n",
    "NO": "11n",
    "PK": "4a16c",
    "PL": "24n",
    "PS": "4a21c",
    "PT": "21n",
    "QA": "4a21c",
    "RO": "4a16c",
    "RS": "18n",
    "SA": "2n18c",
    "SC": "4a20n3a",
    "SE": "20n",
    "SI": "15n",
    "SK": "20n",
    "SM": "1a10n12c",
    "ST": "21n",
    "SV": "4a20n",
    "TL": "19n",
    "TN": "20n",
    "TR": "5n1n16c",
    "UA": "6n19c",
    "VA": "18n",
    "VG": "4a16n",
    "XK": "16n",
}
_CLASSES: Final = {"n": "[0-9]", "a": "[A-Z]", "c": "[0-9A-Z]"}
_STRUCTURES: Final = {
    country: re.compile(
        "".join(
            _CLASSES[kind] + "{" + count + "}" for count, kind in re.findall(r"([0-9]+)([nac])", structure)
        )
    )
    for country, structure in _IBAN.items()
}


def is_card_number(text: str) -> bool:
    """Whether digits (perhaps grouped by spaces or hyphens) are a card number.

    A whole number of gibibytes is a quantity: memory in bytes would hit by chance otherwise.
    """
    digits = text.replace(" ", "").replace("-", "")
    if not any(
        low <= digits[: len(low)] <= high and len(digits) in lengths for low, high, lengths in _ISSUERS
    ):
        return False
    return luhn(digits) and int(digits) % _GIBIBYTE != 0


def luhn(digits: str) -> bool:
    """Whether the last digit checks the others by Luhn's rule."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if place % 2 else 1)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def is_iban(text: str) -> bool:
    """Whether text (perhaps in groups of four) is an international bank account number."""
    compact = text.replace(" ", "").upper()
    structure = _STRUCTURES.get(compact[:2])
    if structure is None or not structure.fullmatch(compact[4:]):
        return False
    turned = compact[4:] + compact[:4]
    return int("".join(str(int(character, 36)) for character in turned)) % 97 == 1
