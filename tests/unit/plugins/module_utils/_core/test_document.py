# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""One document from one file: every problem, with file, field and place, and nothing leaked."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.document import (
    DUPLICATE,
    INVALID,
    Problem,
    invalid,
    problem,
    read,
    require,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import ObservationError
from ansible_collections.gpuops.reservations.plugins.module_utils._core.fields import Devices, Text
from ansible_collections.gpuops.reservations.plugins.module_utils._core.fleet_files import FleetFile
from ansible_collections.gpuops.reservations.plugins.module_utils._core.ruled_model import Rule, RuledModel
from ansible_collections.gpuops.reservations.plugins.module_utils._core.strict_model import Field

UUID = "GPU-6f1c2d3e-1b2c-4d3e-8f4a-5b6c7d8e9f01"


class Small(RuledModel):
    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(("name", "kind"), lambda name, kind: "" if name != kind else "is the kind"),
    )

    kind: Literal["a", "b"]
    name: Text
    devices: Devices
    more: dict[str, Devices] = Field(default_factory=dict)


def file(text: str | bytes, path: str = "gpu-reservations/lab/x.yaml", mode: Any = "100644") -> FleetFile:
    return FleetFile.of(path, text.encode() if isinstance(text, str) else text, mode)


def problems(text: str | bytes) -> list[tuple[str, int, int, str]]:
    reading = read(Small, file(text))
    assert reading.document is None
    return [(one.field, one.line, one.column, one.message) for one in reading.problems]


def test_a_valid_document() -> None:
    reading = read(Small, file("kind: a\nname: x\ndevices: 3\n"))
    assert reading.problems == ()
    assert reading.document == Small(kind="a", name="x", devices=3)


def test_a20_all_problems_with_dotted_field_and_file() -> None:
    text = "kind: c\nname: ''\ndevices: 010\nmore: {x: 0, y: 1}\nextra: 1\n"
    found = problems(text)
    assert [(field, line) for field, line, _column, _message in found] == [
        ("kind", 1),
        ("name", 2),
        ("devices", 3),
        ("more.x", 4),
        ("extra", 5),
    ]
    messages = " ".join(message for *_place, message in found)
    assert "'a' or 'b'" in messages
    assert "plain decimal digits" in messages
    assert "unknown key" in messages
    assert str(read(Small, file(text)).problems[2]).startswith("gpu-reservations/lab/x.yaml:3:10: devices: ")


def test_a20_a_rule_and_a_field_are_both_named() -> None:
    assert [field for field, *_rest in problems("kind: a\nname: a\ndevices: 0\n")] == ["devices", "name"]


@pytest.mark.parametrize(
    ("text", "line", "column"), [("kind: a\nkind: b\n", 2, 1), ("kind: [\n", 2, 1), ("a:\tb\n", 1, 3)]
)
def test_a25_a_fault_of_the_text_has_file_line_and_column(text: str, line: int, column: int) -> None:
    ((field, at_line, at_column, message),) = problems(text)
    assert (field, at_line, at_column) == ("", line, column)
    assert message


def test_a25_bytes_that_are_no_utf8_have_a_place() -> None:
    ((_field, line, column, message),) = problems(b"kind: a\nname: \xff\n")
    assert (line, column) == (2, 7)
    assert "UTF-8" in message


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n"])
def test_an_empty_document_is_no_document(text: str) -> None:
    assert len(problems(text)) == 1


@pytest.mark.parametrize("text", ["- 1\n", "text\n", "8\n"])
def test_a_document_that_is_no_mapping(text: str) -> None:
    ((_field, _line, _column, message),) = problems(text)
    assert "mapping" in message


@pytest.mark.parametrize("mode", ["120000", "160000"])
def test_a13_a_link_or_submodule_is_no_document(mode: str) -> None:
    reading = read(Small, file("kind: a\nname: x\ndevices: 3\n", mode=mode))
    assert reading.document is None
    assert "link" in reading.problems[0].message


def test_a17_a27_an_identifier_in_a_comment_makes_the_document_invalid_and_is_not_repeated() -> None:
    text = f"kind: a\nname: x\ndevices: 3  # on {UUID}\n"
    ((field, line, column, message),) = problems(text)
    assert (field, line, column) == ("", 3, 18)
    assert "a device UUID" in message
    assert "6f1c2d3e" not in message


def test_a27_identifiers_and_other_problems_are_reported_together_all_masked() -> None:
    found = problems(f"kind: {UUID}\nname: 0000:3b:00.0\ndevices: 3\n")
    assert len(found) == 3
    assert all("6f1c2d3e" not in message and "3b:00" not in message for *_place, message in found)


def test_a26_a_file_name_is_given_with_the_identifier_masked() -> None:
    reading = read(Small, file("a: 1\n", path=f"gpu-reservations/lab/records/{UUID}.yaml"))
    assert {one.file for one in reading.problems} == {"gpu-reservations/lab/records/<device-uuid>.yaml"}


def test_a_document_that_has_to_be_valid() -> None:
    assert require(Small, file("kind: a\nname: x\ndevices: 3\n")).devices == 3
    with pytest.raises(ObservationError) as caught:
        require(Small, file("kind: a\nname: x\ndevices: 010\n"))
    error = caught.value
    assert error.code == INVALID
    assert "gpu-reservations/lab/x.yaml:3:10: devices: " in error.message
    assert error.next_action
    assert error.details["problems"] == [
        {
            "file": "gpu-reservations/lab/x.yaml",
            "field": "devices",
            "line": 3,
            "column": 10,
            "message": error.details["problems"][0]["message"],
            "id": INVALID,
        }
    ]


def test_c06_duplicates_alone_have_their_own_code() -> None:
    duplicate = problem("x.yaml", "twice", id=DUPLICATE)
    other = problem("y.yaml", "wrong")
    assert invalid([duplicate]).code == DUPLICATE
    assert invalid([duplicate, other]).code == INVALID


def test_every_text_of_a_problem_is_masked() -> None:
    found = problem(f"a/{UUID}", f"b {UUID}", field=f"c.{UUID}", place=(1, 2))
    assert found == Problem("a/<device-uuid>", "b <device-uuid>", "c.<device-uuid>", 1, 2, INVALID)
