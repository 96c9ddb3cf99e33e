# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The fixture's world for tests of modules: a stand-in API server and a real fleet repository."""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib
import io
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import yaml
from ansible.module_utils.common import warnings
from ansible.module_utils.testing import patch_module_args

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters import alerts
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.kube import KubeClient
from ansible_collections.gpuops.reservations.plugins.module_utils._core.snapshot import AlertsObserved
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.api_server import StandInServer

FLEET = Path(__file__).with_name("fleet")
MODULES = "ansible_collections.gpuops.reservations.plugins.modules"
RULES = {"KubeDcOrganizationQuotaConfigInvalid": 1}


@dataclass(frozen=True)
class Ran:
    """How a module left."""

    failed: bool
    result: dict[str, Any]

    @property
    def code(self) -> str:
        """The error's code; empty where it did not fail."""
        code: str = self.result.get("error", {}).get("code", "")
        return code

    @property
    def msg(self) -> str:
        """The message."""
        msg: str = self.result["msg"]
        return msg


@dataclass
class CapacityWorld:
    """One world; every module run in it sees what the ones before it left."""

    folder: Path
    server: StandInServer = field(init=False)
    alerts: AlertsObserved = field(default_factory=lambda: AlertsObserved(readable=True, rules=dict(RULES)))
    _settings: tuple[str, str] = ("", "")
    _unplugged: bool = False

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.fleet = self.folder / "fleet.git"
        shutil.copytree(_prepared_fleet(), self.fleet)
        self.server = StandInServer(self.settings)
        self.evidence = self.folder / "evidence"
        self.evidence.mkdir(mode=0o700)

    def commit_file(self, path: str, content: str | None, *, branch: str = "main") -> None:
        """A person's commit to a branch, which is made where there is none; None takes the file away."""
        self.commit_files({path: content}, branch=branch)

    def commit_files(self, files: Mapping[str, str | None], *, branch: str = "main") -> None:
        """A person's commit of several files."""
        reference = f"refs/heads/{branch}"
        parent = f"from {reference}^0\n" if reference in self.refs() else ""
        import_commit(self.fleet, reference, parent, files)

    def edit_policy(self, **changes: Any) -> None:
        """A person's change of keys of the policy's spec."""
        path = "gpu-reservations/lab/policy.yaml"
        policy = yaml.safe_load(self.file(path))
        policy["spec"].update(changes)
        self.commit_file(path, yaml.safe_dump(policy, sort_keys=False))

    def file(self, path: str, branch: str = "main") -> str:
        """A file's text on a branch; empty where it is not there."""
        shown = subprocess.run(
            ["git", "-C", str(self.fleet), "show", f"{branch}:{path}"], capture_output=True, check=False
        )
        return shown.stdout.decode()

    def settings(self) -> dict[str, str]:
        """cluster-config.env as Flux has it."""
        tip = (self.fleet / "refs" / "heads" / "main").read_text(encoding="ascii")
        if self._settings[0] != tip:
            self._settings = (tip, self.file("clusters/lab/cluster-config.env"))
        lines = self._settings[1].splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))

    def refs(self) -> dict[str, str]:
        """Every branch with its commit."""
        listing = _git(self.fleet, "for-each-ref", "--format=%(refname) %(objectname)")
        return dict(line.split(" ") for line in listing.splitlines())

    def subjects(self, branch: str = "main") -> list[str]:
        """The automation's commit messages on a branch, oldest first."""
        if f"refs/heads/{branch}" not in self.refs():
            return []
        log = _git(self.fleet, "log", "--reverse", "--format=%an %s", branch).splitlines()
        return [line.partition(" ")[2] for line in log if line.startswith("gpuops.reservations ")]

    def record(self, ticket: str) -> dict[str, Any] | None:
        """A ticket's record as it stands."""
        text = self.file(f"gpu-reservations/lab/records/gpu-res-{ticket}.yaml")
        return yaml.safe_load(text) if text else None

    def lock(self) -> dict[str, Any]:
        """The lock document; empty where there is none."""
        text = self.file("lock.yaml", "gpu-lock/lab")
        return yaml.safe_load(text) if text else {}

    def add_ons(self, organization: str) -> dict[str, int]:
        """The quantities in an Organization's annotation."""
        found = self.server.named("/apis/kube-dc.com/v1/organizations", organization)
        entries = json.loads(found["metadata"]["annotations"].get("billing.kube-dc.com/addons", "[]"))
        return {entry["addonId"]: entry["quantity"] for entry in entries}

    def events(self) -> tuple[dict[str, str], int]:
        """What tells whether anything was written: every branch's commit, and the number of API writes."""
        return self.refs(), len(self.server.writes)

    @contextlib.contextmanager
    def untouched(self) -> Iterator[None]:
        """Nothing is written to the API server, to any branch, or to the evidence within this block."""
        before, sealed = self.events(), sorted(self.evidence.rglob("*"))
        yield
        assert self.events() == before
        assert sorted(self.evidence.rglob("*")) == sealed

    def run(self, module: str, *, check: bool = False, **arguments: Any) -> Ran:
        """Run a module as Ansible does, in this process."""
        given = {"_ansible_check_mode": check, "_ansible_diff": True, **self._options(module), **arguments}
        output = io.StringIO()
        wired = importlib.import_module(f"{MODULES}.{module}")
        with self.reached(), handed_over(given), contextlib.redirect_stdout(output):
            try:
                wired.main()
            except SystemExit as left:
                result = json.loads(output.getvalue())
                return Ran(bool(left.code) or bool(result.get("failed")), result)
        raise AssertionError(f"{module} ended without leaving through Ansible: {output.getvalue()}")

    def _options(self, module: str) -> dict[str, Any]:
        spec = importlib.import_module(f"{MODULES}.{module}").SPEC
        usual = {
            "kubeconfig": str(self.folder / "kubeconfig"),
            "cluster": "lab",
            "fleet_repo": str(self.fleet),
            "health_interval": 0,
            "poll_interval": 0.01,
            "wait_timeout": 5,
            "evidence_dir": str(self.evidence),
        }
        return {name: value for name, value in usual.items() if name in spec.options}

    @contextlib.contextmanager
    def unplugged(self) -> Iterator[None]:
        """Modules find their API server by their own options, and not this world's."""
        self._unplugged = True
        yield
        self._unplugged = False

    @contextlib.contextmanager
    def reached(self) -> Iterator[None]:
        """Let the adapters reach this world and nothing else."""
        cache = {"XDG_CACHE_HOME": str(self.folder / "cache")}
        environment = {
            name: value
            for name, value in os.environ.items()
            if name != "KUBECONFIG" and not name.startswith(("K8S_AUTH_", "GPUOPS_", "GIT_"))
        }
        client: Any = self.server
        connect = mock.patch.object(KubeClient, "connect", side_effect=lambda _options: KubeClient(client))
        with (
            mock.patch.dict(os.environ, {**environment, **cache}, clear=True),
            contextlib.nullcontext() if self._unplugged else connect,
            mock.patch.object(_observe_snapshot(), "read_alerts", side_effect=lambda *_: self.alerts),
        ):
            yield


