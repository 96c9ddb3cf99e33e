# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ends a lab's processes and removes what they kept."""

from __future__ import annotations

from . import processes
from .directory import LabDirectory
from .product import PLATFORM
from .saved import remove


def processes_of(lab: LabDirectory) -> int:
    """End them all. The platform is asked, so that it ends its own children; the rest keeps nothing dear."""
    return processes.stop_everything(lab, asked=[PLATFORM])


def wipe(lab: LabDirectory) -> None:
    """Remove everything of a stopped lab but its logs and the lock."""
    if not lab.root.is_dir():
        return
    kept = {lab.logs, lab.audit_log, lab.audit_log_previous, lab.lock}
    for entry in lab.root.iterdir():
        if entry not in kept:
            remove(entry)
