# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every example in the guides is run by a test, or is a sample that is checked here."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.gpuops.reservations.plugins.module_utils._core.document import require
from ansible_collections.gpuops.reservations.plugins.module_utils._core.fleet_files import FleetFile
from ansible_collections.gpuops.reservations.plugins.module_utils._core.order import Order
from ansible_collections.gpuops.reservations.plugins.module_utils._core.policy import Policy
from ansible_collections.gpuops.reservations.plugins.module_utils._shell import argument_spec

from .guide_examples import Example, examples, playbook_call

ROOT = Path(__file__).resolve().parents[3]
ALL = list(examples())
CONSOLE = [example for example in ALL if example.language == "console"]
DOCUMENTS = [example for example in ALL if example.language == "yaml"]
CONNECTION = {*argument_spec.CONNECTION.options, *argument_spec.FLEET.options}
MODELS: dict[str, type[Policy | Order]] = {"GPUReservationPolicy": Policy, "GPUReservationOrder": Order}
OTHER_PROGRAMS = {
    "ansible", "ansible-builder", "ansible-galaxy", "ansible-rulebook", "ansible-runner", "awx", "export",
    "git", "install", "kubectl", "ls", "make", "python3", "source", "systemctl", "~/gpuops/bin/pip",
}  # fmt: skip


def named(example: Example) -> str:
    return example.name


def accepted(playbook: str) -> dict[str, dict[str, Any]]:
    """Variables that a playbook takes, with what its role's argument specification says of each."""
    (play,) = yaml.safe_load((ROOT / "playbooks" / f"{playbook}.yml").read_text(encoding="utf-8"))
    options: dict[str, dict[str, Any]] = {}
    for role in play.get("roles", []):
        name = (role if isinstance(role, str) else role["role"]).rpartition(".")[2]
        spec = ROOT / "roles" / name / "meta" / "argument_specs.yml"
        options |= yaml.safe_load(spec.read_text(encoding="utf-8"))["argument_specs"]["main"]["options"]
    for variable in re.findall(r"{{ (\w+)", yaml.safe_dump(play.get("tasks", []))):
        options.setdefault(variable, {})
    return options


def test_there_are_examples_of_every_kind() -> None:
    assert {example.kind for example in ALL if example.language != "text"} == {"lab", "checkout", "sample"}


def test_every_example_says_what_becomes_of_it() -> None:
    unmarked = [
        example.name
        for example in ALL
        if example.language != "text" and example.kind not in {"lab", "checkout", "sample"}
    ]
    assert unmarked == []


@pytest.mark.parametrize("example", CONSOLE, ids=named)
def test_a_command_names_what_exists(example: Example) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert example.commands, "a console example shows at least one command after a prompt"
    for command in example.commands:
        call = playbook_call(command)
        if call is None:
            program, *arguments = shlex.split(command)
            assert program in OTHER_PROGRAMS, f"{program} is known to no test"
            assert program != "make" or set(arguments) <= set(targets), command
            continue
        assert (ROOT / "playbooks" / f"{call.playbook}.yml").is_file(), f"{command}: no such playbook"
        options = accepted(call.playbook)
        unknown = call.variables.keys() - options.keys() - CONNECTION
        assert not unknown, f"{command}: {call.playbook} takes no {sorted(unknown)}"
        missing = {name for name, option in options.items() if option.get("required")} - call.variables.keys()
        assert not missing, f"{command}: {call.playbook} needs {sorted(missing)}"
        for name, value in call.variables.items():
            choices = options.get(name, {}).get("choices")
            assert not choices or value in choices, f"{command}: {name} is one of {choices}"


@pytest.mark.parametrize("example", DOCUMENTS, ids=named)
def test_a_document_is_valid(example: Example) -> None:
    document = yaml.safe_load(example.text)
    assert isinstance(document, (dict, list))
    model = MODELS.get(document["kind"]) if isinstance(document, dict) and "kind" in document else None
    if model is not None:
        require(model, FleetFile.of(example.name, example.text.encode()))


def test_documents_of_ours_are_among_the_examples() -> None:
    kinds = {yaml.safe_load(example.text).get("kind") for example in DOCUMENTS}
    assert kinds >= MODELS.keys()
