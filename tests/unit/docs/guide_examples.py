# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples of the guides: code blocks with the comment that says what becomes of them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

GUIDES = Path(__file__).resolve().parents[3] / "docs" / "docsite" / "rst"
MARKER = re.compile(r"^\.\. example: (.+)$")
BLOCK = re.compile(r"^\.\. code-block:: (\w+)$")


@dataclass(frozen=True)
class Example:
    """One code block.

    Attributes:
        guide: file name of the guide.
        line: where the block begins.
        language: what the block says it is.
        kind: ``lab`` and ``checkout`` are run by a test, ``sample`` is only checked; empty: unmarked.
        fails: whether the last command is meant to fail.
        text: the block's content.
    """

    guide: str
    line: int
    language: str
    kind: str
    fails: bool
    text: str

    @property
    def commands(self) -> list[str]:
        """Each command of a console block, without its prompt."""
        return [line[2:] for line in self.text.splitlines() if line.startswith("$ ")]

    @property
    def name(self) -> str:
        """For a test's id and message."""
        return f"{self.guide}:{self.line}"


def examples() -> Iterator[Example]:
    """All code blocks of all guides, in order."""
    for path in sorted(GUIDES.glob("*.rst")):
        lines = path.read_text(encoding="utf-8").splitlines()
        marker = ""
        for number, line in enumerate(lines):
            if found := MARKER.match(line):
                marker = found[1]
            elif found := BLOCK.match(line):
                words = [word.strip() for word in marker.split(",")]
                yield Example(
                    path.name, number + 1, found[1], words[0], "fails" in words, _body(lines[number + 1 :])
                )
                marker = ""
            elif line.strip():
                marker = ""


def _body(lines: list[str]) -> str:
    taken: list[str] = []
    for line in lines:
        if line and not line.startswith("   "):
            break
        taken.append(line[3:])
    return "\n".join(taken).strip("\n") + "\n"


@dataclass(frozen=True)
class PlaybookCall:
    """What an ``ansible-playbook`` command asks for."""

    playbook: str
    variables: dict[str, str]


def playbook_call(command: str) -> PlaybookCall | None:
    """The playbook and the extra variables of a command, or None where it runs no playbook."""
    words = shlex.split(command)
    while words and re.match(r"^\w+=", words[0]):
        words.pop(0)
    if words[:1] == ["ansible-navigator"] and words[1:2] == ["run"]:
        words = ["ansible-playbook", *words[2:]]
    if words[:1] != ["ansible-playbook"]:
        return None
    named = [word for word in words[1:] if word.endswith(".yml") or word.startswith("gpuops.reservations.")]
    given = [words[at + 1] for at, word in enumerate(words) if word == "-e"]
    playbook = Path(named[0]).stem if named[0].endswith(".yml") else named[0].rpartition(".")[2]
    return PlaybookCall(playbook, dict(pair.split("=", 1) for pair in given))
