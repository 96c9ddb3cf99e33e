# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""YAML nodes with their positions in the source text, so that one scalar can be replaced in place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from .yaml_library import library, safe_loader

Node = Any
"""A node of PyYAML's composer."""

_TEXT: Final = "tag:yaml.org,2002:str"
_BYTE_ORDER_MARK: Final = "\ufeff"


class YamlRefused(ValueError):
    """The text is no YAML that can be read without doubt; the message names line and cause."""


@dataclass(frozen=True)
class Scalar:
    """A text scalar where it stands.

    Attributes:
        value: the text that it means.
        start: index of its first character in the source, quotes and block header included.
        end: index after its last.
        line: its line, counted from 1.
        quoted: whether it is double-quoted.
        shared: whether an alias repeats it or what holds it, so that an edit would show elsewhere too.
    """

    value: str
    start: int
    end: int
    line: int
    quoted: bool
    shared: bool


class PositionedYaml:
    """One YAML document: a view of its nodes, by mappings, lists and text scalars.

    Args:
        text: the whole file; a byte order mark and any kind of line end are fine.

    Raises:
        YamlRefused: no YAML, not exactly one document, a key twice, or a merge key.
        DependencyMissing: PyYAML is not installed.
    """

    def __init__(self, text: str) -> None:
        # The C parser leaves a byte order mark out of its count, so it is taken off and added again.
        self._offset = 1 if text.startswith(_BYTE_ORDER_MARK) else 0
        self.root = _single_document(text[self._offset :])
        self._shared = _shared_nodes(self.root)
        for node in _walk(self.root):
            if node.id == "mapping":
                _refuse_unclear_keys(node)

    def mapping(self, node: Node) -> Mapping[str, Node]:
        """A mapping's values by key; empty where the node is absent.

        Raises:
            YamlRefused: the node is something else, or a key is no text.
        """
        if node is None:
            return {}
        if node.id != "mapping":
            raise YamlRefused(f"line {self.line(node)}: a mapping is expected here")
        return {self.scalar(key).value: value for key, value in node.value}

    def items(self, node: Node) -> tuple[Node, ...]:
        """A list's elements; empty where the node is absent.

        Raises:
            YamlRefused: the node is something else.
        """
        if node is None:
            return ()
        if node.id != "sequence":
            raise YamlRefused(f"line {self.line(node)}: a list is expected here")
        return tuple(node.value)

    def scalar(self, node: Node) -> Scalar:
        """A text scalar.

        Raises:
            YamlRefused: the node is something else, a number or a truth value included.
        """
        if node.id != "scalar" or node.tag != _TEXT:
            raise YamlRefused(f"line {self.line(node)}: a text is expected here")
        return Scalar(
            value=str(node.value),
            start=node.start_mark.index + self._offset,
            end=node.end_mark.index + self._offset,
            line=self.line(node),
            quoted=node.style == '"',
            shared=id(node) in self._shared,
        )

    @staticmethod
    def line(node: Node) -> int:
        """The line on which a node begins, counted from 1."""
        return int(node.start_mark.line) + 1


def _single_document(text: str) -> Node:
    yaml = library()
    try:
        documents = [node for node in yaml.compose_all(text, Loader=safe_loader()) if not _is_nothing(node)]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark is not None else ""
        raise YamlRefused(f"{where}{error.problem or 'not YAML'}") from error
    except yaml.YAMLError as error:
        raise YamlRefused(str(error).splitlines()[0]) from error
    except RecursionError as error:
        raise YamlRefused("nested too deeply") from error
    if len(documents) != 1:
        raise YamlRefused(f"exactly one document is expected, {len(documents)} found")
    return documents[0]


def _is_nothing(node: Node) -> bool:
    """Whether a document is empty, as what follows a last separator is."""
    return node.id == "scalar" and node.value == "" and not node.style


def _children(node: Node) -> Iterator[Node]:
    if node.id == "mapping":
        for key, value in node.value:
            yield key
            yield value
    elif node.id == "sequence":
        yield from node.value


def _walk(root: Node) -> Iterator[Node]:
    """Every node once, however often aliases repeat it."""
    seen: set[int] = set()
    todo = [root]
    while todo:
        node = todo.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            todo.extend(_children(node))


def _shared_nodes(root: Node) -> frozenset[int]:
    """Identities of the nodes that stand in more than one place, with all that they hold."""
    met: set[int] = set()
    repeated: list[Node] = []
    for node in _walk(root):
        for child in _children(node):
            if id(child) in met:
                repeated.append(child)
            met.add(id(child))
    return frozenset(id(node) for top in repeated for node in _walk(top))


def _refuse_unclear_keys(node: Node) -> None:
    seen: set[tuple[str, str]] = set()
    for key, _value in node.value:
        line = PositionedYaml.line(key)
        if key.id != "scalar":
            raise YamlRefused(f"line {line}: a key that is no scalar")
        if key.tag == "tag:yaml.org,2002:merge":
            raise YamlRefused(f"line {line}: a merge key (<<) hides what is set; write the keys out")
        if (key.tag, key.value) in seen:
            raise YamlRefused(f"line {line}: the key {key.value!r} stands twice in one mapping")
        seen.add((key.tag, key.value))
