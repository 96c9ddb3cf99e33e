# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab for the guides' commands, put back to its fixture before each guide."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[3]


def lab(command: str, environment: dict[str, str]) -> None:
    """Run one of the lab's own commands; what it says is in the failure."""
    done = subprocess.run(
        [sys.executable, "-m", "lab", command],
        cwd=CHECKOUT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """What the shell of a person has who works in the checkout, with a lab of its own."""
    chosen = os.environ.get("GPUOPS_GUIDES_LAB") or str(tmp_path_factory.mktemp("lab"))
    ours = ("ANSIBLE_", "K8S_AUTH_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    variables = {**kept, "GPUOPS_LAB_DIR": chosen, "PATH": path}
    yield variables
    lab("down", variables)


@pytest.fixture
def shell(environment: dict[str, str]) -> dict[str, str]:
    """The lab is up, and as the fixture has it."""
    lab("up", environment)
    lab("reset", environment)
    return environment
