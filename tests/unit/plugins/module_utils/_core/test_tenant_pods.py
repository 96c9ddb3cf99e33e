# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whose Pods a release waits for, and which ones are strangers."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.tenant_pods import (
    foreign_pods,
    intolerant_daemonsets,
    newcomers,
    pod_names,
    tenant_pods,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.tenant_nodes import (
    BAR,
    FOO,
    daemonset,
    node,
    owned_by,
    pod,
    taint,
    world,
)

NODE = node("n1")
MIRROR = {"kubernetes.io/config.mirror": "x"}
NODE_OWNER = {"kind": "Node", "name": "n1", "uid": "uid-n1", "controller": True}
BY_VALUE = [{"key": "reserved", "value": FOO}]
AGENT = daemonset("agent", FOO)


def waited(one: Any) -> list[str]:
    seen = world([NODE], pods=[one], daemonsets=[AGENT])
    return [found.metadata.name for found in tenant_pods(NODE, FOO, seen.placed, seen.tenancies)]


@pytest.mark.parametrize(
    "one",
    [
        pod("running", "n1"),
        pod("assigned", "n1", phase="Pending"),
        pod("leaving", "n1", deleting=True),
        pod("tolerating", "n1", "elsewhere", tolerations=BY_VALUE),
        pod(
            "forged-daemon", "n1", owner={"kind": "DaemonSet", "name": "x", "uid": "none", "controller": True}
        ),
        pod("forged-labels", "n1", owner=owned_by(AGENT), labels={"app": "other"}),
        pod("forged-mirror", "n1", annotations=MIRROR),
        pod("owned-mirror", "n1", annotations=MIRROR, owner=NODE_OWNER),
    ],
    ids=lambda one: one.metadata.name,
)
def test_waited_for(one: Any) -> None:
    assert waited(one) == [one.metadata.name]


@pytest.mark.parametrize(
    "one",
    [
        pod("done", "n1", phase="Succeeded"),
        pod("failed", "n1", phase="Failed"),
        pod("unassigned", ""),
        pod("elsewhere", "n2"),
        pod("stranger", "n1", BAR),
        pod("stranger-exists", "n1", BAR, tolerations=[{"operator": "Exists"}]),
        pod("daemon", "n1", owner=owned_by(AGENT), labels={"app": "agent"}),
        pod("leaving-daemon", "n1", owner=owned_by(AGENT), labels={"app": "agent"}, deleting=True),
        pod("static", "n1", "kube-system", annotations=MIRROR, owner=NODE_OWNER, tolerations=BY_VALUE),
    ],
    ids=lambda one: one.metadata.name,
)
def test_not_waited_for(one: Any) -> None:
    assert waited(one) == []


def test_a_daemonset_of_another_namespace_owns_nothing_here() -> None:
    other = daemonset("agent", "gpu-operator")
    forged = pod("forged", "n1", owner=owned_by(other), labels={"app": "agent"})
    seen = world([NODE], pods=[forged], daemonsets=[other])
    assert tenant_pods(NODE, FOO, seen.placed, seen.tenancies) == (forged,)


def test_strangers_are_those_who_do_not_tolerate() -> None:
    exporter = daemonset("exporter")
    found = [
        pod("stranger", "n1", BAR),
        pod("own", "n1", FOO),
        pod("tolerating", "n1", BAR, tolerations=[{"operator": "Exists"}]),
        pod("exporter-1", "n1", "gpu-operator", owner=owned_by(exporter), labels={"app": "agent"}),
        pod("static", "n1", "kube-system", annotations=MIRROR, owner=NODE_OWNER),
    ]
    seen = world([NODE], pods=found, daemonsets=[exporter])
    assert pod_names(foreign_pods(NODE, FOO, taint(), seen.placed, seen.tenancies)) == f"{BAR}/stranger"


def test_daemonsets_are_judged_by_what_their_next_pods_tolerate() -> None:
    plugin = daemonset("plugin")
    old = pod(
        "old", "n1", "gpu-operator", owner=owned_by(plugin), labels={"app": "agent"}, tolerations=BY_VALUE
    )
    seen = world([NODE], pods=[old], daemonsets=[plugin])
    assert intolerant_daemonsets("n1", taint(), seen.placed) == ("gpu-operator/plugin",)
    assert intolerant_daemonsets("n1", None, seen.placed) == ()
    assert intolerant_daemonsets("n2", taint(), seen.placed) == ()


def test_newcomers_came_after_the_cordon() -> None:
    early = pod("early", "n1", scheduled="2026-11-30T10:00:00Z")
    late = pod("late", "n1", scheduled="2026-11-30T11:30:00Z")
    assert newcomers([early, late], "2026-11-30T11:00:00Z") == (late,)
    assert newcomers([late], "") == ()
