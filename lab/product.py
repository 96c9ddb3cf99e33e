# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The product around the control plane: its process, the fixture's content, the collection's own roles."""

from __future__ import annotations

import sys
from pathlib import Path

from . import environment, processes, ready
from .directory import CHECKOUT, LabDirectory
from .errors import LabError
from .progress import Progress

PLATFORM = "platform"
_CODE = CHECKOUT / "lab"
_INSTALL = CHECKOUT / "playbooks" / "install.yml"


def absent() -> list[str]:
    """What a complete lab needs and this checkout lacks."""
    needed = (_CODE / "platform" / "__main__.py", _CODE / "fixture" / "__main__.py", _INSTALL)
    return [str(path.relative_to(CHECKOUT)) for path in needed if not path.is_file()]


def start_platform(lab: LabDirectory) -> None:
    """Start the platform's controllers, and wait until they have said where they listen."""
    before = _version_of(lab.platform_env)
    command = [sys.executable, "-m", "lab.platform", "serve", "--state-dir", str(lab.root)]
    supervised = [sys.executable, "-m", "lab.supervisor", *command]
    record = processes.start(lab, PLATFORM, supervised, environment.for_programs(lab))
    ready.wait(
        "the platform's controllers",
        lambda: None if _version_of(lab.platform_env) != before else f"{lab.platform_env} is not written",
        seconds=60,
        lab=lab,
        needs=[record],
    )


def fixture(lab: LabDirectory, action: str, progress: Progress) -> None:
    """Run the fixture's ``apply`` or ``reset``; what it prints is passed on."""
    _run(lab, "fixture", [sys.executable, "-m", "lab.fixture", action], progress)


def install(lab: LabDirectory, progress: Progress) -> None:
    """Run playbooks/install.yml as the administrator."""
    progress.say("running playbooks/install.yml as the administrator")
    program = [sys.executable, "-m", "ansible", "playbook", str(_INSTALL)]
    _run(lab, "install", program, progress, quiet=True)


def _version_of(path: Path) -> tuple[int, int] | None:
    """Another value for each time the file is replaced; None without one. What was in it stays: ports."""
    try:
        seen = path.stat()
    except FileNotFoundError:
        return None
    return seen.st_ino, seen.st_mtime_ns


def _run(
    lab: LabDirectory, name: str, command: list[str], progress: Progress, *, quiet: bool = False
) -> None:
    def passed_on(line: str) -> None:
        if not quiet:
            progress.say(f"{name}: {line}")

    code = processes.run(lab, name, command, environment.for_programs(lab), passed_on)
    if code != 0:
        raise LabError(f"{name} ended with {code}. {ready.tail(lab.log(name), 30)}", f"read {lab.log(name)}")
