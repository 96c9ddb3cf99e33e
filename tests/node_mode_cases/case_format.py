# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file of node-mode cases: read, merged with its defaults and variants, and refused where it is unclear."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

OWN_FILE = Path(__file__).with_name("cases") / "node-mode.yaml"
_TOP = frozenset({"legend", "defaults", "node_states", "pod_fixtures", "cases"})
_CASE = frozenset({"id", "title", "given", "when", "then", "variants", "note"})
_VARIANT = frozenset({"title", "given", "when", "then", "note", "id"})

Tree = dict[str, Any]


class NotUnderstood(Exception):
    """A key or a value of a case that the runner does not know: the case fails, it is never passed over."""


@dataclass(frozen=True)
class Case:
    """One run: a case with its defaults, and one of its variants where it has any."""

    id: str
    title: str
    given: Tree
    when: Tree
    then: Tree
    node_states: Mapping[str, Tree]
    pod_fixtures: Mapping[str, Tree]
    not_understood: str = ""


class _Loader(yaml.SafeLoader):
    """Refuses a key that stands twice: one of the two would be passed over."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _value in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise NotUnderstood(f"line {key_node.start_mark.line + 1}: the key {key!r} stands twice")
            seen.add(key)
        return super().construct_mapping(node, deep)


def load(path: Path) -> list[Case]:
    """Every run of a file of cases.

    Raises NotUnderstood where the file is not of the format, or holds no case.
    """
    document = _read(path)
    own = document if path == OWN_FILE else _read(OWN_FILE)
    defaults = document.get("defaults") or own["defaults"]
    _only(defaults, frozenset({"given", "when", "then"}), "defaults")
    states = document.get("node_states") or own["node_states"]
    fixtures = document.get("pod_fixtures") or own["pod_fixtures"]
    cases: list[Case] = []
    for entry in document.get("cases") or []:
        try:
            cases += _runs(entry, defaults, states, fixtures)
        except NotUnderstood as error:
            # The others still run; this one fails.
            name = str(entry.get("id")) if isinstance(entry, dict) else f"entry-{len(cases) + 1}"
            cases.append(Case(name, "", {}, {}, {}, states, fixtures, not_understood=str(error)))
    if not cases:
        raise NotUnderstood(f"{path} holds no case")
    names = [case.id for case in cases]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise NotUnderstood(f"{path}: the id {', '.join(twice)} stands twice")
    return cases


def _read(path: Path) -> Tree:
    document = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    if not isinstance(document, dict):
        raise NotUnderstood(f"{path} is no mapping")
    _only(document, _TOP, str(path))
    return document


def _runs(entry: Any, defaults: Tree, states: Tree, fixtures: Tree) -> list[Case]:
    if not isinstance(entry, dict) or not entry.get("id"):
        raise NotUnderstood(f"a case without an id: {entry!r}")
    _only(entry, _CASE, entry["id"])
    variants = entry.get("variants") or [{}]
    runs = []
    for number, variant in enumerate(variants, start=1):
        name = str(entry["id"]) + (f"/{variant.get('id', number)}" if len(variants) > 1 else "")
        if not isinstance(variant, dict):
            raise NotUnderstood(f"{name}: a variant is a mapping")
        _only(variant, _VARIANT, name)
        parts = {
            part: merged(merged(defaults.get(part) or {}, entry.get(part) or {}), variant.get(part) or {})
            for part in ("given", "when", "then")
        }
        title = str(entry.get("title") or "") + (f" - {variant['title']}" if variant.get("title") else "")
        runs.append(Case(name, title, **parts, node_states=states, pod_fixtures=fixtures))
    return runs


def merged(under: Any, over: Any) -> Any:
    """Mappings merge key by key; anything else is replaced. A null stays: it means that there is none."""
    if isinstance(under, dict) and isinstance(over, dict):
        both = copy.deepcopy(under)
        for key, value in over.items():
            both[key] = merged(both[key], value) if key in both else copy.deepcopy(value)
        return both
    return copy.deepcopy(over)


def _only(mapping: Tree, known: frozenset[str], where: str) -> None:
    if not isinstance(mapping, dict):
        raise NotUnderstood(f"{where}: a mapping is expected, not {mapping!r}")
    unknown = sorted(str(key) for key in mapping if key not in known)
    if unknown:
        raise NotUnderstood(f"{where}: does not know {', '.join(unknown)}")


class Section:
    """A mapping of a case whose keys are taken one by one; what nobody took was not understood."""

    def __init__(self, where: str, mapping: Any) -> None:
        if not isinstance(mapping, dict):
            raise NotUnderstood(f"{where}: a mapping is expected, not {mapping!r}")
        self.where = where
        self._left = dict(mapping)

    def take(self, *names: str, default: Any = None) -> Any:
        """The value of the first of these names that is there; all of them count as taken."""
        found = [self._left.pop(name) for name in names if name in self._left]
        if len(found) > 1:
            raise NotUnderstood(f"{self.where}: {', '.join(names)} say the same thing: keep one")
        return found[0] if found else default

    def has(self, *names: str) -> bool:
        """Whether one of these names is there and not yet taken."""
        return any(name in self._left for name in names)

    def rest(self) -> Tree:
        """What is left, as taken."""
        left, self._left = self._left, {}
        return left

    def done(self) -> None:
        """Raises NotUnderstood where anything is left."""
        if self._left:
            raise NotUnderstood(f"{self.where}: does not know {', '.join(map(str, self._left))}")


def boolean(value: Any, where: str) -> bool:
    """True or false, also as a word. Raises NotUnderstood for anything else."""
    known = {True: True, False: False, "true": True, "false": False, "yes": True, "no": False}
    if isinstance(value, (bool, str)) and value in known:
        return known[value]
    raise NotUnderstood(f"{where}: true or false is expected, not {value!r}")
