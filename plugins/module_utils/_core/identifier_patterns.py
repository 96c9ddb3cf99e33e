# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Patterns of device identifiers and secrets, each with the text that it cannot be without.

The needles (in lower case; one of them has to occur) keep a scan of thousands of documents cheap.
"""

from __future__ import annotations

import re
from typing import Final

_UUID: Final = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_BUS_SLOT: Final = r"[0-9a-f]{2}:[01][0-9a-f]\.[0-7]"
# After an address: no further letter, digit or fraction, and no offset of a time zone.
_ADDRESS_END: Final = r"(?![0-9a-z_]|\.[0-9]|[+-][0-9]{2}:)"
_DATE: Final = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_SLOT_NEEDLES: Final = tuple(f".{function}" for function in range(8))


def _any_case(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


IDENTIFIER_PATTERNS: Final[tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...]] = (
    (
        "device-uuid",
        ("gpu-", "mig-"),
        _any_case(rf"(?:GPU|MIG)-(?:{_UUID}|GPU-{_UUID}|[0-9a-f]{{32}}|[0-9a-f]{{16}})(?![0-9a-z])"),
    ),
    (
        "pci-address",
        _SLOT_NEEDLES,
        _any_case(rf"(?<![0-9a-z])(?:[0-9a-f]{{8}}|[0-9a-f]{{4,5}}):{_BUS_SLOT}{_ADDRESS_END}"),
    ),
    # The short form, unless an hour or a date stands before it: then it is part of a time.
    (
        "pci-address",
        _SLOT_NEEDLES,
        _any_case(rf"(?<![0-9a-z])(?<![0-9]:)(?<!{_DATE} ){_BUS_SLOT}{_ADDRESS_END}"),
    ),
    # As libvirt names a device, and as it writes an address in a domain's XML.
    (
        "pci-address",
        ("_",),
        _any_case(r"(?<![0-9a-z])(?:pci_)?[0-9a-f]{4}_[0-9a-f]{2}_[01][0-9a-f]_[0-7](?![0-9a-z_])"),
    ),
    (
        "pci-address",
        ("bus=",),
        _any_case(
            r"""bus=["']?0x[0-9a-f]{2}["']?\s+(?:slot|device)=["']?0x[01][0-9a-f]["']?\s+function=["']?0x[0-7]"""
        ),
    ),
    (
        "private-key",
        ("private key",),
        re.compile(
            r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
            r"(?:[\s\S]*?-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|[\s\S]*\Z)"
        ),
    ),
    ("private-key", ("age-secret-key-",), _any_case(r"AGE-SECRET-KEY-1[0-9A-Z]{58}")),
    (
        "token",
        ("eyj",),
        re.compile(r"(?<![A-Za-z0-9])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*"),
    ),
    ("token", ("bearer",), _any_case(r"\bbearer\s+[a-z0-9._~+/-]{16,}=*")),
    ("token", ("basic",), _any_case(r"\bauthorization:\s*basic\s+[a-z0-9+/]{8,}={0,2}")),
    ("token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), re.compile(r"\bgh[pousr]_[A-Za-z0-9]{36,}")),
    ("token", ("github_pat_",), re.compile(r"\bgithub_pat_[A-Za-z0-9_]{22,}")),
    ("token", ("glpat-",), re.compile(r"\bglpat-[A-Za-z0-9_-]{20,}")),
    ("token", ("akia", "asia"), re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Za-z])")),
    ("token", ("aiza",), re.compile(r"\bAIza[0-9A-Za-z_-]{35}")),
    ("token", ("xox",), re.compile(r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}")),
    ("token", ("k_live_", "k_test_"), re.compile(r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}")),
    ("token", ("whsec_",), re.compile(r"\bwhsec_[A-Za-z0-9]{24,}")),
    ("token", ("npm_",), re.compile(r"\bnpm_[A-Za-z0-9]{36}")),
    ("token", ("pypi-",), re.compile(r"\bpypi-[A-Za-z0-9_-]{50,}")),
    ("token", ("hvs.", "hvb.", "hvr."), re.compile(r"\bhv[sbr]\.[A-Za-z0-9_-]{24,}")),
    (
        "token",
        ("://",),
        re.compile(r"\b[A-Za-z][A-Za-z0-9+.-]{0,20}://[^\s/:@'\"]{1,200}:[^\s/@'\"]{1,500}@"),
    ),
)
