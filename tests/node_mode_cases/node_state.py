# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a case says about nodes and the plugins on them, as objects of the API server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.gpuops.reservations.tests.node_mode_cases.case_format import (
    NotUnderstood,
    Section,
    boolean,
)
from ansible_collections.gpuops.reservations.tests.node_mode_cases.pod_state import owner_pod

ACTIVE = "kube-dc.com/gpu.workload-mode"
EXPECTED = "kube-dc.com/gpu.expected-workload-mode"
CONFIG = "nvidia.com/gpu.workload.config"
CORDON = "gpuops.reservations/cordon"
KEEP = "gpuops.reservations/keep-cordoned"
_SINCE = "2026-01-02T03:04:05Z"
_MARKS = {
    "transition": {"by": "transition", "id": "01JEARLIERRUNOFTHISNODE000", "since": _SINCE},
    "reservation": {"by": "reservation", "id": "foo", "since": _SINCE},
}
_CORDONED_BY = {
    "us": "transition", "ours": "transition", "transition": "transition", "earlier_run": "transition",
    "this_transition": "transition", "reservation": "reservation",
    "operator": None, "somebody": None, "other": None, "person": None, "nobody": None,
}  # fmt: skip


@dataclass
class NodeState:
    """A node as a case has it."""

    name: str
    exists: bool = True
    active: str | None = None
    expected: str | None = None
    ready: bool | str | None = True
    cordoned: bool = False
    owners: list[dict[str, Any]] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    taints: list[dict[str, str]] = field(default_factory=list)
    conditions: list[dict[str, str]] = field(default_factory=list)

    def metadata(self) -> dict[str, Any]:
        """The node without its status, to be applied."""
        labels = {ACTIVE: self.active, EXPECTED: self.expected, **self.labels}
        spec: dict[str, Any] = {"unschedulable": self.cordoned}
        if self.taints:
            spec["taints"] = self.taints
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": self.name,
                "labels": {key: value for key, value in labels.items() if value is not None},
                "annotations": self.annotations,
            },
            "spec": spec,
        }

    def status(self) -> dict[str, Any]:
        """The node's status, to be applied."""
        word = {True: "True", False: "False"}.get(self.ready, self.ready)  # type: ignore[arg-type]
        conditions = [*self.conditions]
        if word is not None:
            conditions.append({"type": "Ready", "status": str(word), "reason": "CaseSays"})
        conditions = [
            {"lastTransitionTime": _SINCE, "lastHeartbeatTime": _SINCE, **each} for each in conditions
        ]
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": self.name},
            "status": {"conditions": conditions},
        }

    def plugin_pods(self) -> list[dict[str, Any]]:
        """The Pods of the plugin owners."""
        return [owner_pod(self.name, number, owner) for number, owner in enumerate(self.owners)]


def change_node(state: NodeState, mapping: Any, bases: Mapping[str, Any], where: str) -> None:
    """Apply ``node`` of a case to a state. A base sets everything that it says; other keys override it."""
    section = Section(where, mapping)
    name = section.take("name")
    if name is not None and str(name) != state.name:
        raise NotUnderstood(f"{where}.name: the node is {state.name}")
    base = section.take("base")
    if base is not None:
        if base not in bases:
            raise NotUnderstood(f"{where}.base: no node state is named {base!r}")
        _settle(state, Section(f"node_states.{base}", bases[base]))
    _settle(state, section)


def _settle(state: NodeState, section: Section) -> None:
    where = section.where
    if section.has("exists"):
        state.exists = boolean(section.take("exists"), where)
    for name in ("active", "expected"):
        if section.has(name):
            value = section.take(name)
            setattr(state, name, None if value in (None, "missing", "absent") else str(value))
    if section.has("config"):
        _put(state.labels, CONFIG, section.take("config"))
    if section.has("ready"):
        state.ready = _ready(section.take("ready"), where)
    if section.has("cordoned", "unschedulable"):
        state.cordoned = boolean(section.take("cordoned", "unschedulable"), where)
    _change_owners(state, section)
    for key, value in (section.take("labels") or {}).items():
        if key in (ACTIVE, EXPECTED):
            setattr(state, "active" if key == ACTIVE else "expected", value)
        else:
            _put(state.labels, str(key), value)
    for key, value in (section.take("annotations") or {}).items():
        _put(state.annotations, str(key), value)
    _marks(state, section)
    if section.has("taints"):
        state.taints = [dict(each) for each in section.take("taints") or []]
    if section.has("conditions"):
        state.conditions = [dict(each) for each in section.take("conditions") or []]
    section.take("note")
    section.done()


