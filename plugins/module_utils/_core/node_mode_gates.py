# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Judges whether both creation gates are closed, in every copy, before a node changes its mode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .checks import Check, Status
from .cluster_objects import ConfigMap, GateCopies
from .node_mode_facts import ModeFacts, Unread

GATES: Final = ("GPU_SHARED_CREATION_ENABLED", "GPU_VM_CREATION_ENABLED")
CONFIG_MAP: Final = "ConfigMap flux-system/cluster-config"
_CLOSED: Final = "false"


def config_path(cluster: str) -> str:
    """Where a cluster's settings stand in the fleet repository."""
    return f"clusters/{cluster}/cluster-config.env"


def gate_checks(facts: ModeFacts, cluster: str) -> tuple[Check, ...]:
    """Both gates in the fleet file and live: closed is the literal ``false``, everything else is open."""
    close = "close both gates and let them roll out (playbooks/transition.yml with close_gates=true does it)"
    copies: list[tuple[str, Mapping[str, str] | Unread]] = [
        _fleet_file(facts, cluster),
        (CONFIG_MAP, _live(facts.config)),
        *_downstream(facts.copies),
    ]
    checks: list[Check] = []
    for where, values in copies:
        if isinstance(values, Unread):
            message = f"{values.what} cannot be read, so that the gates count as open: {values.cause}"
            checks.append(_check("unknown", message, values.next_action, where))
            continue
        for gate in GATES:
            value = values.get(gate)
            if value == _CLOSED:
                checks.append(_check("pass", f"{gate} is closed in {where}", "", where))
            else:
                shown = "missing" if value is None else repr(value[:80])
                message = f"{gate} is {shown} in {where}: only false is closed"
                checks.append(_check("fail", message, close, where))
    return (*checks, *_rolled_out(facts.copies))


def _check(status: Status, message: str, next_action: str, where: str) -> Check:
    return Check(id="creation-gate", status=status, message=message, next_action=next_action, object=where)


def _fleet_file(facts: ModeFacts, cluster: str) -> tuple[str, Mapping[str, str] | Unread]:
    path = config_path(cluster)
    file = facts.fleet.file(path)
    fix = f"correct {path} in the fleet repository"
    if file is None:
        return path, Unread(path, "the file does not exist", fix)
    if file.text is None or file.mode not in ("100644", "100755"):
        return path, Unread(path, "no plain UTF-8 file", fix)
    return path, env_values(file.text)


def _live(config: ConfigMap | Unread | None) -> Mapping[str, str] | Unread:
    if config is None:
        return Unread(CONFIG_MAP, "it does not exist", f"let Flux apply {CONFIG_MAP}")
    if isinstance(config, Unread):
        return config
    return {key: unquoted(value) for key, value in config.data.items()}


def _downstream(copies: GateCopies | Unread) -> list[tuple[str, Mapping[str, str] | Unread]]:
    if isinstance(copies, Unread):
        return [(copies.what, copies)]
    found = (
        ("HelmRelease kube-dc/kube-dc", copies.helmrelease),
        ("Deployment kube-dc/kube-dc-backend", copies.deployment),
    )
    return [(where, values) for where, values in found if values is not None]


def _rolled_out(copies: GateCopies | Unread) -> tuple[Check, ...]:
    if isinstance(copies, Unread) or copies.deployment is None or copies.deployment_rolled_out:
        return ()
    where = "Deployment kube-dc/kube-dc-backend"
    message = f"{where} is not rolled out: Pods with an open gate may still run"
    return (_check("fail", message, f"wait until {where} is rolled out, then run again", where),)


def env_values(text: str) -> dict[str, str]:
    """The settings of a KEY=VALUE file; of a key that stands twice the last one counts."""
    values: dict[str, str] = {}
    for line in text.removeprefix("\ufeff").split("\n"):
        key, separator, value = line.partition("=")
        if separator and not key.lstrip().startswith("#"):
            values[key.strip()] = unquoted(value)
    return values


def unquoted(value: str) -> str:
    """A value without outer spaces and one pair of matching quotes."""
    text = value.strip()
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return text
