# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The error codes and check ids that the sources can answer with."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

UTILS = Path(__file__).resolve().parents[3] / "plugins" / "module_utils"
SPEAKERS = {
    "InputError", "ObservationError", "PolicyBlocked", "ConflictError", "PartialChange", "Check", "Finding",
}  # fmt: skip
SHORTHANDS = {"conflict", "refused", "refuse", "blocked", "unclear", "stopped", "check", "fact"}
STATUSES = {"pass", "fail", "unknown", "not_applicable"}
NAMED_CODE = re.compile(r"^_?(code|diagnosis|\w+_CODE)$")
CODE = re.compile(r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$")


@cache
def codes() -> dict[str, str]:
    """Each code with a file that says it. Those of findings come from the list of their identifiers."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(UTILS.rglob("*.py"))}
    constants = {name: value for tree in trees.values() for name, value in _constants(tree)}
    found: dict[str, str] = {}
    for path, tree in trees.items():
        if path.name == "finding_ids.py":
            found |= dict.fromkeys((value for _name, value in _constants(tree)), path.name)
        for expression in _codes_of(tree):
            for value in _texts(expression, constants):
                if CODE.match(value) and value not in STATUSES:
                    found[value] = path.name
    return found


def _constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in tree.body:
        target: ast.expr | None = node.target if isinstance(node, ast.AnnAssign) else None
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
        value = getattr(node, "value", None)
        if isinstance(target, ast.Name) and isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield target.id, value.value


def _codes_of(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in SPEAKERS | {"__init__"} or called.lstrip("_") in SHORTHANDS:
                yield from node.args[:1]
                yield from (keyword.value for keyword in node.keywords if keyword.arg in {"code", "id"})
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and NAMED_CODE.match(target.id) for target in node.targets
        ):
            yield node.value


def _texts(expression: ast.expr, constants: dict[str, str]) -> Iterator[str]:
    if isinstance(expression, ast.Constant) and isinstance(expression.value, str):
        yield expression.value
    elif isinstance(expression, ast.Name):
        yield from (constants[name] for name in (expression.id,) if name in constants)
    elif isinstance(expression, ast.Attribute):
        yield from (constants[name] for name in (expression.attr,) if name in constants)
    elif isinstance(expression, ast.IfExp):
        yield from _texts(expression.body, constants)
        yield from _texts(expression.orelse, constants)
