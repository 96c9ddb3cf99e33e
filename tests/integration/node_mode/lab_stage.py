# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab as an operator has it: playbooks and modules as programs, the fleet by Git, the node by the API."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.gpuops.reservations.tests.node_mode_cases.fleet_remote import FleetRemote
from lab.api import Api
from lab.directory import CHECKOUT, LabDirectory

NODE = "acc-01"
RULES = "clusters/lab/gpu-node-modes/nodefeaturerule.yaml"
CONFIG = "clusters/lab/cluster-config.env"
CORDON = "gpuops.reservations/cordon"
LOCK_BRANCH = "gpu-lock/lab"
_BIN = CHECKOUT / ".venv" / "bin"
_GATES = ("GPU_SHARED_CREATION_ENABLED", "GPU_VM_CREATION_ENABLED")


def command(lab: LabDirectory, *arguments: str) -> None:
    """``python -m lab`` for this lab, and nobody else's."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("GPUOPS_", "KUBE"))}
    done = subprocess.run(
        [sys.executable, "-m", "lab", *arguments],
        cwd=CHECKOUT,
        env={**inherited, "GPUOPS_LAB_DIR": str(lab.root)},
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def eventually(what: str, condition: Callable[[], bool], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.2)


@dataclass
class Run:
    """A program that ended: its exit code and everything it printed."""

    code: int
    output: str

    @property
    def result(self) -> dict[str, Any]:
        """The JSON result of a module that ``ansible -m`` ran."""
        at = self.output.index("{")
        found: dict[str, Any] = json.loads(self.output[at : self.output.rindex("}") + 1])
        return found


@dataclass
class LabStage:
    """One lab."""

    lab: LabDirectory
    folder: Path
    remote: FleetRemote = field(init=False)
    admin: Api = field(init=False)

    def __post_init__(self) -> None:
        self.remote = FleetRemote.existing(self.lab.fleet)
        self.admin = Api(self.lab.kubeconfig("admin"))

    def environment(self) -> dict[str, str]:
        """What ``.lab/env`` exports, and nothing of another cluster."""
        inherited = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("GPUOPS_", "KUBE", "K8S_", "ANSIBLE_"))
        }
        exported = subprocess.run(
            ["bash", "-c", f"set -a; . {shlex.quote(str(self.lab.env))}; env -0"],
            capture_output=True,
            check=True,
            env={"PATH": os.environ["PATH"]},
        ).stdout.decode()
        found = dict(pair.split("=", 1) for pair in exported.split("\0") if "=" in pair)
        return {
            **inherited,
            **{
                key: value for key, value in found.items() if key.startswith("GPUOPS_") or key == "KUBECONFIG"
            },
            "PATH": f"{_BIN}{os.pathsep}{os.environ['PATH']}",
            "ANSIBLE_CONFIG": str(CHECKOUT / "ansible.cfg"),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
        }

    def start(self, *arguments: str, **more: str) -> subprocess.Popen[str]:
        """A program in a process group of its own."""
        return subprocess.Popen(
            arguments,
            cwd=CHECKOUT,
            env={**self.environment(), **more},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def playbook_command(self, name: str, **variables: Any) -> list[str]:
        extra = [part for key, value in variables.items() for part in ("-e", json.dumps({key: value}))]
        return [str(_BIN / "ansible-playbook"), f"playbooks/{name}.yml", *extra]

    def playbook(self, name: str, *arguments: str, **variables: Any) -> Run:
        """A playbook to its end."""
        return self._finished(self.start(*self.playbook_command(name, **variables), *arguments))

    def module_command(self, from_mode: str, to_mode: str, **options: Any) -> list[str]:
        given = {"node": NODE, "from_mode": from_mode, "to_mode": to_mode, "poll": 0.5, **options}
        return [
            str(_BIN / "ansible"),
            "localhost",
            "-m",
            "gpuops.reservations.gpu_node_mode",
            "-a",
            json.dumps(given),
        ]

    def move(self, from_mode: str, to_mode: str, **options: Any) -> Run:
        """gpu_node_mode as a program of its own, with its result as JSON."""
        plain = {
            "ANSIBLE_LOAD_CALLBACK_PLUGINS": "true",
            "ANSIBLE_STDOUT_CALLBACK": "ansible.builtin.minimal",
        }
        plain["ANSIBLE_CALLBACK_RESULT_FORMAT"] = "json"
        return self._finished(self.start(*self.module_command(from_mode, to_mode, **options), **plain))

    @staticmethod
    def _finished(process: subprocess.Popen[str]) -> Run:
        output, _ = process.communicate(timeout=900)
        return Run(process.returncode, output)

    # -- the fleet ------------------------------------------------------------------------------------------

    def file(self, path: str) -> bytes:
        """A file of the fleet branch as it is now."""
        content = self.remote.file(path)
        assert content is not None, path
        return content

    def commit(self, files: Mapping[str, bytes]) -> None:
        """Somebody's reviewed change."""
        self.remote.commit(dict(files), "A reviewed change")

    def close_gates(self) -> None:
        """Close both gates by hand, and wait until every copy says so."""
        text = self.file(CONFIG).decode()
        for gate in _GATES:
            text = text.replace(f"{gate}=true", f"{gate}=false")
        self.commit({CONFIG: text.encode()})
        eventually("both gates to be closed everywhere", lambda: self.gates() == {"false"})

    def gates(self) -> set[str]:
        """What the copies of both gates say."""
        config = self.admin.get("/api/v1/namespaces/flux-system/configmaps/cluster-config")["data"]
        backend = self.admin.get("/apis/apps/v1/namespaces/kube-dc/deployments/kube-dc-backend")
        variables = {
            each["name"]: each.get("value")
            for container in backend["spec"]["template"]["spec"]["containers"]
            for each in container.get("env", [])
        }
        status = backend.get("status", {})
        rolled = status.get("observedGeneration") == backend["metadata"]["generation"] and status.get(
            "updatedReplicas"
        ) == status.get("availableReplicas") == status.get("replicas")
        said = {str(where.get(gate)) for where in (config, variables) for gate in _GATES}
        return said if rolled else {*said, "rolling out"}

    def lock(self) -> dict[str, Any]:
        """The lock document as it is now; empty where there never was one."""
        text = self.remote.file("lock.yaml", LOCK_BRANCH)
        found: dict[str, Any] = {} if text is None else yaml.safe_load(text)
        return found

    def locked_by(self) -> dict[str, str]:
        """Who holds which pool."""
        return {pool: held["ticket"] for pool, held in (self.lock().get("pools") or {}).items()}

    # -- the node -------------------------------------------------------------------------------------------

    def node(self) -> dict[str, Any]:
        return self.admin.get(f"/api/v1/nodes/{NODE}")

    def cordoned(self) -> bool:
        return bool(self.node()["spec"].get("unschedulable", False))

    def mark(self) -> str | None:
        found: str | None = (self.node()["metadata"].get("annotations") or {}).get(CORDON)
        return found

    def mode(self) -> str:
        labels = self.node()["metadata"]["labels"]
        assert labels["kube-dc.com/gpu.workload-mode"] == labels["kube-dc.com/gpu.expected-workload-mode"]
        return str(labels["kube-dc.com/gpu.workload-mode"])

    def at_rest(self, mode: str) -> None:
        """The node is in a mode, and nothing of a transition is left."""
        assert self.mode() == mode
        assert not self.cordoned()
        assert self.mark() is None
        assert self.locked_by() == {}
        assert f"{NODE}-{mode}".encode() in self.file(RULES)
