# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ways to read a fleet that are compared: what each runs."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lab.directory import CHECKOUT

from .fleet import CLUSTER

BIN = Path(sys.executable).parent
# The lists that gpu_invariant reads: path, apiVersion, kind.
LISTS = (
    ("/api/v1/pods", "v1", "Pod"),
    ("/api/v1/nodes", "v1", "Node"),
    ("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", "coordination.k8s.io/v1", "Lease"),
    ("/api/v1/namespaces", "v1", "Namespace"),
    ("/api/v1/resourcequotas", "v1", "ResourceQuota"),
    ("/apis/kube-dc.com/v1/organizations", "kube-dc.com/v1", "Organization"),
    ("/apis/kube-dc.com/v1/projects", "kube-dc.com/v1", "Project"),
    (
        "/apis/hnc.x-k8s.io/v1alpha2/hierarchicalresourcequotas",
        "hnc.x-k8s.io/v1alpha2",
        "HierarchicalResourceQuota",
    ),
    ("/apis/kubevirt.io/v1/virtualmachines", "kubevirt.io/v1", "VirtualMachine"),
    ("/apis/kubevirt.io/v1/virtualmachineinstances", "kubevirt.io/v1", "VirtualMachineInstance"),
)


@dataclass(frozen=True)
class Contender:
    """A command to measure.

    Attributes:
        name: how the table names it.
        what: one line on what it does.
        command: the command.
        environment: its whole environment.
        runs: how often it is measured; the best run counts.
    """

    name: str
    what: str
    command: tuple[str, ...]
    environment: dict[str, str] = field(repr=False)
    runs: int = 3


def contenders(work: Path, kubeconfig: Path, fleet: Path, alerts_url: str) -> list[Contender]:
    """All of them, in the order in which they run; their files are written to ``work``."""
    environment = {
        "PATH": f"{BIN}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(work),
        "LANG": "C.UTF-8",
        "ANSIBLE_CONFIG": str(CHECKOUT / "ansible.cfg"),
        "ANSIBLE_COLLECTIONS_PATH": str(CHECKOUT / ".collections"),
        "PYTHONPATH": str(CHECKOUT / ".collections"),
        "KUBECONFIG": str(kubeconfig),
        "XDG_CACHE_HOME": str(work / "cache"),
    }
    options = {
        "kubeconfig": str(kubeconfig),
        "cluster": CLUSTER,
        "fleet_repo": str(fleet),
        "alerts_url": alerts_url,
        "profile_id": "h100-vm",
    }
    arguments = _write(work / "arguments.json", {"ANSIBLE_MODULE_ARGS": options})
    module = (
        sys.executable,
        "-m",
        "ansible_collections.gpuops.reservations.plugins.modules.gpu_invariant",
        str(arguments),
    )
    raw = " && ".join(f"kubectl get --raw {shlex.quote(path)} > /dev/null" for path, _, _ in LISTS)
    proof = {"name": "Prove the pool", "gpuops.reservations.gpu_invariant": options}
    naive = [
        {
            "name": f"List {kind}",
            "kubernetes.core.k8s_info": {"api_version": version, "kind": kind, "kubeconfig": str(kubeconfig)},
            "register": f"listed_{kind.lower()}",
        }
        for _, version, kind in LISTS
    ]

    def playbook(name: str, tasks: Sequence[object]) -> tuple[str, ...]:
        play = {
            "name": name,
            "hosts": "localhost",
            "connection": "local",
            "gather_facts": False,
            "tasks": tasks,
        }
        path = _write(work / f"{name}.yml", [play])
        return (str(BIN / "ansible-playbook"), "-i", "localhost,", str(path))

    one_by_one = "kubectl get --raw of the same lists, one after the other"
    by_tasks = "ansible-playbook with a kubernetes.core.k8s_info task for each list"
    return [
        Contender("raw", one_by_one, ("bash", "-ec", raw), environment),
        Contender("module", "gpu_invariant alone: observe, prove, report", module, environment),
        Contender("empty play", "ansible-playbook without a task", playbook("empty", []), environment),
        Contender(
            "gpu_invariant",
            "ansible-playbook with one gpu_invariant task",
            playbook("proof", [proof]),
            environment,
        ),
        Contender("naive", by_tasks, playbook("naive", naive), environment, runs=1),
    ]


def _write(path: Path, content: object) -> Path:
    """Writes JSON, which YAML readers take too."""
    path.write_text(json.dumps(content, indent=1))
    path.chmod(0o600)
    return path