def _change_owners(state: NodeState, section: Section) -> None:
    where = section.where
    if section.has("owners"):
        state.owners = [_owner(each, where) for each in section.take("owners") or []]
    for added in _listed(section.take("add_owner", "add_owners")):
        state.owners = [*state.owners, _owner(added, where)]
    for added in _listed(
        section.take("terminating_owner", "terminating_owners", "add_terminating_owner", "leaving_owner")
    ):
        state.owners = [*state.owners, {**_owner(added, where), "terminating": True}]
    for added in _listed(section.take("finished_owner", "finished_owners", "add_finished_owner")):
        state.owners = [*state.owners, {**_owner(added, where), "phase": "Succeeded"}]
    for removed in _listed(section.take("remove_owner", "remove_owners")):
        gone = _owner(removed, where)["owner"]
        if all(each["owner"] != gone for each in state.owners):
            raise NotUnderstood(f"{where}.remove_owner: {gone} is not there")
        state.owners = [each for each in state.owners if each["owner"] != gone]


def _marks(state: NodeState, section: Section) -> None:
    where = section.where
    if section.has("cordoned_by", "cordon_annotation", "annotation"):
        by = section.take("cordoned_by", "cordon_annotation", "annotation")
        if isinstance(by, dict):
            state.annotations[CORDON] = json.dumps(by)
        elif by in (None, False, "none", "absent"):
            state.annotations.pop(CORDON, None)
        elif isinstance(by, str) and by.startswith("{"):
            state.annotations[CORDON] = by
        elif by in _CORDONED_BY:
            mark = _CORDONED_BY[by]
            state.annotations.pop(CORDON, None)
            if mark is not None:
                state.annotations[CORDON] = json.dumps(_MARKS[mark])
        else:
            raise NotUnderstood(f"{where}: a cordon by {by!r} is not known")
    if section.has("keep_cordoned"):
        _put(state.annotations, KEEP, "a person" if boolean(section.take("keep_cordoned"), where) else None)


def _put(mapping: dict[str, str], key: str, value: Any) -> None:
    if value is None:
        mapping.pop(key, None)
    else:
        mapping[key] = str(value)


def _ready(value: Any, where: str) -> bool | str | None:
    if value in (None, "missing", "absent"):
        return None
    if value in ("Unknown", "unknown"):
        return "Unknown"
    if value in (True, False, "true", "false"):
        return value in (True, "true")
    raise NotUnderstood(f"{where}.ready: true, false, unknown or missing, not {value!r}")


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _owner(value: Any, where: str) -> dict[str, Any]:
    """An owner: namespace/kind/name, and what is special about its Pod."""
    if isinstance(value, str):
        words = value.replace("(", " ").replace(")", " ").split()
        found: dict[str, Any] = {"owner": words[0]}
        for word in words[1:]:
            lower = word.lower()
            if lower == "terminating":
                found["terminating"] = True
            elif word.title() in ("Succeeded", "Failed", "Pending", "Running"):
                found["phase"] = word.title()
            else:
                raise NotUnderstood(f"{where}: an owner that is {word!r}")
        value = found
    section = Section(f"{where}.owner", value)
    owner = section.take("owner")
    if owner is None:
        owner = "/".join(str(section.take(part)) for part in ("namespace", "kind", "name"))
    if owner.count("/") != 2:
        raise NotUnderstood(f"{where}: an owner is namespace/kind/name, not {owner!r}")
    result = {
        "owner": owner,
        "terminating": bool(section.take("deletionTimestamp", "deletion_timestamp"))
        or boolean(section.take("terminating", "deleting", "deleted", default=False), where),
        "phase": section.take("phase", default="Running"),
        "controller": boolean(section.take("controller", default=True), where),
        "node": section.take("node"),
    }
    section.done()
    return result
