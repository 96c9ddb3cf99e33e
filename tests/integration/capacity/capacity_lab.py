# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab as an operator has it: playbooks as programs, the fleet by Git, the cluster by its API."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import psutil
import yaml

from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.capacity_world import import_commit
from lab.api import Api, ApiError
from lab.directory import CHECKOUT, LabDirectory
from lab.fixture.reset import Reset
from lab.platform import faults
from lab.platform.api import Api as PlatformApi

BIN = CHECKOUT / ".venv" / "bin"
CONFIG_FILE = "clusters/lab/cluster-config.env"
LOCK_BRANCH = "gpu-lock/lab"
LEDGER = "gpu-reservations/lab"
ADD_ONS = "billing.kube-dc.com/addons"
KEY = "requests.nvidia.com/GH100_H100_SXM5_80GB"
QUICK: dict[str, Any] = {"poll_interval": 0.5, "smoke_poll_interval": 0.5}
"""Polling as fast as a lab bears it."""
# A review of access or a dry run changes nothing, though it is a POST.
REVIEWS = {"selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews"}


def lab_command(lab: LabDirectory, *arguments: str) -> None:
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


def eventually(what: str, condition: Callable[[], bool], seconds: float = 240) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.2)


@dataclass(frozen=True)
class Run:
    """A program that ended: its exit code and everything it printed."""

    code: int
    output: str

    @property
    def recap(self) -> dict[str, int]:
        """The numbers of the play recap."""
        lines = [line for line in self.output.splitlines() if line.startswith("localhost ") and "ok=" in line]
        pairs = (pair.split("=") for pair in lines[-1].split(":", 1)[1].split())
        return {name: int(number) for name, number in pairs}


