# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fields: what each type takes, and the message for what it does not."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core import fields
from ansible_collections.gpuops.reservations.plugins.module_utils._core.strict_model import (
    StrictModel,
    ValidationError,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.strict_yaml import AmbiguousScalar


class Everything(StrictModel):
    text: fields.Text = "x"
    optional_text: fields.OptionalText = ""
    label: fields.Label = "x"
    optional_label: fields.OptionalLabel = ""
    node: fields.NodeName = "x"
    ticket: fields.Ticket = "x"
    record: fields.RecordId = "gpu-res-x"
    holder: fields.LockHolder = "x"
    cluster: fields.Cluster = "x"
    time: fields.Time = "2026-11-01T09:00:00Z"
    optional_time: fields.OptionalTime = ""
    devices: fields.Devices = 1
    count: fields.Count = 0
    switch: fields.Switch = False


TEXTS = ["text", "label", "node", "ticket", "record", "holder", "cluster", "time"]
OPTIONAL = ["optional_text", "optional_label", "optional_time"]


def made(field: str, value: Any) -> Any:
    return getattr(Everything.model_validate({field: value}), field)


def refused(field: str, value: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        Everything.model_validate({field: value})
    (fault,) = caught.value.errors()
    assert fault["loc"] == (field,)
    return str(fault["ctx"]["error"])


@pytest.mark.parametrize("value", [None, "", " ", "\u3000\u200b"])
@pytest.mark.parametrize("field", OPTIONAL)
def test_a02_null_is_empty_where_empty_is_allowed(field: str, value: Any) -> None:
    assert made(field, value) == ""


@pytest.mark.parametrize("value", [None, "", " ", "\u00a0\u200b"])
@pytest.mark.parametrize("field", TEXTS)
def test_a10_empty_and_only_spaces_are_refused_where_a_value_has_to_be(field: str, value: Any) -> None:
    assert refused(field, value) == "must not be empty"


@pytest.mark.parametrize("value", [" x", "x ", "x\u200b", "\u00a0x", "x\n"])
@pytest.mark.parametrize("field", TEXTS + OPTIONAL)
def test_a10_outer_space_is_invalid_in_every_value(field: str, value: str) -> None:
    assert "space at its beginning or end" in refused(field, value)


@pytest.mark.parametrize("value", [8, True, AmbiguousScalar("010"), AmbiguousScalar("yes")])
@pytest.mark.parametrize("field", TEXTS + OPTIONAL)
def test_what_loaders_take_for_something_else_is_no_text(field: str, value: Any) -> None:
    assert "quotes" in refused(field, value)


@pytest.mark.parametrize("value", [{}, (), []])
def test_a_collection_is_no_text(value: Any) -> None:
    assert refused("text", value) == "must be text"


@pytest.mark.parametrize("value", ["a\nb", "a\x00b", "a\x1bb", "a\u2028b", "a\ud800b"])
def test_text_is_one_line_without_controls(value: str) -> None:
    assert "one line" in refused("text", value)


@pytest.mark.parametrize("value", ["010", "0x8", "1_000", "8.0", "+8", "1e3", "1:30"])
@pytest.mark.parametrize("field", ["devices", "count"])
def test_a08_other_spellings_of_numbers_are_refused(field: str, value: str) -> None:
    message = refused(field, AmbiguousScalar(value))
    assert "plain decimal digits" in message
    assert value in message


@pytest.mark.parametrize("value", ["8", None, True, 8.0, ""])
def test_a08_a_device_count_is_a_number(value: Any) -> None:
    assert "whole number" in refused("devices", value)


def test_a08_devices_are_at_least_one() -> None:
    assert refused("devices", 0) == "must be at least 1"
    assert refused("devices", -1) == "must be at least 1"
    assert made("count", 0) == 0


def test_a09_devices_have_no_upper_bound() -> None:
    assert made("devices", 10**4000) == 10**4000


@pytest.mark.parametrize("value", [1, 0, "true", None, AmbiguousScalar("yes")])
def test_a_switch_is_true_or_false(value: Any) -> None:
    assert refused("switch", value) == "must be true or false"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("label", "A_b"),
        ("node", "a..b"),
        ("ticket", "LAB-1"),
        ("record", "gpu-res-LAB-1"),
        ("holder", "x:y"),
        ("cluster", "a--b"),
        ("time", "yesterday"),
        ("optional_time", "2026-11-01"),
        ("optional_label", "A"),
    ],
)
def test_a22_syntax_is_named_with_the_value(field: str, value: str) -> None:
    assert value in refused(field, value)
