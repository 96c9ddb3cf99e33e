# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The strict loader: what it refuses, with the place, and what it leaves as it stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpuops.reservations.plugins.module_utils._core import strict_yaml
from ansible_collections.gpuops.reservations.plugins.module_utils._core.strict_yaml import (
    AmbiguousScalar,
    YamlError,
    YamlFault,
    decode,
    load,
    plain_value,
)


@pytest.fixture(params=["libyaml", "pure"])
def loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Both of PyYAML's loaders: the strict one behaves the same on either."""
    if request.param == "pure":
        monkeypatch.setattr(strict_yaml, "safe_loader", lambda: yaml.SafeLoader)
    strict_yaml.loader_class.cache_clear()
    yield request.param
    strict_yaml.loader_class.cache_clear()


def faults(content: bytes | str) -> tuple[YamlFault, ...]:
    with pytest.raises(YamlError) as caught:
        load(content)
    return caught.value.faults


def test_a_document_becomes_plain_values(loader: str) -> None:
    assert load("a: {b: [1, x, true, null]}\nc: 'yes'\n").value == {
        "a": {"b": (1, "x", True, None)},
        "c": "yes",
    }


def test_an_empty_document_is_nothing(loader: str) -> None:
    assert load("# only a comment\n").value is None


def test_a05_times_stay_text_quoted_and_unquoted(loader: str) -> None:
    loaded = load(
        "a: 2026-11-01T09:00:00Z\nb: \"2026-11-01T09:00:00Z\"\nc: '2026-11-01T09:00:00Z'\nd: 2026-11-01\n"
    )
    assert set(loaded.value.values()) == {"2026-11-01T09:00:00Z", "2026-11-01"}


@pytest.mark.parametrize(
    "source",
    [
        "010",
        "0o10",
        "0x8",
        "0b1000",
        "1_000",
        "8_",
        "1:30",
        "190:20:30",
        "+8",
        "-8",
        "08",
        "00",
        "8.0",
        "8.",
        ".5",
        "1e3",
        "8e0",
        "1.5e3",
        ".inf",
        "-.inf",
        ".nan",
        "yes",
        "No",
        "ON",
        "off",
    ],
)
def test_a08_other_spellings_of_numbers_and_booleans_are_kept_as_they_stand(source: str, loader: str) -> None:
    assert load(f"devices: {source}\n").value == {"devices": AmbiguousScalar(source)}


def test_a08_plain_decimal_digits_are_a_number(loader: str) -> None:
    assert load("a: 8\nb: 0\nc: 12345678901234567890\n").value == {"a": 8, "b": 0, "c": 12345678901234567890}


def test_a09_more_digits_than_can_be_converted_are_no_number(loader: str) -> None:
    digits = "1" * 4301
    assert load(f"devices: {digits}\n").value == {"devices": AmbiguousScalar(digits)}
    assert load(f"devices: {digits[1:]}\n").value["devices"] == int(digits[1:])


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b""])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a15_byte_order_mark_and_crlf_pass(mark: bytes, end: bytes, loader: str) -> None:
    assert load(mark + b"a: 1" + end + b"b: x" + end).value == {"a": 1, "b": "x"}


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1"])
def test_a15_anything_but_utf8_is_refused(encoding: str, loader: str) -> None:
    found = faults("name: Zürich\n".encode(encoding))
    assert "UTF-8" in found[0].message or "does not allow" in found[0].message
    assert found[0].line == 1


def test_a15_the_place_of_the_first_byte_that_is_no_utf8() -> None:
    with pytest.raises(YamlError) as caught:
        decode("a: 1\nbü: ".encode() + b"\xff")
    assert (caught.value.faults[0].line, caught.value.faults[0].column) == (2, 5)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a:\tb\n", 1, 3),
        ("a: 1\n\tb: 2\n", 2, 1),
        ("a: x\ty\n", 1, 5),
        ("a: 1 #\tb\n", 1, 7),
    ],
)
def test_a15_a_tab_is_refused_where_it_stands(text: str, line: int, column: int, loader: str) -> None:
    assert faults(text) == (YamlFault("a tab: use spaces", line, column),)


@pytest.mark.parametrize(
    "character", ["\x85", "\u2028", "\u2029", "\r", "\x00", "\x07", "\x7f", "\ufffe", "a\ufeff"]
)
def test_a15_separators_and_controls_that_programs_read_differently_are_refused(
    character: str, loader: str
) -> None:
    found = faults(f"é: 1\n# x{character}devices: 9\n")
    assert (found[0].line, found[0].column) == (2, 3 + len(character))


