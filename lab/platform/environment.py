# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines that a lab's processes add to `<lab>/platform.env`."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from pathlib import Path


def read(state_dir: Path) -> dict[str, str]:
    """The lines that are there."""
    try:
        text = (state_dir / "platform.env").read_text()
    except FileNotFoundError:
        return {}
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def merge(state_dir: Path, values: Mapping[str, str]) -> None:
    """Set lines beside those that are there; a reader sees all or nothing of it."""
    with (state_dir / ".platform.env.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        merged = {**read(state_dir), **values}
        draft = state_dir / ".platform.env.new"
        draft.write_text("".join(f"{key}={value}\n" for key, value in sorted(merged.items())))
        draft.replace(state_dir / "platform.env")


def private_file(path: Path, text: str) -> None:
    """A file that only its owner reads."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    path.chmod(0o600)
