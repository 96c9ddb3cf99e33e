# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A variable left out or of the wrong kind gives one clear line before anything is contacted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from .conftest import CHECKOUT, Run

WRONG = {"bool": "perhaps", "int": "many", "float": "soon", "dict": "[1, 2]", "list": "{}"}


def options_of(playbook: Path) -> dict[str, dict[str, Any]]:
    """What the playbook's role takes; nothing for a playbook that calls a module."""
    (play,) = yaml.safe_load(playbook.read_text(encoding="utf-8"))
    options: dict[str, dict[str, Any]] = {}
    for role in play.get("roles", []):
        spec = CHECKOUT / "roles" / role["role"].rpartition(".")[2] / "meta" / "argument_specs.yml"
        options |= yaml.safe_load(spec.read_text(encoding="utf-8"))["argument_specs"]["main"]["options"]
    return options


def mistakes() -> Iterator[Any]:
    """Playbook, variables with one mistake, and words that the message has to have."""
    for playbook in sorted((CHECKOUT / "playbooks").glob("*.yml")):
        options = options_of(playbook)
        right = {name: "x" for name, option in options.items() if option.get("required")}
        if right:
            yield pytest.param(playbook.stem, {}, ["missing required", *right], id=f"{playbook.stem}-nothing")
        kinds: set[str] = set()
        for name, option in options.items():
            kind = option.get("type", "str")
            if option.get("choices"):
                words = [name, "must be one of", *option["choices"]]
                yield pytest.param(playbook.stem, {**right, name: "?"}, words, id=f"{playbook.stem}-{name}")
            elif kind in WRONG and kind not in kinds and kind != "list":
                kinds.add(kind)
                wrong = {**right, name: WRONG[kind]}
                yield pytest.param(playbook.stem, wrong, [name, kind], id=f"{playbook.stem}-{name}")


@pytest.mark.parametrize(("playbook", "variables", "words"), list(mistakes()))
def test_a_mistake_is_told_before_anything_is_contacted(
    run: Run, installed: Path, playbook: str, variables: dict[str, str], words: list[str]
) -> None:
    done = run(
        "ansible-playbook",
        f"gpuops.reservations.{playbook}",
        *(part for name, value in variables.items() for part in ("-e", f"{name}={value}")),
        code=2,
        ANSIBLE_COLLECTIONS_PATH=str(installed),
        ANSIBLE_LOCALHOST_WARNING="false",
        ANSIBLE_INVENTORY_UNPARSED_WARNING="false",
    )
    output = done.stdout + done.stderr
    for word in words:
        assert word in output, output
    assert output.count("TASK [") == 1, "the first task is the only one"
