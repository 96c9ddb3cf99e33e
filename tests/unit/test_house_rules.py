# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules of the architecture that a reader would otherwise have to police: layers, sizes, names."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PLUGINS = ROOT / "plugins"
UTILS = PLUGINS / "module_utils"
CORE = UTILS / "_core"
SHELL = UTILS / "_shell"
MODULES = sorted((PLUGINS / "modules").glob("gpu_*.py"))
PLAYBOOKS = sorted((ROOT / "playbooks").glob("*.yml"))
PYTHON_FOLDERS = ("plugins", "extensions", "tests", "lab", "bench")
TOP_FOLDERS = (*PYTHON_FOLDERS, "docs", "roles", "playbooks", "molecule", "awx", "examples", "scripts")

MODULE_LINES, MAIN_LINES = 60, 25
UTIL_LINES, FUNCTION_LINES = 300, 40


def files(*folders: str, pattern: str = "*") -> Iterator[Path]:
    """Files below the folders, never through links, never what tools leave behind."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob(pattern)):
            hidden = {"__pycache__", "output", "_build", "results"} & set(path.relative_to(ROOT).parts)
            if path.is_file() and not path.is_symlink() and not hidden:
                yield path


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def listed(found: list[str]) -> str:
    return "\n".join(["", *found])


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def docstring_lines(node: ast.AST) -> set[int]:
    lines: set[int] = set()
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for inner in ast.walk(node):
        if isinstance(inner, documented) and inner.body:
            first = inner.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                lines |= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return lines


def documentation_lines(module: ast.Module) -> set[int]:
    """Lines of DOCUMENTATION, EXAMPLES and RETURN."""
    lines: set[int] = set()
    for node in module.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            names = {target.id for target in node.targets if isinstance(target, ast.Name)}
            if names & {"DOCUMENTATION", "EXAMPLES", "RETURN"}:
                lines |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


def code_lines(path: Path, node: ast.AST, start: int, end: int) -> int:
    """Lines from start to end that are neither blank, nor comment, nor documentation."""
    skipped = docstring_lines(node)
    if isinstance(node, ast.Module):
        skipped |= documentation_lines(node)
    text = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    counted = [text[number - 1] for number in range(start, end + 1) if number not in skipped]
    return sum(1 for line in counted if line and not line.startswith("#"))


def functions(module: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(module):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def too_long_functions(path: Path, limit: int, name: str | None = None) -> list[str]:
    found = []
    for function in functions(tree(path)):
        length = code_lines(path, function, function.lineno, function.end_lineno or function.lineno)
        if length > limit and name in (None, function.name):
            found.append(f"{named(path)}: {function.name} has {length} lines, {limit} are allowed")
    return found


def imports(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Level and full name of each import; of ``from x import y`` it is x."""
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            yield from ((0, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.level, node.module or ""


def test_there_is_something_to_judge() -> None:
    assert list(CORE.glob("*.py"))
    assert MODULES


# Sizes


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_a_module_only_wires(path: Path) -> None:
    module = tree(path)
    length = code_lines(path, module, 1, len(path.read_text(encoding="utf-8").splitlines()))
    assert length <= MODULE_LINES, f"{named(path)} has {length} lines of code"
    assert too_long_functions(path, MAIN_LINES, "main") == []
    assert "main" in {function.name for function in functions(module)}


def test_module_utils_are_one_concept_a_file() -> None:
    found = []
    for path in files("plugins/module_utils", pattern="*.py"):
        length = len(path.read_text(encoding="utf-8").splitlines())
        if length > UTIL_LINES:
            found.append(f"{named(path)} has {length} lines, {UTIL_LINES} are allowed")
        found += too_long_functions(path, FUNCTION_LINES)
    assert not found, listed(found)


# Layers


WORD_OF: dict[type[ast.AST], str] = {
    ast.Name: "id",
    ast.Attribute: "attr",
    ast.arg: "arg",
    ast.keyword: "arg",
}


def test_only_the_shell_speaks_to_ansible() -> None:
    found = []
    for path in files("plugins", pattern="*.py"):
        if path.is_relative_to(SHELL):
            continue
        for node in ast.walk(tree(path)):
            name = getattr(node, WORD_OF.get(type(node), ""), None)
            if name in {"check_mode", "fail_json", "exit_json", "AnsibleModule"}:
                found.append(f"{named(path)}:{getattr(node, 'lineno', 0)}: {name}")
    assert not found, listed(found)


GATES = {
    "pydantic": "plugins/module_utils/_core/strict_model.py",
    "yaml": "plugins/module_utils/_core/yaml_library.py",
}


@pytest.mark.parametrize("library", sorted(GATES))
def test_one_file_is_the_gate_to_a_library_of_the_core(library: str) -> None:
    found = {
        named(path)
        for path in files("plugins/module_utils", pattern="*.py")
        if any(level == 0 and name.split(".")[0] == library for level, name in imports(tree(path)))
    }
    assert found == {GATES[library]}


OUTSIDE_THE_CORE = {
    "asyncio", "ftplib", "http", "io", "logging", "multiprocessing", "os", "pathlib", "random", "secrets",
    "select", "shutil", "signal", "socket", "socketserver", "sqlite3", "ssl", "subprocess", "tempfile",
    "threading", "time", "urllib", "uuid",
}  # fmt: skip


def test_the_core_imports_only_what_is_pure() -> None:
    found = []
    for path in sorted(CORE.rglob("*.py")):
        depth = len(path.relative_to(CORE).parts)
        for level, name in imports(tree(path)):
            top = name.split(".")[0]
            if level > depth:
                found.append(f"{named(path)}: {'.' * level}{name} lies outside the core")
            elif level == 0 and top in GATES:
                continue  # judged above: the gate files alone
            elif level == 0 and (top not in sys.stdlib_module_names or top in OUTSIDE_THE_CORE):
                found.append(f"{named(path)}: {name}")
    assert not found, listed(found)


def test_the_core_has_no_clock_and_opens_nothing() -> None:
    found = []
    for path in sorted(CORE.rglob("*.py")):
        for node in ast.walk(tree(path)):
            if not isinstance(node, ast.Call):
                continue
            called = node.func
            if isinstance(called, ast.Attribute) and called.attr in {"now", "utcnow", "today"}:
                found.append(f"{named(path)}:{node.lineno}: .{called.attr}()")
            if isinstance(called, ast.Name) and called.id in {"open", "print", "input", "exec", "eval"}:
                found.append(f"{named(path)}:{node.lineno}: {called.id}()")
    assert not found, listed(found)


def test_adapters_do_not_know_the_shell() -> None:
    found = [
        f"{named(path)}: {name}"
        for path in files("plugins/module_utils/_adapters", pattern="*.py")
        for _level, name in imports(tree(path))
        if "_shell" in name.split(".") or name.split(".")[0] == "ansible"
    ]
    assert not found, listed(found)


def base_name(base: ast.expr) -> str:
    inner = base.value if isinstance(base, ast.Subscript) else base
    return inner.attr if isinstance(inner, ast.Attribute) else getattr(inner, "id", "?")


def test_classes_inherit_only_what_they_must() -> None:
    """Protocols, errors, models, enumerations; a class of ours is no parent."""
    allowed = re.compile(
        r"(Protocol|Error|Exception|Model|Enum|NamedTuple|TypedDict|Generic|Loader|CallbackBase)$|^type$"
    )
    classes = [
        (path, node)
        for path in files("plugins", pattern="*.py")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ClassDef)
    ]
    errors = {"Exception"}
    for _round in range(4):  # as deep as a hierarchy of errors may get
        errors |= {node.name for _path, node in classes if errors & {base_name(base) for base in node.bases}}
    found = [
        f"{named(path)}: {node.name}({base_name(base)})"
        for path, node in classes
        for base in node.bases
        if not allowed.search(base_name(base)) and base_name(base) not in errors
    ]
    assert not found, listed(found)


# Names


def test_no_file_has_a_name_that_says_nothing() -> None:
    empty = re.compile(r"(^|[_-])(utils?|helpers?|common|managers?|misc)($|[_-])", re.IGNORECASE)
    top = [path for path in files(*TOP_FOLDERS) if empty.search(path.stem)]
    assert not top, listed([named(path) for path in top])


def test_python_files_postpone_annotations() -> None:
    found = [
        named(path)
        for path in files(*PYTHON_FOLDERS, pattern="*.py")
        if path.read_text(encoding="utf-8").strip()
        and path.name != "__init__.py"
        and "from __future__ import annotations" not in path.read_text(encoding="utf-8")
    ]
    assert not found, listed(found)


def test_every_module_has_unit_tests() -> None:
    tests = ROOT / "tests" / "unit" / "plugins" / "modules"
    assert [path.stem for path in MODULES if not (tests / f"test_{path.stem}.py").is_file()] == []


def test_the_action_group_lists_every_module() -> None:
    runtime = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text(encoding="utf-8"))
    assert runtime["action_groups"]["all"] == [path.stem for path in MODULES]


