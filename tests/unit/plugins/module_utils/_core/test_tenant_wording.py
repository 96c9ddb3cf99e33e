# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Words to tenants: the runbook's sentences when they are true, and no promise in a plain add-on's copy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpuops.reservations.plugins.module_utils._core.tenant_wording import (
    ENTITLEMENT,
    REFUSED_WORDS,
    RESERVATION,
    RefusedWord,
    refused_words,
    wording,
)


@pytest.mark.parametrize("state", [None, "pending", "releasing", "released", "canceled", "Active", ""])
def test_reserved_capacity_is_said_only_of_an_active_record(state: str | None) -> None:
    assert wording(state).title == "GPU entitlement"
    assert wording(state).sentence == ENTITLEMENT


def test_an_active_record_is_reserved_capacity() -> None:
    assert wording("active").title == "Reserved GPU capacity"
    assert wording("active").sentence == RESERVATION


def test_the_runbooks_sentences_as_they_are() -> None:
    assert ENTITLEMENT == (
        "This add-on increases your concurrent GPU quota. It does not reserve idle physical capacity, so "
        "workloads may queue when matching devices are busy."
    )
    assert RESERVATION == (
        "This reservation holds fungible capacity for the named GPU profile and organization. It does not "
        "guarantee a particular device or host. Planned maintenance and hardware-failure terms apply."
    )
    assert refused_words(ENTITLEMENT) == ()


@pytest.mark.parametrize(
    ("copy", "word"),
    [
        ("dedicated", "dedicated"),
        ("A Dedicated GPU.", "dedicated"),
        ("GUARANTEED capacity", "guaranteed"),
        ("always available", "always available"),
        ("Always-Available", "always available"),
        ("always\n  available", "always available"),
        ("always\u00a0available", "always available"),
        ("always, always available!", "always available"),
        ("always_available", "always available"),
        ("non-dedicated", "dedicated"),
        ("pre-reserved", "reserved"),
        ("dedi-cated", "dedicated"),
        ("dedi-\n  cated", "dedicated"),
        ("dedi\u00adcated", "dedicated"),
        ("dedi&shy;cated", "dedicated"),
        ("dedi\u2011cated", "dedicated"),
        ("re\u200bserved", "reserved"),
        ("r e s e r v e d", "reserved"),
        ("R.E.S.E.R.V.E.D", "reserved"),
        ("**re**served", "reserved"),
        ("r\u0435served", "reserved"),  # Cyrillic
        ("res\u0435rv\u0435d", "reserved"),
        ("\uff52\uff45\uff53\uff45\uff52\uff56\uff45\uff44", "reserved"),  # full width
        (
            "\U0001d42b\U0001d41e\U0001d42c\U0001d41e\U0001d42b\U0001d42f\U0001d41e\U0001d41d",
            "reserved",
        ),  # bold
        ("re\u0301served", "reserved"),
        ("r3served", "reserved"),
        ("gu@ranteed", "guaranteed"),
        ("<b>reserved</b>", "reserved"),
        ("\u24e1eserved", "reserved"),  # circled
    ],
)
def test_a_promise_is_found_however_it_is_written(copy: str, word: str) -> None:
    (found,) = refused_words(copy)
    assert found.word == word
    assert found.written in copy


@pytest.mark.parametrize(
    "copy",
    [
        "reserve, reservation, reserves, reserving, unreserved",
        "guarantee, guarantees, no guarantee",
        "dedicate, dedication",
        "available always; always on; always there when available",
        "It does not reserve a device.",
        "We serve, and you are served.",
        "medicated, predicated",
        "",
    ],
)
def test_other_words_pass(copy: str) -> None:
    assert refused_words(copy) == ()


def test_line_and_word_are_named() -> None:
    copy = "More GPU quota.\r\n\r\nYour Dedicated devices,\nalways-\navailable and Reserved.\n"
    assert refused_words(copy) == (
        RefusedWord(3, "dedicated", "Dedicated"),
        RefusedWord(4, "always available", "always-\navailable"),
        RefusedWord(5, "reserved", "Reserved"),
    )


@given(st.sampled_from(REFUSED_WORDS), st.text(max_size=10), st.text(max_size=10), st.randoms())
def test_any_case_between_any_words_is_found(word: str, before: str, after: str, random: object) -> None:
    written = "".join(letter.upper() if random.random() < 0.5 else letter for letter in word)  # type: ignore[attr-defined]
    assert word in [found.word for found in refused_words(f"{before} {written} {after}")]
