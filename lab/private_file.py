# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that only their owner reads."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_private(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path`` with mode 0600, in one step: a reader sees the old file or the new."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # mkstemp makes the file with mode 0600.
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink()
        raise
