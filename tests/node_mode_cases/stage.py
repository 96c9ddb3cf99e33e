# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Worlds for tests that go beyond one run of a case: the same pieces, put together by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.connection import (
    ConnectionOptions,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.fleet import FleetRepository
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.kube import KubeClient
from ansible_collections.gpuops.reservations.plugins.module_utils._core.node_mode_facts import ModeRequest
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.node_mode_world import NodeModeWorld
from ansible_collections.gpuops.reservations.tests.node_mode_cases.case_format import (
    OWN_FILE,
    Case,
    load,
    merged,
)
from ansible_collections.gpuops.reservations.tests.node_mode_cases.case_world import CaseWorld, Servers
from ansible_collections.gpuops.reservations.tests.node_mode_cases.what_happened import WhatHappened

POOL = {"pools": {"v100-vm": {"acc-7": 2}}}


def plain_case(given: dict[str, Any] | None = None, when: dict[str, Any] | None = None) -> Case:
    """The case of a transition that goes through, with changes; its node belongs to a pool."""
    straight = next(case for case in load(OWN_FILE) if case.id == "NM-E1")
    return Case(
        "test",
        "",
        merged(merged(straight.given, POOL), given or {}),
        merged(straight.when, when or {}),
        {"outcome": "changed"},
        straight.node_states,
        straight.pod_fixtures,
    )


def built(case: Case, servers: Servers, folder: Path) -> CaseWorld:
    """The world of a case, ready for a run."""
    folder.mkdir(parents=True, exist_ok=True)
    world = CaseWorld(case, servers, folder)
    world.build()
    return world


def outside(world: CaseWorld, clock: Any, name: str) -> NodeModeWorld:
    """One run's own connection and clone, as a process of its own would have them."""
    kube = KubeClient.connect(ConnectionOptions(host=world.servers.proxy.url), clock=clock)
    fleet = FleetRepository(world.fleet_repo, "main", world.folder / f"cache-{name}")
    return NodeModeWorld(kube, fleet, clock)


def asked(world: CaseWorld, **changes: Any) -> ModeRequest:
    """The request of a plain case."""
    return ModeRequest(world.cluster, world.node.name, "pod-hami", "vm-passthrough", **changes)


def finished_well(world: CaseWorld, happened: WhatHappened) -> None:
    """The node has arrived, is schedulable, and nothing is left over; one commit did it."""
    assert happened.rule(world.node.name, happened.head) == {
        "name": f"{world.node.name}-vm-passthrough",
        "active": "vm-passthrough",
        "expected": "vm-passthrough",
        "config": "vm-passthrough",
    }
    assert not happened.cordoned
    assert happened.mark is None
    assert happened.lock_holders == {}
    assert happened.target_alone("vm-passthrough")
