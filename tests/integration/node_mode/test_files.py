# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""There and back on the lab: rule file and GPU_NODE_MODES end byte for byte as they were, however written."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import yaml

from ansible_collections.gpuops.reservations.tests.integration.node_mode.lab_stage import (
    CONFIG,
    NODE,
    RULES,
    LabStage,
)

pytestmark = [pytest.mark.lab, pytest.mark.slow]


def crlf(text: str) -> str:
    return text.replace("\n", "\r\n")


def flow(text: str) -> str:
    document = yaml.safe_load(text)
    return json.dumps(document, indent=None) + "\n"


def single_quoted(text: str) -> str:
    lines = []
    for line in text.splitlines():
        key, separator, value = line.partition(": ")
        plain = separator and value and value[0] not in "{['\"#&*|>"
        lines.append(f"{key}: '{value}'" if plain else line)
    return "\n".join(lines) + "\n"


def commented(text: str) -> str:
    lines = [f"{line}  # pod-hami" if line.endswith("pod-hami") else line for line in text.splitlines()]
    return "# vm-passthrough and pod-hami\n" + "\n".join(lines) + "\n"


STYLES: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "crlf": crlf,
    "flow": flow,
    "single-quoted": single_quoted,
    "commented": commented,
}


@pytest.mark.parametrize("style", STYLES)
def test_there_and_back_leaves_no_trace(closed_lab: LabStage, style: str) -> None:
    before = closed_lab.file(RULES).decode()
    written = STYLES[style](before).encode()
    assert yaml.safe_load(written) == yaml.safe_load(before)
    config = closed_lab.file(CONFIG)
    if style == "crlf":
        closed_lab.commit({RULES: written, CONFIG: config.replace(b"\n", b"\r\n")})
    elif written != before.encode():
        closed_lab.commit({RULES: written})
    config_written = closed_lab.file(CONFIG)
    try:
        there = closed_lab.move("pod-hami", "vm-passthrough")
        assert there.code == 0, there.output
        closed_lab.at_rest("vm-passthrough")
        assert f"{NODE}=vm-passthrough".encode() in closed_lab.file(CONFIG)
        again = closed_lab.move("pod-hami", "vm-passthrough")
        assert again.code == 0, again.output
        assert again.result["changed"] is False
        back = closed_lab.move("vm-passthrough", "pod-hami")
        assert back.code == 0, back.output
        closed_lab.at_rest("pod-hami")
        assert closed_lab.file(RULES) == written
        assert closed_lab.file(CONFIG) == config_written
    finally:
        if closed_lab.file(RULES) != before.encode() or closed_lab.file(CONFIG) != config:
            closed_lab.commit({RULES: before.encode(), CONFIG: config})
