# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tells what a long wait waits for, while it waits: lines in a file that the progress callback shows."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from .._core.redaction import mask_text

VARIABLE = "GPUOPS_PROGRESS_FILE"
"""Names the file; set by the callback plugin gpuops.reservations.progress. Without it nothing is told."""


def report(line: str) -> None:
    """Say one line, masked; a line that cannot be said stops nothing."""
    path = os.environ.get(VARIABLE)
    if not path:
        return
    with contextlib.suppress(OSError), Path(path).open("a", encoding="utf-8") as file:
        file.write(mask_text(line.replace("\n", " ")) + "\n")
