# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubernetes quantities, as far as quotas need them."""

from __future__ import annotations

from decimal import Decimal

from kubernetes.utils.quantity import parse_quantity

_BINARY = (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))


def parse(text: object) -> Decimal:
    """The number that a quantity says; ValueError when it says none."""
    return Decimal(parse_quantity(str(text)))  # type: ignore[no-untyped-call]


def count(value: Decimal) -> str:
    """A plain number, with thousandths where it is not whole."""
    return str(int(value)) if value == value.to_integral_value() else f"{int(value * 1000)}m"


def memory(value: Decimal) -> str:
    """Bytes, in the largest binary unit that says them exactly."""
    whole = int(value)
    for suffix, size in _BINARY:
        if whole and whole % size == 0:
            return f"{whole // size}{suffix}"
    return str(whole)