# Playbooks and roles


def tasks_of(block: object) -> Iterator[dict[str, object]]:
    """Every task of a list of tasks, blocks opened."""
    for task in block if isinstance(block, list) else []:
        yield task
        for part in ("block", "rescue", "always"):
            yield from tasks_of(task.get(part))


def played(play: dict[str, object]) -> tuple[list[str], set[str]]:
    """Roles of a play, and modules of ours that it calls itself."""
    listed = play.get("roles") or []
    roles = [entry if isinstance(entry, str) else entry.get("role", "") for entry in listed]  # type: ignore[attr-defined]
    modules: set[str] = set()
    for section in ("pre_tasks", "tasks", "post_tasks"):
        for task in tasks_of(play.get(section)):
            for key, value in task.items():
                if key.rpartition(".")[2] in {"include_role", "import_role"} and isinstance(value, dict):
                    roles.append(str(value.get("name")))
                if key.startswith("gpuops.reservations."):
                    modules.add(key)
    return roles, modules


@pytest.mark.parametrize("path", PLAYBOOKS, ids=lambda path: path.stem)
def test_a_playbook_is_one_play_over_one_role_or_module(path: Path) -> None:
    plays = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert len(plays) == 1
    roles, modules = played(plays[0])
    assert (len(set(roles)), len(modules)) in {(1, 0), (0, 1)}, f"roles {roles}, modules {sorted(modules)}"
    assert plays[0].get("any_errors_fatal") is True


