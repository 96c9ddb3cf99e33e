# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What runs of a lab."""

from __future__ import annotations

from . import processes, state, up
from .directory import LabDirectory


def status(lab: LabDirectory) -> int:
    """Print each process and whether it runs. Returns 0 when all do, 3 when not or when there is no lab."""
    known = state.load(lab)
    if known is None:
        print(f"no lab in {lab.root}")
        return 3
    print(f"lab in {lab.root}: {'complete' if known.complete else 'never came to its end'}")
    records = processes.recorded(lab)
    dead = up.not_running(lab, known)
    for name in up.running_names(known):
        number = records[name].pid if name in records else "-"
        print(f"  {name:24} {'does not run' if name in dead else f'runs, process {number}'}")
    return 3 if dead or not known.complete else 0
