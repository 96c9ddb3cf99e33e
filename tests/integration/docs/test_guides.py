# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands of each guide, one after the other as a reader would type them, on the lab."""

from __future__ import annotations

import subprocess
from itertools import groupby

import pytest

from ansible_collections.gpuops.reservations.tests.unit.docs.guide_examples import Example, examples

from .conftest import CHECKOUT

GUIDES = {
    guide: [example for example in found if example.kind in {"lab", "checkout"}]
    for guide, found in groupby(examples(), key=lambda example: example.guide)
}
RUNNABLE = sorted(guide for guide, found in GUIDES.items() if found)


def script(found: list[Example]) -> str:
    """One shell for the whole guide. A command that is meant to fail, and does not, ends it."""
    lines = ["set -euo pipefail", 'source "$GPUOPS_LAB_DIR/env"']
    for example in found:
        *before, last = example.commands
        lines += [f"echo '--- {example.name}'", *before]
        lines.append(f"! {last}" if example.fails else last)
    return "\n".join(lines).replace("source .lab/env", 'source "$GPUOPS_LAB_DIR/env"')


def test_most_guides_have_commands_that_run() -> None:
    assert len(RUNNABLE) >= 6


@pytest.mark.lab
@pytest.mark.slow
@pytest.mark.parametrize("guide", RUNNABLE)
def test_the_commands_of_a_guide_run(guide: str, shell: dict[str, str]) -> None:
    done = subprocess.run(
        ["bash", "-c", script(GUIDES[guide])],
        cwd=CHECKOUT,
        env=shell,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=1500,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:]
