# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Payment data: by issuer, length and check digit, never by looks alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpuops.reservations.plugins.module_utils._core.payment_numbers import (
    is_card_number,
    is_iban,
    luhn,
)


@pytest.mark.parametrize(
    "number",
    [
        "4111111111111111",
        "4222222222222",
        "5105105105105100",
        "2221000000000009",
        "378282246310005",
        "6011000990139424",
        "3566002020360505",
        "38520000023237",
        "36227206271667",
        "4111 1111 1111 1111",
        "3782-822463-10005",
    ],
)
def test_card_numbers(number: str) -> None:
    assert is_card_number(number)


@pytest.mark.parametrize(
    "number",
    [
        "4111111111111112",
        "1111111111111117",
        "9111111111111110",
        "2220000000000000",
        "378282246310004",
        "3528",
        "41111111111111",  # Visa has no 14 digits
        "0" * 16,
    ],
)
def test_what_is_no_card_number(number: str) -> None:
    assert not is_card_number(number)


@given(st.text("0123456789", min_size=1, max_size=18), st.integers(0, 9), st.integers(1, 9))
def test_one_wrong_digit_fails_luhn(body: str, check: int, off: int) -> None:
    right = next(digit for digit in range(10) if luhn(f"{body}{digit}"))
    assert luhn(f"{body}{check}") is (check == right)
    assert not luhn(f"{body}{(right + off) % 10}")


@pytest.mark.parametrize(
    "account",
    [
        "DE89370400440532013000",
        "GB29NWBK60161331926819",
        "FR1420041010050500013M02606",
        "NO9386011117947",
        "MT84MALT011000012345MTLCAST001S",
        "SA0380000000608010167519",
        "BR1800360305000010009795493C1",
        "CH9300762011623852957",
        "NL91ABNA0417164300",
        "PL61109010140000071219812874",
        "ES9121000418450200051332",
        "IT60X0542811101000000123456",
        "AT611904300234573201",
        "de89 3704 0044 0532 0130 00",
    ],
)
def test_ibans(account: str) -> None:
    assert is_iban(account)


@pytest.mark.parametrize(
    "account", ["DE89370400440532013001", "DE8937040044053201300", "ZZ89370400440532013000", "DE", "", "GB29"]
)
def test_what_is_no_iban(account: str) -> None:
    assert not is_iban(account)


@given(st.text("0123456789", min_size=18, max_size=18), st.integers(0, 99))
def test_only_the_right_check_digits_make_an_iban(body: str, check: int) -> None:
    right = 98 - int(f"{body}131400") % 97  # D is 13, E is 14
    assert is_iban(f"DE{right:02d}{body}")
    if check % 97 != right % 97:
        assert not is_iban(f"DE{check:02d}{body}")
