# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The world of one case: cluster and fleet as given, and what changes in them while a module runs."""

from __future__ import annotations

import contextlib
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_collections.gpuops.reservations.tests.node_mode_cases import gate_copies
from ansible_collections.gpuops.reservations.tests.node_mode_cases.api_proxy import ApiProxy, Record
from ansible_collections.gpuops.reservations.tests.node_mode_cases.case_format import (
    Case,
    NotUnderstood,
    Section,
)
from ansible_collections.gpuops.reservations.tests.node_mode_cases.control_plane import ControlPlane
from ansible_collections.gpuops.reservations.tests.node_mode_cases.faults import Fault, read_faults
from ansible_collections.gpuops.reservations.tests.node_mode_cases.fleet_remote import (
    FleetRemote,
    PushListener,
)
from ansible_collections.gpuops.reservations.tests.node_mode_cases.fleet_state import (
    change_fleet,
    change_settings,
    fleet_state,
)
from ansible_collections.gpuops.reservations.tests.node_mode_cases.ledger_state import LedgerState
from ansible_collections.gpuops.reservations.tests.node_mode_cases.node_state import (
    CORDON,
    NodeState,
    change_node,
)
from ansible_collections.gpuops.reservations.tests.node_mode_cases.pod_state import case_pod, content, pod_key
from lab.api import ApiError

_CONFIG_MAP = "/api/v1/namespaces/flux-system/configmaps/cluster-config"
_FOREIGN_COMMIT = (
    "commit",
    "other_commit",
    "unrelated_commit",
    "moves",
    "moved",
    "new_commit",
    "foreign_commit",
    "advanced",
)
_MOMENTS = ("after_cordon", "after_push", "during_wait")


@dataclass
class Servers:
    """What all cases of a session share."""

    plane: ControlPlane
    proxy: ApiProxy
    listener: PushListener
    uid: str


