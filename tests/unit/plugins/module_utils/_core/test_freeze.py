# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Freezes: they stand until two people thaw them."""

from __future__ import annotations

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.document import read
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import InputError
from ansible_collections.gpuops.reservations.plugins.module_utils._core.fleet_files import FleetFile
from ansible_collections.gpuops.reservations.plugins.module_utils._core.freeze import (
    Freeze,
    freeze_path,
    thawed,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.ledger_texts import FREEZE

PATH = "gpu-reservations/lab/freezes/h100-vm.yaml"
THAWED = "thawed: {product: p.owner, sre: s.owner, reference: CHG-3, at: 2026-11-02T00:00:00Z}"


def fields(text: str) -> list[str]:
    return [one.field for one in read(Freeze, FleetFile.of(PATH, text.encode())).problems]


def freeze(text: str) -> Freeze:
    document = read(Freeze, FleetFile.of(PATH, text.encode())).document
    assert document is not None
    return document


@pytest.mark.parametrize("nothing", ["thawed: null", "thawed:", 'thawed: ""', ""])
def test_d09_it_stands_while_nobody_thawed_it(nothing: str) -> None:
    assert freeze(FREEZE.replace("thawed: null", nothing)).frozen


def test_d09_thawed_it_stands_no_more_and_stays_as_history() -> None:
    found = freeze(FREEZE.replace("thawed: null", THAWED))
    assert not found.frozen
    assert found.thawed is not None
    assert found.thawed.reference == "CHG-3"


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("thawed: null", THAWED.replace("s.owner", "P.OWNER"), "thawed.product"),
        ("thawed: null", THAWED.replace("CHG-3", "''"), "thawed.reference"),
        ("thawed: null", THAWED.replace("2026-11-02", "2026-10-02"), "thawed.at"),
        ("thawed: null", THAWED.replace(", at: 2026-11-02T00:00:00Z", ""), "thawed.at"),
        ("thawed: null", "thawed: true", "thawed"),
        ("thawed: null", "thawed: {}", "thawed.product"),
        ("thawed: null", "until: tomorrow", "until"),
        ("since: 2026-11-01T00:00:00Z\n", "", "since"),
        ("audit: audit-17", "audit:", "audit"),
        ("findings: [stale-capacity]", "findings: stale-capacity", "findings"),
    ],
)
def test_a10_a_faulty_freeze_names_its_field(old: str, new: str, field: str) -> None:
    assert field in fields(FREEZE.replace(old, new))


def test_what_is_written_is_read_back() -> None:
    found = freeze(FREEZE)
    assert freeze(found.to_yaml()) == found
    assert found.to_yaml().endswith("thawed: null\n")


def test_two_people_thaw() -> None:
    ended = thawed(
        freeze(FREEZE), product="p.owner", sre="s.owner", reference="CHG-3", at="2026-11-02T00:00:00Z"
    )
    assert ended == freeze(FREEZE.replace("thawed: null", THAWED))
    assert freeze(ended.to_yaml()) == ended


@pytest.mark.parametrize(
    ("sre", "reference", "at"),
    [
        ("P.Owner", "CHG-3", "2026-11-02T00:00:00Z"),
        ("s.owner", " ", "2026-11-02T00:00:00Z"),
        ("s.owner", "x", "2026-10-01T00:00:00Z"),
    ],
)
def test_a10_one_person_or_nothing_to_refer_to_thaws_nothing(sre: str, reference: str, at: str) -> None:
    with pytest.raises(InputError, match="thawed") as caught:
        thawed(freeze(FREEZE), product="p.owner", sre=sre, reference=reference, at=at)
    assert caught.value.code == "thaw-invalid"


def test_where_a_freeze_lies() -> None:
    assert freeze_path("lab", "h100-vm") == PATH
