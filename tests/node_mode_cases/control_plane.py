# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab's etcd and API server alone: nobody but a case says what state a node or a Pod is in."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import urllib3

from lab import audit_policy, binaries, components, control_plane, ports, processes, ready, stop
from lab.api import Api
from lab.certificates import Pki
from lab.directory import LabDirectory
from lab.identities import ADMINISTRATOR
from lab.private_file import write_private

_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "GOMEMLIMIT": "1GiB"}


class ControlPlane:
    """A running API server with its etcd."""

    def __init__(self, lab: LabDirectory, chosen: dict[str, int]) -> None:
        self.kubeconfig = lab.kubeconfig(ADMINISTRATOR.name)
        self.api = Api(self.kubeconfig)
        self.ca = Pki(lab.pki).ca
        self._etcd = f"http://127.0.0.1:{chosen['etcd']}"
        self._http = urllib3.PoolManager(retries=False)

    def store(self, key: str, content: bytes) -> None:
        """Put an object where the API server keeps it.

        Pods are stored this way: a Pod of an earlier release, Terminating, of any phase, with resources
        that today's validation would not let in, stands there in one piece, and the server serves it.
        """
        self._ask("put", {"key": key, "value": content.decode()})

    def remove(self, prefix: str) -> None:
        """Remove every object below a prefix."""
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        self._ask("deleterange", {"key": prefix, "range_end": end})

    def _ask(self, what: str, content: dict[str, str]) -> Any:
        body = {name: base64.b64encode(value.encode()).decode() for name, value in content.items()}
        answer = self._http.request("POST", f"{self._etcd}/v3/kv/{what}", json=body)
        assert answer.status == 200, answer.data
        return answer.json()


@contextmanager
def running(folder: Path) -> Iterator[ControlPlane]:
    """Starts both programs in a folder of their own and ends them afterwards."""
    programs = binaries.programs(os.environ, print)
    lab = LabDirectory(folder)
    chosen = ports.choose({})
    control_plane.new_credentials(lab)
    control_plane.write_kubeconfigs(lab, chosen)
    write_private(lab.pki / "audit-policy.yaml", audit_policy.document())
    try:
        for component in (
            components.etcd(programs, lab, chosen),
            components.api_server(programs, lab, chosen),
        ):
            processes.start(lab, component.name, component.command, _ENVIRONMENT)
            ready.wait(
                component.name,
                ready.serves(component, Pki(lab.pki).ca),
                seconds=90,
                lab=lab,
                needs=[processes.recorded(lab)[component.name]],
            )
        yield ControlPlane(lab, chosen)
    finally:
        stop.processes_of(lab)
