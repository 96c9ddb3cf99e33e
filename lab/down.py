# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""lab-down: no process left, nothing left but logs."""

from __future__ import annotations

from . import state, stop
from .directory import LabDirectory
from .progress import Progress


def down(lab: LabDirectory, progress: Progress) -> None:
    """End every process of the lab and remove what it kept, logs aside."""
    known = state.load(lab)
    ended = stop.processes_of(lab)
    stop.wipe(lab)
    if known is not None and not known.embedded:
        progress.say("the cluster of GPUOPS_LAB_KUBECONFIG keeps what the lab put there: delete that cluster")
    if ended or known is not None:
        progress.say(f"the lab in {lab.root} is stopped: {ended} processes ended; logs stay in {lab.logs}")
    else:
        progress.say(f"no lab in {lab.root}")
