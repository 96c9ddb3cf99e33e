# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A writing task of a role rests on what its own run has found out, so that no run can begin behind a gate.

`--start-at-task`, `--step` and tags leave out what they like. What is left out has registered nothing, and a
task that names it fails before its module runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

CHECKOUT = Path(__file__).parents[2]
WRITING = frozenset(
    f"gpuops.reservations.{name}"
    for name in (
        "gpu_addon",
        "gpu_creation_gate",
        "gpu_evidence",
        "gpu_ledger_record",
        "gpu_lock",
        "gpu_project_cap",
        "gpu_entitlement",
    )
) | {"kubevirt.core.kubevirt_vm"}
FOUND_OUT = {
    "assign": ("assign_plan.",),
    "release": ("release_plan.",),
    "cancel": ("cancel_plan.",),
    "entitlement": ("entitlement_plan.",),
    # gpu_node_mode makes its own proofs; what comes after it rests on the recalculation.
    "transition": ("transition_capacity",),
    # The smoke VM stands between the stages that its own modules judge; its caller names the namespace.
    "smoke": ("smoke_namespace", "smoke_before"),
}
# Included while a run goes on: nothing can begin there.
EXCUSED = {("transition", "close_the_gates.yml"), ("transition", "put_the_gates_back.yml")}


def tasks(document: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for task in document:
        yield task
        for part in ("block", "rescue", "always"):
            yield from tasks(task.get(part) or [])


def writing_tasks(role: str) -> list[tuple[str, dict[str, Any]]]:
    """The role's tasks that call a writing module, each with its file."""
    found = []
    for path in sorted((CHECKOUT / "roles" / role / "tasks").glob("*.yml")):
        if (role, path.name) in EXCUSED:
            continue
        listed = tasks(yaml.safe_load(path.read_text(encoding="utf-8")))
        found += [(path.name, task) for task in listed if WRITING & task.keys()]
    return found


@pytest.mark.parametrize("role", sorted(FOUND_OUT))
def test_a_writing_task_names_what_its_run_has_found_out(role: str) -> None:
    found = writing_tasks(role)
    assert found, "a role that writes nothing needs no entry"
    bare = [
        (file, task["name"])
        for file, task in found
        if not any(name in yaml.safe_dump(task) for name in FOUND_OUT[role])
    ]
    assert bare == []


@pytest.mark.parametrize("role", sorted(FOUND_OUT))
def test_no_task_has_a_tag_by_which_it_could_be_left_out(role: str) -> None:
    for path in sorted((CHECKOUT / "roles" / role / "tasks").glob("*.yml")):
        for task in tasks(yaml.safe_load(path.read_text(encoding="utf-8"))):
            assert "tags" not in task, (path.name, task.get("name"))
