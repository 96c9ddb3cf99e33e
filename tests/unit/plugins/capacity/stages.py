# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Brings a world to the stage of an assignment at which a module is called; the modules before do not run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import yaml

from ansible_collections.gpuops.reservations.plugins.module_utils._core.order import resolve_order
from ansible_collections.gpuops.reservations.plugins.module_utils._core.record_change import (
    pending_from_order,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.capacity_world import CapacityWorld

TICKET = "LAB-9"
RUN_ID = "01RUN"
RUN: dict[str, Any] = {"ticket": TICKET, "run_id": RUN_ID}
POOL = "h100-vm"
LOCK_BRANCH = "gpu-lock/lab"
CONFIG_FILE = "clusters/lab/cluster-config.env"
RECORD_FILE = "gpu-reservations/lab/records/gpu-res-lab-9.yaml"
SURVEY: dict[str, Any] = {
    "organization": "borealis",
    "profileId": "h100-vm",
    "devices": "8",
    "addonId": "gpu-h100-reserved",
    "requestedAt": "2026-11-01T09:00:00Z",
    "startsAt": "2026-11-02T09:00:00Z",
    "billingReference": "INV-9",
    "supportOwner": "desk@example.com",
    "maintenanceTerms": "standard",
    "approvedByProduct": "p.owner",
    "approvedBySre": "s.owner",
}


def lock_text(
    ticket: str = "lab-9", run_id: str = RUN_ID, *, closed_for: tuple[str, ...] = ("lab-9",)
) -> str:
    """A lock document in which a run holds the pool and the gate is closed for these tickets."""
    shared = {"openBefore": False, "closedFor": []}
    pools = {POOL: {"ticket": ticket, "run": run_id, "since": "2026-12-01T00:00:00Z", "step": "freeze"}}
    gate = {"vm": {"openBefore": True, "closedFor": list(closed_for)}, "shared": shared}
    return yaml.safe_dump({"pools": pools, "gate": gate, "projectCaps": {}}, sort_keys=False)


def locked(world: CapacityWorld, *, closed: bool = True, run_id: str = RUN_ID) -> CapacityWorld:
    """The pool is locked for the run, and creation is closed for its ticket unless told otherwise."""
    text = lock_text(run_id=run_id, closed_for=("lab-9",) if closed else ())
    world.commit_file("lock.yaml", text, branch=LOCK_BRANCH)
    if closed:
        world.commit_file(CONFIG_FILE, _closed(world.file(CONFIG_FILE)))
    return world


def _closed(config: str) -> str:
    return config.replace("GPU_VM_CREATION_ENABLED=true", "GPU_VM_CREATION_ENABLED=false")


def pending_text(**changes: str) -> str:
    """The pending record of the ticket's order."""
    answers = {**SURVEY, **changes}
    for key, name in (("approvedByProduct", "approvedBy.product"), ("approvedBySre", "approvedBy.sre")):
        answers[name] = answers.pop(key)
    return pending_from_order(resolve_order("lab-9", {}, answers)).to_yaml()


def pending(world: CapacityWorld, **changes: str) -> CapacityWorld:
    """The pending record is committed, under lock and closed gate."""
    text = lock_text()
    world.commit_file("lock.yaml", text, branch=LOCK_BRANCH)
    config = _closed(world.file(CONFIG_FILE))
    world.commit_files({CONFIG_FILE: config, RECORD_FILE: pending_text(**changes)})
    return world


def entitled(world: CapacityWorld, **changes: str) -> CapacityWorld:
    """As pending, and quota and status show the entitlement."""
    pending(world, **changes)
    world.server.entitle("borealis", {"gpu-h100-vm": 2, "gpu-h100-reserved": 8})
    return world


class When:
    """Does something the first time a call site that begins so is reached."""

    def __init__(self, site: str, do: Callable[[], object], *, times: int = 1) -> None:
        self._site = site
        self._do = do
        self.left = times

    def reached(self, site: str) -> None:
        """As call sites announce themselves."""
        if self.left and site.startswith(self._site) and not site.endswith("answered"):
            self.left -= 1
            self._do()
