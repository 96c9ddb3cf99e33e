# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""lab-reset: back to the fixture."""

from __future__ import annotations

import os
from dataclasses import replace

from . import binaries, control_plane, ports, product, saved, sources, state, stop, up
from .cleanup import nothing_left
from .components import Programs, api_server_url
from .directory import CHECKOUT, LabDirectory
from .errors import LabError
from .progress import Progress
from .state import State


def reset(lab: LabDirectory, progress: Progress) -> None:
    """Put a lab back to what it was after its first complete start.

    A lab whose sources have changed since, or that never came to its end, is started from nothing.
    Raises LabError when there is no lab.
    """
    known = state.load(lab)
    if known is None:
        raise LabError(f"there is no lab in {lab.root}", "start one with lab-up")
    programs = binaries.programs(os.environ, progress.say)
    if not known.embedded:
        _reset_cluster(lab, programs, progress, known)
        return
    with nothing_left(lab, progress):
        if not known.complete:
            progress.say("the lab never came to its end: starting it from nothing")
            up.fresh(lab, programs, progress, bare=known.bare, cluster="")
        elif known.fixture != sources.fixture_key(CHECKOUT):
            progress.say("the sources of the fixture have changed: starting it from nothing")
            up.fresh(lab, programs, progress, bare=known.bare, cluster="")
        else:
            _put_back(lab, programs, progress, known)


def _put_back(lab: LabDirectory, programs: Programs, progress: Progress, known: State) -> None:
    # Until it is done, this is a lab to be started from nothing.
    state.save(lab, replace(known, complete=False))
    stop.processes_of(lab)
    saved.put_back(lab)
    if lab.audit_log.is_file():
        lab.audit_log.replace(lab.audit_log_previous)
    chosen = ports.choose(known.ports)
    control_plane.write_kubeconfigs(lab, chosen)
    control_plane.start(programs, lab, chosen)
    progress.say(f"control plane ready at {api_server_url(chosen)}")
    if not known.bare:
        product.start_platform(lab)
        product.fixture(lab, "reset", progress)
    up.settle(lab, progress)
    up.finish(lab, progress, known)
    state.save(lab, replace(known, ports=chosen))


def _reset_cluster(lab: LabDirectory, programs: Programs, progress: Progress, known: State) -> None:
    """Somebody's cluster has no copy to put back: the fixture itself makes good what differs."""
    if up.not_running(lab, known):
        with nothing_left(lab, progress):
            up.start_again(lab, programs, progress, known)
    if not known.bare:
        product.fixture(lab, "reset", progress)
    up.settle(lab, progress)
    up.finish(lab, progress, known)