def test_a16_a_plain_alias_is_fine(loader: str) -> None:
    assert load("a: &x [1, 2]\nb: *x\nc: &y z\nd: *y\n").value == {
        "a": (1, 2),
        "b": (1, 2),
        "c": "z",
        "d": "z",
    }


def test_a16_merge_keys_are_refused(loader: str) -> None:
    (fault,) = faults("a: &x {b: 1}\nc:\n  <<: *x\n  d: 2\n")
    assert "merge key" in fault.message
    assert (fault.line, fault.column) == (3, 3)


def test_a16_aliases_that_expand_without_bound_are_refused(loader: str) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    (fault,) = faults("\n".join(lines))
    assert "expand without bound" in fault.message


def test_a16_an_alias_of_what_holds_it_is_refused(loader: str) -> None:
    assert len(faults("a: &x [*x]\n")) == 1


@pytest.mark.parametrize("text", ["[" * 100_000, "a: " + "[" * 200 + "]" * 200 + "\n"])
def test_a16_deep_nesting_is_refused_without_a_crash(text: str, loader: str) -> None:
    assert len(faults(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        'a: !!int "3"\n',
        "a: ! 8\n",
        "a: !x 8\n",
        "a: !<tag:yaml.org,2002:int> 8\n",
        "a: &b ! 8\n",
        "a: !!map {b: 1}\n",
        "a: !!binary aGk=\n",
        "!!map {a: 1}\n",
        "a: ! '8'\n",
        "!!str a: 1\n",
        "%TAG !e! tag:e,2000:\n---\na: !e!x 1\n",
    ],
)
def test_a19_explicit_tags_are_refused(text: str, loader: str) -> None:
    (fault,) = faults(text)
    assert "explicit tag" in fault.message


def test_a19_an_exclamation_mark_inside_text_is_no_tag(loader: str) -> None:
    assert load("a: hello!\nb: '!x'\n").value == {"a": "hello!", "b": "!x"}


def test_a25_duplicate_keys_are_refused_all_at_once_with_their_places(loader: str) -> None:
    found = faults("a: 1\nb: {c: 1, 'c': 2}\na: 2\n")
    assert [(fault.line, fault.column) for fault in found] == [(2, 11), (3, 1)]
    assert all("stands twice" in fault.message for fault in found)


@pytest.mark.parametrize("text", ["a: 1\n---\nb: 2\n", "---\na: 1\n---\n", "a: 1\n...\nb: 2\n"])
def test_more_than_one_document_is_refused(text: str, loader: str) -> None:
    assert "document" in faults(text)[0].message


@pytest.mark.parametrize("text", ["---\na: 1\n", "---\na: 1\n...\n", "a: 1\n..."])
def test_one_document_with_its_marks_is_fine(text: str, loader: str) -> None:
    assert load(text).value == {"a": 1}


@pytest.mark.parametrize("text", ["a: [1", "a: 'x", "a: b: c", "a\nb: 1", "a: *x", "? [a]\n: b"])
def test_a25_a_fault_of_the_text_has_its_place(text: str, loader: str) -> None:
    fault = faults(text)[0]
    assert fault.line >= 1
    assert fault.column >= 1
    assert fault.message


def test_positions_of_fields(loader: str) -> None:
    loaded = load("a:\n  b: [x, {c: 1}]\n")
    assert loaded.position(("a", "b", 1, "c")) == (2, 14)
    assert loaded.position(("a", "b", 7)) == (2, 6)
    assert loaded.position(("a", "nothing")) == (2, 3)
    assert load("").position(("a",)) == (1, 1)


def _meaning(text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return "refused"


@given(st.text(alphabet="0123456789abcdefoxXeE+-_.:~nulNULtrueTRyYsofF", max_size=12))
def test_whatever_another_loader_takes_for_something_else_is_never_text(source: str) -> None:
    """Times aside, which are to stay text."""
    value = plain_value(source)
    other = _meaning(source)
    if isinstance(value, str):
        assert other in (source, "refused") or isinstance(other, (dict, list)) or hasattr(other, "year")
    if isinstance(value, int) and not isinstance(value, bool):
        assert other == value


@given(st.binary(max_size=200))
def test_any_bytes_are_loaded_or_refused_with_a_place(content: bytes) -> None:
    found: tuple[YamlFault, ...] = ()
    try:
        load(content)
    except YamlError as error:
        found = error.faults
    assert all(fault.line >= 1 and fault.column >= 1 and fault.message for fault in found)