def test_nothing_is_waved_through_and_nothing_is_decided_in_templates() -> None:
    refused = {
        "an error ignored": re.compile(r"^\s*(ignore_errors:|failed_when:\s*false)"),
        "an unreachable host ignored": re.compile(r"^\s*ignore_unreachable:"),
        "a decision in a template": re.compile(r"\|\s*(sum|map|selectattr|rejectattr)\b|\|\s*int\s*[-+<>*/]"),
    }
    found = []
    for path in files("roles", "playbooks", pattern="*.yml"):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            hits = [what for what, pattern in refused.items() if pattern.search(line)]
            found += [f"{named(path)}:{number}: {what}" for what in hits]
    assert not found, listed(found)


def test_every_role_declares_its_arguments() -> None:
    roles = sorted(path for path in (ROOT / "roles").glob("*") if path.is_dir())
    assert [named(role) for role in roles if not (role / "meta" / "argument_specs.yml").is_file()] == []


# What no file may hold


def test_no_file_knows_this_machine_or_a_package_index() -> None:
    # Each with one letter as a set, so that this file is not its own finding.
    machine = r"/[w]ork/|/[r]oot/"
    index = r"[i]ndex-url|[r]egistry\+http|[p]ypi\.org|[p]ythonhosted\.org|[p]roxy\.golang|[r]egistry\.npmjs"
    refused = re.compile(f"{machine}|{index}")
    found = []
    loose = [path for path in ROOT.iterdir() if path.is_file() and path.name != ".git"]
    for path in [*loose, *files(*TOP_FOLDERS, "requirements", "meta", ".ci", ".config", "changelogs")]:
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if refused.search(line):
                found.append(f"{named(path)}:{number}: {line.strip()[:100]}")
    assert not found, listed(found)
