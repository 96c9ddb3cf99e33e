# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""lab-up: from nothing, from a half-started lab, or from a running one, to a lab that is ready."""

from __future__ import annotations

import os
from dataclasses import replace

from . import (
    binaries,
    canary,
    control_plane,
    environment,
    external,
    nodes,
    ports,
    processes,
    product,
    ready,
    saved,
    sources,
    state,
    statuses,
    stop,
)
from .api import Api
from .cleanup import nothing_left
from .components import Programs, api_server_url
from .directory import CHECKOUT, LabDirectory
from .errors import LabError
from .identities import ADMINISTRATOR
from .progress import Progress
from .saved import remove
from .state import State

_EMBEDDED = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")


def up(lab: LabDirectory, progress: Progress, *, bare: bool) -> None:
    """Start what does not run, and write ``env`` anew. Whatever fails leaves no process behind."""
    if not bare and (lacking := product.absent()):
        raise LabError(
            f"this checkout lacks {', '.join(lacking)}",
            "take a complete checkout, or start the control plane alone: python -m lab up --bare",
        )
    programs = binaries.programs(os.environ, progress.say)
    known = state.load(lab)
    cluster = os.environ.get("GPUOPS_LAB_KUBECONFIG", "")
    if known is None or not known.complete or known.bare != bare or known.embedded == bool(cluster):
        with nothing_left(lab, progress):
            fresh(lab, programs, progress, bare=bare, cluster=cluster)
        return
    dead = not_running(lab, known)
    if dead:
        progress.say(f"the lab in {lab.root} does not run ({', '.join(dead)}): starting it as it was")
        with nothing_left(lab, progress):
            start_again(lab, programs, progress, known)
    else:
        look(lab, progress, seconds=1)
        progress.say(f"the lab in {lab.root} runs already")
        if known.fixture != sources.fixture_key(CHECKOUT):
            progress.say(
                "it was filled from other sources than the checkout has now: lab-reset takes them in"
            )
    finish(lab, progress, known)


def fresh(lab: LabDirectory, programs: Programs, progress: Progress, *, bare: bool, cluster: str) -> None:
    """Start a lab from nothing; what an earlier one left behind is removed first."""
    ended = stop.processes_of(lab)
    if ended:
        progress.say(f"ended {ended} processes of an earlier lab in {lab.root}")
    stop.wipe(lab)
    for leftover in (lab.logs, lab.audit_log, lab.audit_log_previous):
        remove(leftover)
    begun = State(
        embedded=not cluster,
        bare=bare,
        complete=False,
        fixture=sources.fixture_key(CHECKOUT),
        ports=ports.choose({}),
    )
    state.save(lab, begun)
    if begun.embedded:
        control_plane.new_credentials(lab)
        control_plane.write_kubeconfigs(lab, begun.ports)
        control_plane.start(programs, lab, begun.ports)
        progress.say(f"control plane ready at {api_server_url(begun.ports)}")
    else:
        external.take(lab, cluster)
        control_plane.start_kwok(programs, lab, begun.ports)
        progress.say(f"the cluster of {cluster} is fresh, and is the lab's now")
    if not bare:
        product.start_platform(lab)
        progress.say("platform's controllers ready")
        product.fixture(lab, "apply", progress)
        product.install(lab, progress)
    settle(lab, progress)
    finish(lab, progress, begun)
    if begun.embedded:
        saved.save(lab, processes.everything(lab))
    state.save(lab, replace(begun, complete=True))


def start_again(lab: LabDirectory, programs: Programs, progress: Progress, known: State) -> None:
    """Start a complete lab that was stopped, in whole or in part, with the content it has."""
    stop.processes_of(lab)
    chosen = ports.choose(known.ports)
    state.save(lab, replace(known, ports=chosen))
    if known.embedded:
        control_plane.write_kubeconfigs(lab, chosen)
        control_plane.start(programs, lab, chosen)
        progress.say(f"control plane ready at {api_server_url(chosen)}")
    else:
        control_plane.start_kwok(programs, lab, chosen)
    if not known.bare:
        product.start_platform(lab)
        progress.say("platform's controllers ready")
    look(lab, progress, seconds=45)


def settle(lab: LabDirectory, progress: Progress) -> None:
    """Wait for what a person would stumble over: old heartbeats and statuses, admission that is not ready.

    Raises LabError.
    """
    api = Api(lab.kubeconfig(ADMINISTRATOR.name))
    ready.wait("the played nodes", nodes.beat(api), seconds=60, lab=lab)
    ready.wait("the organizations' statuses", statuses.fresh(api), seconds=60, lab=lab)
    _settle_admission(lab, api, progress, seconds=90)


def look(lab: LabDirectory, progress: Progress, *, seconds: float) -> None:
    """Wait for the same, not longer than ``seconds`` each, and only say what does not hold.

    In a lab that is in use a node may be down, or a Pod refused, because somebody wants it so.
    """
    api = Api(lab.kubeconfig(ADMINISTRATOR.name))
    try:
        ready.wait("the played nodes", nodes.beat(api), seconds=seconds, lab=lab)
        _settle_admission(lab, api, progress, seconds=seconds)
    except LabError as error:
        progress.complain(f"the lab runs, but {error}")


def _settle_admission(lab: LabDirectory, api: Api, progress: Progress, *, seconds: float) -> None:
    if canary.policies_installed(api):
        names = canary.namespaces_to_try(api.get("/api/v1/namespaces")["items"])
        ready.wait("admission", canary.admits(api, names), seconds=seconds, lab=lab)
        progress.say(f"admission answers in {len(names)} namespaces")


def finish(lab: LabDirectory, progress: Progress, known: State) -> None:
    """Write ``env``. Raises LabError when it lacks what playbooks take their defaults from."""
    environment.write(lab)
    missing = [] if known.bare else environment.missing(environment.exports(lab))
    if missing:
        raise LabError(
            f"{lab.platform_env} does not give {', '.join(missing)}",
            f"read {lab.log(product.PLATFORM)}: the platform's controllers write that file",
        )
    progress.say(f"ready: . {lab.env}")


def running_names(known: State) -> list[str]:
    """Names of the processes that a lab of this kind consists of."""
    own = list(_EMBEDDED) if known.embedded else []
    return [*own, "kwok", *([] if known.bare else [product.PLATFORM])]


def not_running(lab: LabDirectory, known: State) -> list[str]:
    """Names of the processes that ought to run and do not."""
    records = processes.recorded(lab)
    return [
        name for name in running_names(known) if name not in records or not processes.alive(records[name])
    ]
