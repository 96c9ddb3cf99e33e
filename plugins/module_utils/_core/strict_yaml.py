# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A YAML loader for documents that people review: strict, and it keeps times and odd numbers as they stand.

Refused, with line and column: duplicate and merge keys, explicit tags, aliases that expand without bound,
more than one document, tabs, separators that only some programs take for a line's end, and anything that
is not UTF-8 (a byte order mark and CRLF pass).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from .yaml_library import library, safe_loader

MAX_DEPTH: Final = 64
MAX_EXPANSION: Final = 10_000
"""How many nodes aliases may add to a document."""

_PLAIN_INTEGER: Final = re.compile(r"0|[1-9][0-9]*")
_OTHER_NUMBER: Final = re.compile(
    r"[-+]?0[box][0-9a-fA-F_]+"
    r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?"
    r"|[-+]?(?=\.?[0-9])[0-9_]*(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS: Final = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_OTHER_BOOLEANS: Final = frozenset(
    spelling
    for word in ("yes", "no", "on", "off", "y", "n")
    for spelling in (word, word.title(), word.upper())
)
_REFUSED_CHARACTERS: Final = {
    "\t": "a tab: use spaces",
    "\r": "a carriage return that no line feed follows",
    "\x85": "a next-line character, which only some programs take for a line's end",
    "\u2028": "a line separator, which only some programs take for a line's end",
    "\u2029": "a paragraph separator, which only some programs take for a line's end",
    "\ufeff": "a byte order mark inside the text",
}
_REFUSED: Final = re.compile(
    "[^\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_LONE_RETURN: Final = re.compile("\r(?!\n)")


@dataclass(frozen=True)
class AmbiguousScalar:
    """A plain scalar that loaders read in different ways (``010``, ``1_000``, ``yes``)."""

    source: str


@dataclass(frozen=True)
class YamlFault:
    """A fault of the text itself; line and column count from 1."""

    message: str
    line: int
    column: int


class YamlError(ValueError):
    """The text is no document that the loader takes; carries every fault that was found."""

    def __init__(self, faults: Sequence[YamlFault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(f"line {f.line}, column {f.column}: {f.message}" for f in self.faults))


@dataclass(frozen=True)
class YamlDocument:
    """A loaded document.

    Attributes:
        value: dict, tuple, str, int, bool, None or AmbiguousScalar, nested; None for an empty document.
        root: the parser's node, for positions.
    """

    value: Any
    root: Any

    def position(self, path: Sequence[str | int]) -> tuple[int, int]:
        """Line and column of a value, from 1; of the deepest part of the path that exists."""
        node = self.root
        for part in path:
            below = _child(node, part)
            if below is None:
                break
            node = below
        return (node.start_mark.line + 1, node.start_mark.column + 1) if node is not None else (1, 1)


def load(content: bytes | str) -> YamlDocument:
    """The one document of a text.

    Args:
        content: the file's bytes, or its text where it is known to be UTF-8.

    Raises:
        YamlError: a fault of the text; all duplicate keys at once, otherwise the first fault.
        DependencyMissing: PyYAML is not installed.
    """
    text = decode(content) if isinstance(content, bytes) else content.removeprefix("\ufeff")
    _refuse_characters(text)
    root = _compose(text)
    if "!" in text:
        _refuse_tags(text)
    converter = _Converter(limit=len(text) + MAX_EXPANSION)
    value = converter.value(root, 0)
    if converter.faults:
        raise YamlError(converter.faults)
    return YamlDocument(value, root)


def decode(content: bytes) -> str:
    """The text of a file's bytes, without the byte order mark.

    Raises:
        YamlError: not UTF-8, with the place of the first byte that is not.
    """
    try:
        return content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line_start = before.rfind(b"\n") + 1
        column = len(before[line_start:].decode("utf-8", "replace")) + 1
        fault = YamlFault("not UTF-8 text: save the file as UTF-8", before.count(b"\n") + 1, column)
        raise YamlError([fault]) from error


def line_and_column(text: str, index: int) -> tuple[int, int]:
    """Line and column of a position in a text, from 1."""
    return text.count("\n", 0, index) + 1, index - (text.rfind("\n", 0, index) + 1) + 1


def _refuse_characters(text: str) -> None:
    found = _REFUSED.search(text) or ("\r" in text and _LONE_RETURN.search(text))
    if found:
        message = _REFUSED_CHARACTERS.get(found.group(), "a character that YAML does not allow")
        raise YamlError([YamlFault(message, *line_and_column(text, found.start()))])


@functools.cache
def loader_class() -> Any:
    """PyYAML's safe loader that notes as a scalar's tag only whether it was plain."""
    scalar = library().ScalarNode

    def resolve(_self: Any, kind: Any, _value: Any, implicit: Any) -> bool:
        return kind is scalar and implicit[0]

    return type("PlainnessLoader", (safe_loader(),), {"resolve": resolve})


def _compose(text: str) -> Any:
    yaml = library()
    try:
        loader = loader_class()(text)
        try:
            return loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = " ".join(part for part in (error.problem, error.context) if part)
        if "another document" in message or "<document start>" in message:
            message = "more than one document: keep one"
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise YamlError([YamlFault(message, line, column)]) from error
    except (yaml.YAMLError, RecursionError) as error:
        raise YamlError([YamlFault(f"no YAML that can be read: {error}"[:200], 1, 1)]) from error


def _refuse_tags(text: str) -> None:
    for event in library().parse(text, Loader=safe_loader()):
        if getattr(event, "tag", None) is not None:
            mark = event.start_mark
            raise YamlError(
                [YamlFault(f"an explicit tag ({event.tag[:40]}): remove it", mark.line + 1, mark.column + 1)]
            )


class _Converter:
    """Plain values from the parser's nodes, and the faults that only show on the way."""

    def __init__(self, limit: int) -> None:
        self.faults: list[YamlFault] = []
        self._left = limit

    def value(self, node: Any, depth: int) -> Any:
        if node is None:
            return None
        if node.id == "scalar":
            return plain_value(node.value) if node.tag else node.value
        self._left -= 1
        if depth > MAX_DEPTH or self._left < 0:
            self._fault(node, "aliases that expand without bound, or nesting that is too deep")
            raise YamlError(self.faults)
        if node.id == "sequence":
            self._left -= len(node.value)
            return tuple(self.value(item, depth + 1) for item in node.value)
        return self._mapping(node, depth)

    def _mapping(self, node: Any, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        self._left -= len(node.value)
        for key, below in node.value:
            if key.id != "scalar":
                self._fault(key, "a key that is not plain text")
                continue
            name = key.value
            if name == "<<" and key.tag:
                self._fault(key, "a merge key, which hides what is set: write the keys out")
            elif name in result:
                self._fault(key, f"the key {name[:80]} stands twice: keep one")
            else:
                result[name] = self.value(below, depth + 1)
        return result

    def _fault(self, node: Any, message: str) -> None:
        self.faults.append(YamlFault(message, node.start_mark.line + 1, node.start_mark.column + 1))


def plain_value(source: str) -> Any:
    """What a plain scalar is: null, boolean, a number in plain decimal digits, text, or ambiguous."""
    if _PLAIN_INTEGER.fullmatch(source):
        try:
            return int(source)
        except ValueError:  # more digits than the language converts
            return AmbiguousScalar(source)
    if source in _NULLS:
        return None
    if source in _BOOLEANS:
        return _BOOLEANS[source]
    if source in _OTHER_BOOLEANS or _OTHER_NUMBER.fullmatch(source):
        return AmbiguousScalar(source)
    return source


def _child(node: Any, part: str | int) -> Any:
    if node is None or node.id == "scalar":
        return None
    if node.id == "sequence":
        return node.value[part] if isinstance(part, int) and part < len(node.value) else None
    return next((below for key, below in node.value if key.value == part), None)
