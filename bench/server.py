# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real API server with etcd, and nothing else: no controller changes a fleet while it is measured."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lab import binaries, components, control_plane, ports, processes, ready, stop
from lab.certificates import Pki
from lab.directory import CHECKOUT, LabDirectory
from lab.identities import ADMINISTRATOR
from lab.private_file import write_private

_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
_NO_AUDIT = b"apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: None\n"
_LOADED = "loaded"


def directory(shape_name: str) -> LabDirectory:
    """Where a generated fleet of this size is kept; another generator makes another one."""
    sources = [
        *sorted((CHECKOUT / "bench").glob("*.py")),
        CHECKOUT / "lab/platform/manifests/definitions.yaml",
    ]
    made_by = [
        path
        for path in sources
        if path.name not in {"__main__.py", "report.py", "measure.py", "contenders.py"}
    ]
    key = hashlib.sha256(b"".join(path.read_bytes() for path in made_by)).hexdigest()[:12]
    return LabDirectory(CHECKOUT / ".cache" / "bench" / f"{shape_name}-{key}")


def is_loaded(lab: LabDirectory) -> bool:
    """Whether the fleet was created to its end, by this generator."""
    return (lab.root / _LOADED).exists()


def mark_loaded(lab: LabDirectory) -> None:
    """Remembers that the fleet is whole."""
    (lab.root / _LOADED).touch()


def kubeconfig(lab: LabDirectory) -> Path:
    """The administrator's kubeconfig."""
    return lab.kubeconfig(ADMINISTRATOR.name)


@contextmanager
def serving(lab: LabDirectory, say: Callable[[str], None]) -> Iterator[None]:
    """etcd and the API server for the duration of a with block, on free ports."""
    programs = binaries.programs(os.environ, say)
    stop.processes_of(lab)
    if not is_loaded(lab):
        lab.root.mkdir(parents=True, exist_ok=True)
        stop.wipe(lab)
        control_plane.new_credentials(lab)
    chosen = ports.choose({})
    control_plane.write_kubeconfigs(lab, chosen)
    write_private(lab.pki / "audit-policy.yaml", _NO_AUDIT)
    try:
        for component in (
            components.etcd(programs, lab, chosen),
            components.api_server(programs, lab, chosen),
        ):
            record = processes.start(lab, component.name, component.command, _ENVIRONMENT)
            condition = ready.serves(component, Pki(lab.pki).ca)
            ready.wait(component.name, condition, seconds=60, lab=lab, needs=[record])
        yield
    finally:
        stop.processes_of(lab)
