# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rules between fields: all of them are checked, whatever else is wrong."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.ruled_model import Rule, RuledModel
from ansible_collections.gpuops.reservations.plugins.module_utils._core.strict_model import (
    Field,
    StrictModel,
    ValidationError,
)


def smaller(low: int, high: int) -> str:
    return "" if low < high else f"is not below {high}"


class Aliased(RuledModel):
    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(("inner.lowValue", "limit"), smaller),
        Rule(("note",), lambda note: "" if note else "is empty"),
    )

    class Inner(StrictModel):
        low_value: int = Field(alias="lowValue")

    inner: Inner
    limit: int
    note: str | None = None


class Outer(StrictModel):
    ranges: tuple[Aliased, ...]


def faults(model: type[StrictModel], value: Any) -> list[tuple[Any, ...]]:
    with pytest.raises(ValidationError) as caught:
        model.model_validate(value)
    return [
        (".".join(map(str, fault["loc"])), str(fault.get("ctx", {}).get("error", fault["type"])))
        for fault in caught.value.errors()
    ]


def test_a_valid_value_passes() -> None:
    assert Aliased.model_validate({"inner": {"lowValue": 1}, "limit": 2, "note": "x"}).limit == 2


def test_a_rule_names_its_first_field_by_the_documents_key() -> None:
    assert faults(Aliased, {"inner": {"lowValue": 3}, "limit": 2, "note": "x"}) == [
        ("inner.lowValue", "is not below 2")
    ]


def test_a20_faults_of_fields_and_broken_rules_are_reported_together() -> None:
    value = {"inner": {"lowValue": 3}, "limit": 2, "note": "  ", "unknown": 1}
    assert faults(Aliased, value) == [
        ("unknown", "extra_forbidden"),
        ("inner.lowValue", "is not below 2"),
        ("note", "is empty"),
    ]


def test_a20_every_rule_is_checked() -> None:
    assert len(faults(Aliased, {"inner": {"lowValue": 3}, "limit": 2, "note": None})) == 2


@pytest.mark.parametrize(
    "value",
    [
        {"inner": {"lowValue": "3"}, "limit": 2, "note": "x"},
        {"inner": {"lowValue": 3, "x": 1}, "limit": "2", "note": "x"},
        {"inner": {}, "limit": 2, "note": "x"},
        {"inner": 7, "limit": 2, "note": "x"},
        {"limit": 2, "note": "x"},
    ],
)
def test_a_rule_is_left_out_where_its_own_fields_are_at_fault(value: Any) -> None:
    assert all(message != "is not below 2" for _field, message in faults(Aliased, value))


def test_rules_inside_other_documents_have_the_whole_path() -> None:
    fine = {"inner": {"lowValue": 1}, "limit": 2, "note": "x"}
    bad = {"inner": {"lowValue": 5}, "limit": 2, "note": "x"}
    assert faults(Outer, {"ranges": (fine, bad)}) == [("ranges.1.inner.lowValue", "is not below 2")]


def test_making_an_invalid_one_in_code_is_refused_too() -> None:
    with pytest.raises(ValidationError):
        Aliased(inner=Aliased.Inner(lowValue=9), limit=2, note="x")


def test_no_mapping_at_all_is_a_fault_of_the_document() -> None:
    assert len(faults(Aliased, "text")) == 1