@contextlib.contextmanager
def handed_over(arguments: dict[str, Any]) -> Iterator[None]:
    """Arguments as Ansible hands them to a module, and nothing of what others warned of in this process."""
    with contextlib.ExitStack() as stack:
        for name in ("_global_warnings", "_global_deprecations"):
            stack.enter_context(mock.patch.dict(getattr(warnings, name), clear=True))
        stack.enter_context(patch_module_args(arguments))
        yield


@functools.cache
def _prepared_fleet() -> Path:
    """The fixture's fleet repository, made once in a process and copied for each world."""
    folder = Path(tempfile.mkdtemp(prefix="gpuops-fleet-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    bare = folder / "fleet.git"
    _git(folder, "init", "-q", "--bare", "-b", "main", str(bare))
    files = {
        str(path.relative_to(FLEET)): path.read_text(encoding="utf-8")
        for path in sorted(FLEET.rglob("*"))
        if path.is_file()
    }
    import_commit(bare, "refs/heads/main", "", files)
    return bare


def import_commit(bare: Path, reference: str, parent: str, files: Mapping[str, str | None]) -> None:
    """One commit by a person, in one process of Git."""
    stream = io.BytesIO()
    stream.write(f"commit {reference}\ncommitter person <person@example.com> now\n".encode())
    stream.write(b"data 6\nperson\n" + parent.encode())
    for path, content in files.items():
        if content is None:
            stream.write(f"D {path}\n".encode())
        else:
            data = content.encode()
            stream.write(f"M 100644 inline {path}\ndata {len(data)}\n".encode() + data + b"\n")
    subprocess.run(
        ["git", "-C", str(bare), "fast-import", "--quiet", "--date-format=now"],
        input=stream.getvalue(),
        capture_output=True,
        check=True,
    )


def _observe_snapshot() -> Any:
    return importlib.import_module(f"{alerts.__name__.rpartition('.')[0]}.observe_snapshot")


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


SMOKE_CHECKS = [{"id": "smoke-guest", "status": "pass", "message": "", "next_action": "", "object": ""}]


def smoke_result(**uids: str) -> Mapping[str, Any]:
    """The results of a passed smoke cycle."""
    named = {"running": "one", "restarted": "two", **uids}
    return {
        stage: {"passed": True, "checks": SMOKE_CHECKS, "uid": named.get(stage, "")}
        for stage in ("before", "running", "stopped", "restarted", "gone")
    }
