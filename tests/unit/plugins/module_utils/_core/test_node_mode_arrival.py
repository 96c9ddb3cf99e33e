# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node has arrived when everything holds in one look, and not before."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.checks import passed, stopping
from ansible_collections.gpuops.reservations.plugins.module_utils._core.cluster_objects import Node, Pod
from ansible_collections.gpuops.reservations.plugins.module_utils._core.modes import MODES, PLUGIN_OWNER
from ansible_collections.gpuops.reservations.plugins.module_utils._core.node_mode_arrival import (
    arrival_checks,
    guarded_checks,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.node_mode_facts import NodeState
from ansible_collections.gpuops.reservations.plugins.module_utils._core.unread import Unread

UNREAD = Unread("node acc-7", "no answer", "look")


def state(
    mode: str,
    *,
    cordoned: bool = True,
    ready: bool = True,
    pods: tuple[Pod, ...] | None = None,
    **labels: Any,
) -> NodeState:
    wanted = {"active": mode, "expected": mode, **labels}
    node = Node.model_validate(
        {
            "metadata": {
                "name": "acc-7",
                "labels": {
                    "kube-dc.com/gpu.workload-mode": wanted["active"],
                    "kube-dc.com/gpu.expected-workload-mode": wanted["expected"],
                },
            },
            "spec": {"unschedulable": cordoned},
            "status": {"conditions": [{"type": "Ready", "status": "True" if ready else "False"}]},
        }
    )
    return NodeState(node, (plugin(PLUGIN_OWNER[mode]),) if pods is None else pods)


def plugin(owner: str, phase: str = "Running", **metadata: Any) -> Pod:
    return Pod.model_validate(
        {
            "metadata": {
                "name": owner,
                "namespace": "hami-system",
                "ownerReferences": [{"kind": "DaemonSet", "name": owner, "controller": True}],
                **metadata,
            },
            "spec": {"nodeName": "acc-7"},
            "status": {"phase": phase},
        }
    )


HOLDER = Pod.model_validate(
    {
        "metadata": {"name": "train-0", "namespace": "org-a"},
        "spec": {"nodeName": "acc-7", "resourceClaims": [{"name": "gpu"}]},
    }
)


@pytest.mark.parametrize("mode", MODES)
def test_arrived(mode: str) -> None:
    assert passed(arrival_checks("acc-7", mode, state(mode)))


@pytest.mark.parametrize(("mode", "other"), list(itertools.permutations(MODES, 2)))
def test_another_mode_is_no_arrival(mode: str, other: str) -> None:
    failed = {check.id for check in stopping(arrival_checks("acc-7", mode, state(other)))}
    assert failed == {"label-active", "label-expected", "plugin-owner"}


VM = "vm-passthrough"


@pytest.mark.parametrize(
    ("seen", "missing"),
    [
        (state(VM, cordoned=False), "still-cordoned"),
        (state(VM, ready=False), "node-ready"),
        (state(VM, active="pod-hami"), "label-active"),
        (state(VM, expected="pod-hami"), "label-expected"),
        (state(VM, pods=()), "plugin-owner"),
        (state(VM, pods=(plugin(PLUGIN_OWNER[VM]), HOLDER)), "holders"),
        (
            state(VM, pods=(plugin(PLUGIN_OWNER[VM], deletionTimestamp="2026-01-02T03:04:05Z"),)),
            "plugin-owner",
        ),
        (state(VM, pods=(plugin(PLUGIN_OWNER[VM], "Failed"),)), "plugin-owner"),
        (state(VM, pods=(plugin(PLUGIN_OWNER[VM], namespace="org-a"),)), "plugin-owner"),
        (
            state(VM, pods=(plugin(PLUGIN_OWNER[VM]), plugin("nvidia-device-plugin-daemonset"))),
            "plugin-owner",
        ),
        (
            state(
                VM,
                pods=(
                    plugin(PLUGIN_OWNER[VM]),
                    plugin(PLUGIN_OWNER["pod-hami"], deletionTimestamp="2026-01-02T03:04:05Z"),
                ),
            ),
            "plugin-owner",
        ),
    ],
)
def test_each_condition_alone_is_missed(seen: NodeState, missing: str) -> None:
    assert {check.id for check in stopping(arrival_checks("acc-7", VM, seen))} == {missing}


@pytest.mark.parametrize("seen", [NodeState(UNREAD, ()), NodeState(state(VM).node, UNREAD)])
def test_what_cannot_be_read_is_unknown_and_no_arrival(seen: NodeState) -> None:
    for checks in (arrival_checks("acc-7", VM, seen), guarded_checks("acc-7", seen)):
        assert checks
        assert all(check.status == "unknown" for check in checks)


def test_a_node_that_is_gone_is_not_cordoned() -> None:
    assert not passed(guarded_checks("acc-7", NodeState(None, ())))
    assert not passed(arrival_checks("acc-7", VM, NodeState(None, ())))


def test_the_facts_are_told_when_they_hold_as_well() -> None:
    told = " ".join(check.message for check in arrival_checks("acc-7", VM, state("pod-hami", ready=False)))
    for word in (
        "not Ready",
        "active label says pod-hami",
        "expected label says pod-hami",
        "hami-device-plugin",
    ):
        assert word in told