class CaseWorld:
    """Everything that a case's module can see and change."""

    def __init__(self, case: Case, servers: Servers, folder: Path) -> None:
        self.case = case
        self.servers = servers
        self.folder = folder
        self.record = Record(after_cordon=lambda: self.at("after_cordon"))
        self._pods_kept: dict[str, bytes] = {}
        given = Section("given", case.given)
        node = given.take("node", default={})
        self.node = NodeState(str(node.get("name", "acc-7")))
        self.cluster = str(given.take("cluster", default="cases"))
        self.fleet = fleet_state(
            given.take("fleet", default={}), given.take("gates_file"), self.node.name, self.cluster
        )
        lines = given.take("gates_file_lines", "gates_file_text", "env_lines", "env_text")
        if lines is not None:
            self.fleet.settings_text = lines if isinstance(lines, str) else "\n".join(lines) + "\n"
        self.live: dict[str, Any] | None = {}
        self.copies = gate_copies.Copies()
        self.faults: dict[str, Fault] = {}
        change_node(self.node, node, case.node_states, "given.node")
        self._change_live(given.take("gates_live"), "given.gates_live")
        self.copies.change(given)
        self._change_faults(given.take("api"), "given.api")
        self.pods = self._read_pods(given.take("pods"), "given.pods")
        self.ledger = LedgerState(self.cluster, servers.uid)
        self.ledger.change(given, self.node.name)
        self._script = self._read_script(given.take("script"))
        given.take("note")
        given.done()
        self.remote = FleetRemote(folder / "fleet.git")
        self.script_error: Exception | None = None
        self.start_revision = ""
        self.start_lock = ""

    # -- set-up ---------------------------------------------------------------------------------------------

    def build(self) -> None:
        """Put the cluster and the fleet into the state that the case gives."""
        self.servers.proxy.record = Record()
        self.servers.plane.remove("/registry/pods/")
        for node in self.servers.plane.api.get("/api/v1/nodes")["items"]:
            self.servers.plane.api.delete(f"/api/v1/nodes/{node['metadata']['name']}")
        self._apply_node()
        self._apply_pods()
        self._apply_live()
        self.copies.apply(self.servers.plane.api)
        self.remote.commit({**self.fleet.files(self.node.name), **self.ledger.files()}, "Start")
        lock = self.ledger.lock_file()
        if lock is not None:
            self.remote.commit({"lock.yaml": lock}, "Lock", self.ledger.lock_branch)
        self.start_revision = self.remote.tip()
        self.start_lock = self.remote.tip(self.ledger.lock_branch)
        self.servers.listener.on_push = self._pushed
        self.remote.tell_pushes(self.servers.listener.url)
        if self.fleet.remote == "refuses_push":
            self.remote.refuse_pushes()
        self.record.faults = self.faults
        self.servers.proxy.record = self.record

    def environment(self) -> dict[str, str]:
        """Variables that make the remote behave as given."""
        if self.fleet.remote != "read_only":
            return {}
        program = self.folder / "receive-pack"
        program.write_text("#!/bin/sh\necho 'remote: Permission to fleet denied to cases.' >&2\nexit 128\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        settings = self.folder / "gitconfig"
        settings.write_text(f'[remote "origin"]\n\treceivepack = {program}\n')
        return {"GIT_CONFIG_GLOBAL": str(settings)}

    @property
    def fleet_repo(self) -> str:
        """What the module is told."""
        return (
            str(self.folder / "nowhere.git") if self.fleet.remote == "unreachable" else str(self.remote.path)
        )

    def move_ahead(self) -> None:
        """A commit by somebody else, after the module's clone was made."""
        if self.fleet.remote == "ahead":
            self.start_revision = self.remote.commit({"NOTES": b"somebody else\n"}, "Somebody else's")

    # -- while the module runs ------------------------------------------------------------------------------

    def at(self, moment: str) -> None:
        """Apply what the case's script says for a moment: all of it; during the wait one entry a look."""
        entries = self._script[moment]
        taken = entries[:1] if moment == "during_wait" else list(entries)
        del entries[: len(taken)]
        if taken:
            self.record.events.append(f"script {moment}")
        try:
            for entry in taken:
                self._change(entry, f"script {moment}")
        except Exception as error:  # noqa: BLE001 - told by the test, whatever it is
            # A hook or the proxy called: raised there, it would be lost with their thread.
            self.script_error = self.script_error or error

    def start_over(self) -> None:
        """Take what there is now as the start of another run."""
        self.record = Record(after_cordon=lambda: self.at("after_cordon"), faults=self.faults)
        self.servers.proxy.record = self.record
        self.start_revision = self.remote.tip()

    def script_left(self) -> list[str]:
        """Moments of the script that never came."""
        return [moment for moment, entries in self._script.items() if entries]

    def _pushed(self) -> None:
        self.record.events.append("push")
        self.at("after_push")

    def _change(self, entry: Mapping[str, Any], where: str) -> None:
        section = Section(where, {key: value for key, value in entry.items() if key != "at"})
        if section.has("node"):
            self._follow_mark()
            change_node(self.node, section.take("node"), self.case.node_states, f"{where}.node")
            self._apply_node()
        if section.has("pods"):
            self.pods = self._read_pods(section.take("pods"), f"{where}.pods")
        self._apply_pods()
        if section.has("gates_live"):
            self._change_live(section.take("gates_live"), f"{where}.gates_live")
            self._apply_live()
        if section.has("gates_file", "fleet"):
            self._change_files(section, where)
        if section.has("lock", "locks"):
            self.ledger.change(section, self.node.name)
            self.remote.commit({"lock.yaml": self.ledger.lock_file()}, "Lock", self.ledger.lock_branch)
        if section.has("records", "record"):
            self.ledger.change(section, self.node.name)
            self.remote.commit(self.ledger.files(), "Records")
        if section.has("api"):
            self._change_faults(section.take("api"), f"{where}.api")
        self.copies.change(section)
        if self.copies.changed:
            self.copies.apply(self.servers.plane.api)
        section.take("note")
        section.done()

    def _change_files(self, section: Section, where: str) -> None:
        """Somebody else's commit while the module runs: only the files that it changes."""
        before = self.fleet.files(self.node.name)
        if section.has("gates_file"):
            change_settings(self.fleet, section.take("gates_file"), f"{where}.gates_file")
        fleet = section.take("fleet")
        other: dict[str, bytes | None] = {}
        if fleet is not None:
            inner = Section(f"{where}.fleet", fleet)
            commit = inner.take(*_FOREIGN_COMMIT)
            if commit:
                other["NOTES"] = str(commit).encode() + b"\n"
            change_fleet(self.fleet, inner, self.node.name)
            if self.fleet.remote == "refuses_push":
                self.remote.refuse_pushes()
            elif self.fleet.remote == "unreachable":
                self.remote.path.rename(self.folder / "gone.git")
                self.remote.path = self.folder / "gone.git"
                return
        after = self.fleet.files(self.node.name)
        changed: dict[str, bytes | None] = {
            path: after.get(path) for path in {*before, *after} if before.get(path) != after.get(path)
        }
        if changed or other:
            self.remote.commit({**changed, **other}, "Somebody else's")

    # -- pieces ---------------------------------------------------------------------------------------------

    def _read_script(self, script: Any) -> dict[str, list[Mapping[str, Any]]]:
        found: dict[str, list[Mapping[str, Any]]] = {moment: [] for moment in _MOMENTS}
        for entry in script or []:
            moment = entry.get("at") if isinstance(entry, dict) else None
            if moment not in found:
                raise NotUnderstood(f"given.script: at {moment!r}, not one of {', '.join(_MOMENTS)}")
            found[moment].append(entry)
        return found

    def _read_pods(self, pods: Any, where: str) -> list[dict[str, Any]]:
        if not isinstance(pods, (list, type(None))):
            raise NotUnderstood(f"{where}: a list")
        return [
            case_pod(entry, self.case.pod_fixtures, self.node.name, f"{where}[{number}]")
            for number, entry in enumerate(pods or [])
        ]

    def _change_faults(self, mapping: Any, where: str) -> None:
        for operation, fault in read_faults(where, mapping or {}).items():
            if fault is None:
                self.faults.pop(operation, None)
            else:
                self.faults[operation] = fault

    def _change_live(self, gates: Any, where: str) -> None:
        if gates in (None, "missing", "absent"):
            self.live = None
            return
        if gates in ("unreadable", "forbidden", "error"):
            self._change_faults({"get_configmap": "forbidden" if gates == "forbidden" else "error"}, where)
            return
        for key, value in Section(where, gates).rest().items():
            if not str(key).isupper():
                raise NotUnderstood(f"{where}: does not know {key}")
            self.live = {**(self.live or {}), str(key): value}

    def _apply_live(self) -> None:
        api = self.servers.plane.api
        with contextlib.suppress(ApiError):
            api.delete(_CONFIG_MAP)
        if self.live is None:
            return
        data = {"CLUSTER_NAME": self.cluster, **self.live}
        shown = {
            key: str(value).lower() if isinstance(value, bool) else str(value)
            for key, value in data.items()
            if value is not None
        }
        api.apply(
            _CONFIG_MAP,
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "cluster-config", "namespace": "flux-system"},
                "data": shown,
            },
        )

    def _follow_mark(self) -> None:
        """Take over what the module wrote of its cordon: others who change the node leave that alone."""
        with contextlib.suppress(ApiError):  # no node, no mark
            live = self.servers.plane.api.get(f"/api/v1/nodes/{self.node.name}")
            mark = live["metadata"].get("annotations", {}).get(CORDON)
            self.node.annotations.pop(CORDON, None)
            if mark is not None:
                self.node.annotations[CORDON] = mark

    def _apply_node(self) -> None:
        api, path = self.servers.plane.api, f"/api/v1/nodes/{self.node.name}"
        if not self.node.exists:
            with contextlib.suppress(ApiError):
                api.delete(path)
            return
        api.apply(path, self.node.metadata())
        api.apply(f"{path}/status", self.node.status())

    def _apply_pods(self) -> None:
        wanted = {pod_key(pod): content(pod) for pod in [*self.node.plugin_pods(), *self.pods]}
        if len(wanted) != len(self.node.owners) + len(self.pods):
            raise NotUnderstood("given.pods: two Pods have one namespace and name")
        for key in self._pods_kept.keys() - wanted.keys():
            self.servers.plane.remove(key)
        for key, value in wanted.items():
            if self._pods_kept.get(key) != value:
                self.servers.plane.store(key, value)
        self._pods_kept = wanted