@dataclass
class CapacityLab:
    """One lab; what its playbooks printed is kept in ``printed``, ``begun`` is where its audit log begins."""

    lab: LabDirectory
    folder: Path
    printed: list[str] = field(default_factory=list)
    begun: int = 0

    @property
    def admin(self) -> Api:
        """The administrator's requests; a reset gives the API server another port."""
        return Api(self.lab.kubeconfig("admin"))

    @property
    def fleet(self) -> Path:
        return self.lab.fleet

    def reset(self) -> None:
        """The fixture, put back into the running lab; what happened before is no longer in the audit log."""
        Reset(self.lab.root, lambda _line: None).run()
        faults.wait_seen(PlatformApi(self.lab.kubeconfig("admin")))
        self.begun = self.lab.audit_log.stat().st_size

    # Programs

    def environment(self) -> dict[str, str]:
        """What ``env`` of the lab exports, and nothing of another cluster."""
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
        given = {
            key: value for key, value in found.items() if key.startswith("GPUOPS_") or key == "KUBECONFIG"
        }
        return {
            **inherited,
            **given,
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "ANSIBLE_CONFIG": str(CHECKOUT / "ansible.cfg"),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
        }

    def start(
        self, name: str, *arguments: str, identity: str = "gpuops", output: IO[str] | int = subprocess.PIPE,
        **variables: Any,
    ) -> subprocess.Popen[str]:  # fmt: skip
        """A playbook in a process group of its own."""
        extra = [part for key, value in variables.items() for part in ("-e", json.dumps({key: value}))]
        return subprocess.Popen(
            [str(BIN / "ansible-playbook"), f"playbooks/{name}.yml", *extra, *arguments],
            cwd=CHECKOUT,
            env={**self.environment(), "KUBECONFIG": str(self.lab.kubeconfig(identity))},
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def finished(self, process: subprocess.Popen[str], seconds: float = 1500) -> Run:
        """A started program at its end; one that does not end is killed and fails the test."""
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            kill(process)
            raise
        self.printed.append(output)
        return Run(process.returncode, output)

    def playbook(self, name: str, *arguments: str, identity: str = "gpuops", **variables: Any) -> Run:
        """A playbook to its end."""
        return self.finished(self.start(name, *arguments, identity=identity, **variables))

    def assign(self, ticket: str, *arguments: str, identity: str = "gpuops", **variables: Any) -> Run:
        """playbooks/assign.yml to its end, polling quickly."""
        return self.playbook("assign", *arguments, identity=identity, ticket=ticket, **QUICK, **variables)

    def killed_at(self, task: str, ticket: str, *, playbook: str = "assign", **variables: Any) -> str:
        """A playbook that is killed with all its processes when this task begins; what it printed."""
        process = self.start(playbook, ticket=ticket, **QUICK, **variables)
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith("TASK [") and task in line:
                kill(process)
                break
        process.wait(timeout=60)
        process.stdout.close()
        output = "".join(lines)
        self.printed.append(output)
        assert process.returncode == -9, f"it ended before it came to {task!r}: {output}"
        return output

    # The fleet

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.fleet), *arguments], capture_output=True, check=True, text=True
        )
        return done.stdout

    def refs(self) -> dict[str, str]:
        """Every branch with its commit."""
        listing = self.git("for-each-ref", "--format=%(refname:short) %(objectname)")
        return dict(line.split(" ") for line in listing.splitlines())

    def file(self, path: str, revision: str = "main") -> str:
        """A file's text; empty where it is not there."""
        done = subprocess.run(
            ["git", "-C", str(self.fleet), "show", f"{revision}:{path}"], capture_output=True, check=False
        )
        return done.stdout.decode()

    def commit(self, path: str, content: str | None) -> None:
        """A person's commit to the fleet branch."""
        import_commit(self.fleet, "refs/heads/main", "from refs/heads/main^0\n", {path: content})

    def edit_policy(self, **changes: Any) -> None:
        """A person's change of keys of the policy's spec."""
        policy = yaml.safe_load(self.file(f"{LEDGER}/policy.yaml"))
        policy["spec"].update(changes)
        self.commit(f"{LEDGER}/policy.yaml", yaml.safe_dump(policy, sort_keys=False))

    def record(self, ticket: str, revision: str = "main") -> dict[str, Any] | None:
        text = self.file(f"{LEDGER}/records/gpu-res-{ticket.lower()}.yaml", revision)
        return yaml.safe_load(text) if text else None

    def records(self, revision: str = "main") -> list[dict[str, Any]]:
        listing = self.git("ls-tree", "-r", "--name-only", revision, f"{LEDGER}/records/")
        return [
            yaml.safe_load(self.file(path, revision))
            for path in listing.splitlines()
            if path.endswith(".yaml")
        ]

    def history(self) -> list[str]:
        """The fleet branch's commits, oldest first."""
        return self.git("rev-list", "--reverse", "main").split()

    def states(self, ticket: str) -> list[str]:
        """The states of a ticket's record, one for each commit that changed it; empty where it went away."""
        path = f"{LEDGER}/records/gpu-res-{ticket.lower()}.yaml"
        commits = self.git("rev-list", "--reverse", "main", "--", path).split()
        texts = (self.file(path, commit) for commit in commits)
        return [yaml.safe_load(text)["spec"]["state"] if text else "" for text in texts]

    def lock(self) -> dict[str, Any]:
        text = self.file("lock.yaml", LOCK_BRANCH) if LOCK_BRANCH in self.refs() else ""
        return yaml.safe_load(text) if text else {"pools": {}, "gate": {"vm": {"closedFor": []}}}

    def gate(self) -> str:
        """The VM creation gate's line in the fleet."""
        lines = dict(line.split("=", 1) for line in self.file(CONFIG_FILE).splitlines() if "=" in line)
        return lines["GPU_VM_CREATION_ENABLED"]

    # The cluster

    def organization(self, name: str) -> dict[str, Any]:
        return self.admin.get(f"/apis/kube-dc.com/v1/namespaces/{name}/organizations/{name}")

    def add_ons(self, name: str) -> dict[str, int]:
        text = self.organization(name)["metadata"]["annotations"].get(ADD_ONS, "[]")
        return {entry["addonId"]: entry["quantity"] for entry in json.loads(text)}

    def hard(self, name: str) -> str:
        path = f"/apis/hnc.x-k8s.io/v1alpha2/namespaces/{name}/hierarchicalresourcequotas/plan-quota"
        text: str = self.admin.get(path)["spec"]["hard"][KEY]
        return text

    def cap(self, namespace: str) -> str | None:
        """The project's own device cap."""
        with contextlib.suppress(ApiError):
            quota = self.admin.get(f"/api/v1/namespaces/{namespace}/resourcequotas/project-quota")
            return str(quota["spec"]["hard"].get(KEY))
        return None

    def entitlements(self) -> dict[str, Any]:
        """What every Organization and HRQ says of entitlement: what a refusal may not have touched."""
        organizations = self.admin.get("/apis/kube-dc.com/v1/organizations")["items"]
        quotas = self.admin.get("/apis/hnc.x-k8s.io/v1alpha2/hierarchicalresourcequotas")["items"]
        return {
            **{item["metadata"]["name"]: item["metadata"]["annotations"] for item in organizations},
            **{f"hrq/{item['metadata']['namespace']}": item["spec"] for item in quotas},
        }

    def smoke_machines(self) -> list[str]:
        machines = [
            item["metadata"]["name"]
            for plural in ("virtualmachines", "virtualmachineinstances")
            for item in self.admin.get(f"/apis/kubevirt.io/v1/{plural}")["items"]
        ]
        return [name for name in machines if name.startswith("gpu-smoke-")]

    # What happened

    def audit_events(self) -> list[dict[str, Any]]:
        """What the API server was asked since the last reset."""
        with self.lab.audit_log.open("rb") as log:
            log.seek(self.begun)
            return [json.loads(line) for line in log.read().splitlines()]

    @contextlib.contextmanager
    def mutations(self) -> Iterator[list[dict[str, Any]]]:
        """The writes by our identities within the block, filled in at its end."""
        before = len(self.audit_events())
        found: list[dict[str, Any]] = []
        yield found
        found.extend(event for event in self.audit_events()[before:] if _ours(event))


def _ours(event: Mapping[str, Any]) -> bool:
    writes = event["verb"] in {"create", "update", "patch", "delete", "deletecollection"}
    dry = "dryRun=" in event.get("requestURI", "")
    review = event.get("objectRef", {}).get("resource") in REVIEWS
    return writes and event["user"]["username"].startswith("gpuops") and not dry and not review


def kill(process: subprocess.Popen[str]) -> None:
    """SIGKILL to a program and everything it started; workers of Ansible have sessions of their own."""
    with contextlib.suppress(psutil.NoSuchProcess):
        parent = psutil.Process(process.pid)
        parent.suspend()
        family = [*parent.children(recursive=True), parent]
        for member in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                member.kill()
    process.wait(timeout=60)
