#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: The gpuops.reservations contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: gpu_invariant
short_description: Prove the capacity invariant of one profile pool
version_added: 0.1.0
description:
  - Reads nodes, leases, Pods, quotas, organizations, catalogue, ledger, lock and alerts itself, in one
    process,
    and evaluates I(healthy schedulable devices >= reserved + non-reserved hard quota + spare).
  - Fails when the answer is no, or when anything that it rests on is unknown, stale or ambiguous.
  - Changes nothing.
author:
  - The gpuops.reservations contributors (@gpuops)
extends_documentation_fragment:
  - gpuops.reservations.connection
  - gpuops.reservations.connection.snapshot
  - gpuops.reservations.fleet
  - gpuops.reservations.attributes
  - gpuops.reservations.attributes.read_only
  - gpuops.reservations.attributes.actiongroup
  - gpuops.reservations.order
  - gpuops.reservations.pool
attributes:
  check_mode: {}
  diff_mode: {}
  idempotent: {}
options:
  ticket:
    description:
      - Ticket whose run asks. With O(purpose=assign) its order is added to the equation. The
        organization of a
        ticket that holds the pool's lock may be between before and after. Required with O(purpose=assign).
    type: str
  purpose:
    description:
      - What the proof is for. V(assign) adds the order and also refuses a frozen pool and pending alerts.
      - V(entitled) demands that entitlement of the ticket has converged.
      - V(let_go) also checks that the backend is available and KubeVirt is deployed.
      - V(show) only reports, and never fails on a no.
    type: str
    choices: [show, audit, assign, entitled, let_go]
    default: audit
  health_interval:
    description:
      - Seconds between two reads of node health. Findings of health are read again, three times at
        most, before
        they stop anything.
    type: float
    default: 10.0
  save_snapshot:
    description:
      - File to save the observation to, mode 0600. It can be given as O(snapshot) later.
    type: path
"""

EXAMPLES = r"""
- name: Prove the pool as it is
  gpuops.reservations.gpu_invariant:
    profile_id: h100-vm

- name: Prove it with the order of a ticket added
  gpuops.reservations.gpu_invariant:
    profile_id: h100-vm
    ticket: LAB-1
    purpose: assign

- name: Look at a saved snapshot, offline
  gpuops.reservations.gpu_invariant:
    profile_id: h100-vm
    snapshot: h100.json
    purpose: show
"""

RETURN = r"""
msg:
  description: One sentence for a person; on failure cause, facts and next step.
  returned: always
  type: str
  sample: "h100-vm: 32 >= 8 + 6 + 1; headroom 17"

checks:
  description: Every question that was asked, with its answer. V(unknown) is never V(pass).
  returned: always
  type: list
  elements: dict
  sample:
    - id: capacity-equation
      status: pass
      message: 32 healthy schedulable devices >= 8 reserved + 6 non-reserved + 1 spare; headroom 17
      next_action: ""
      object: pool/h100-vm

equation:
  description: The capacity equation with every term, in devices.
  returned: when the pool could be judged
  type: dict
  sample:
    healthy: 32
    reserved: {pending: 0, active: 8, releasing: 0}
    non_reserved: 6
    spare: 1
    headroom: 17
    holds: true

equation_after:
  description: The equation with the order added.
  returned: when O(purpose=assign)
  type: dict
  sample:
    healthy: 32
    reserved: {pending: 8, active: 8, releasing: 0}
    non_reserved: 6
    spare: 1
    headroom: 9
    holds: true
organizations:
  description: Each organization's claim and the values that it comes from, in devices.
  returned: when the pool could be judged
  type: list
  elements: dict
  sample:
    - {organization: aurora, hard: 4, ordinary: 4, granted: 0, reserved: 0, covered: 0, claim: 4}
nodes:
  description: Each node with what it counts and why.
  returned: when the pool could be judged
  type: list
  elements: dict
  sample:
    - {node: gpu-01, declared: 8, counts: 8, reason: allocatable}
in_service:
  description: Whether anything is sold from the pool, or about to be. Otherwise no spare is asked for.
  returned: when the pool could be judged
  type: bool
  sample: true
limits:
  description: The policy's limits of staleness that were used.
  returned: when the pool could be judged
  type: dict
  sample: {nodeLeaseSeconds: 60, quotaStatusSeconds: 600, lockHours: 24, smokeDays: 90}
remedies:
  description:
    - The smallest ways to make the equation hold, each sufficient by itself.
    - A C(reduce-entitlement) names every organization that gives something back; all of them together
      suffice, with the devices that have to be added beside.
  returned: when the pool could be judged
  type: list
  elements: dict
  sample:
    - kind: reduce-entitlement
      devices: 1
      add_devices: 0
      reductions: [{organization: aurora, devices: 1, unused: 1}]
      message: reduce non-reserved entitlement of aurora by 1 of 4 (1 unused), holder-safely

summary:
  description: Lines for the screen.
  returned: always
  type: list
  elements: str
  sample: ["h100-vm  healthy 32", "         reserved 8 (active 8)"]
"""

from ansible_collections.gpuops.reservations.plugins.module_utils._shell.argument_spec import (
    OBSERVER,
    ORDER,
    PROFILE,
    SNAPSHOT,
    ArgumentSpec,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.invariant import prove_pool
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.run import run_module

SPEC = OBSERVER.merge(
    SNAPSHOT,
    ORDER,
    PROFILE,
    ArgumentSpec(
        options={
            "ticket": {"type": "str"},
            "purpose": {
                "type": "str",
                "choices": ["show", "audit", "assign", "entitled", "let_go"],
                "default": "audit",
            },
            "health_interval": {"type": "float", "default": 10.0},
            "save_snapshot": {"type": "path"},
        },
        required_if=(("purpose", "assign", ("ticket",)),),
    ),
)


def main() -> None:
    """Wire options to the work."""
    run_module(SPEC, prove_pool)


if __name__ == "__main__":
    main()
