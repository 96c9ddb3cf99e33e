# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a lab's content is made from, as one word: a saved fixture is used only while that has not changed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

# Below the checkout: whatever decides what a fresh lab holds.
_MADE_FROM = ("lab/fixture", "lab/platform", "roles/platform", "playbooks/install.yml")


def fixture_key(checkout: Path) -> str:
    """A hash of every file below the folders above; folders that do not exist count as empty."""
    digest = hashlib.sha256()
    for path in sorted(_files(checkout)):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(checkout)}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:20]


def _files(checkout: Path) -> Iterator[Path]:
    for name in _MADE_FROM:
        base = checkout / name
        if base.is_file():
            yield base
        for path in base.rglob("*"):
            if path.is_file() and path.suffix != ".pyc":
                yield path
