# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Judges whether both creation gates are closed, in every copy, before a node changes its mode."""

from __future__ import annotations

from typing import Final

from .checks import Check, Status
from .cluster_config import config_path
from .cluster_objects import GateCopies
from .gate import CopyState, GateState, gate_state
from .gate_use import GATE_KEYS, Gate
from .node_mode_facts import ModeFacts
from .unread import Unread

_GATES: Final[tuple[Gate, ...]] = ("shared", "vm")
CONFIG_MAP: Final = "ConfigMap flux-system/cluster-config"
_PLACES: Final = {
    "configmap": CONFIG_MAP,
    "helmrelease": "HelmRelease kube-dc/kube-dc",
    "deployment": "Deployment kube-dc/kube-dc-backend",
}
_CLOSE: Final = (
    "close both gates and let them roll out (playbooks/transition.yml with close_gates=true does it), "
    "then run again"
)


def gate_checks(facts: ModeFacts, cluster: str, *, closed_first: bool = False) -> tuple[Check, ...]:
    """Both gates in the fleet file and live: closed is the literal ``false``, everything else is open.

    Args:
        facts: what was seen.
        cluster: the cluster's name.
        closed_first: for a preview, an open gate is no obstacle: it will have been closed by then.
    """
    path = config_path(cluster)
    unread = [part for part in (facts.config, facts.copies) if isinstance(part, Unread)]
    checks = [_check("unknown", f"{part.what} cannot be read: {part.cause}", part.what) for part in unread]
    config = None if isinstance(facts.config, Unread) else facts.config
    copies = GateCopies() if isinstance(facts.copies, Unread) else facts.copies
    for gate in _GATES:
        state = gate_state(gate, facts.fleet.file(path), config, copies)
        for place, says in state.copies().items():
            where = _PLACES.get(place, path)
            if says != "absent" and where not in {part.what for part in unread}:
                checks.append(_judged(state, place, says, where))
    return tuple(_later(check) if closed_first and check.status == "fail" else check for check in checks)


def _later(check: Check) -> Check:
    message = f"{check.message}; it is closed first"
    return Check(id=check.id, status="not_applicable", message=message, object=check.object)


def _judged(state: GateState, place: str, says: CopyState, where: str) -> Check:
    key = GATE_KEYS[state.gate]
    if says == "closed":
        return _check("pass", f"{key} is closed in {where}", where)
    if says == "unknown" and place == "deployment":
        message = f"{where} is not rolled out: Pods with {key} open may still run"
        return _check("unknown", message, where)
    if says == "unknown":
        return _check("unknown", f"{key}: {where} is missing or cannot be read", where)
    text = state.said.get(place)
    shown = "missing" if text is None else repr(text[:80])
    return _check("fail", f"{key} is {shown} in {where}: only false is closed", where)


def _check(status: Status, message: str, where: str) -> Check:
    action = "" if status == "pass" else _CLOSE
    return Check(id="creation-gate", status=status, message=message, next_action=action, object=where)
