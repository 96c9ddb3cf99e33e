#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: The gpuops.reservations contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: gpu_lock
short_description: Take, show, let go of or break the lock of a profile pool
version_added: 0.1.0
description:
  - One lock document on a branch of its own says who changes which pool. It is changed by compare-and-
    swap and
    never deleted, so that its history is the story.
  - The next run of the same ticket takes the lock over with its own run id. Every writing module first
    checks that
    the document still names its run.
  - Locks never expire. Breaking one names ticket and reason.
  - Where the policy uses fences, they go up with the lock, and down with it unless the pool is frozen.
author:
  - The gpuops.reservations contributors (@gpuops)
extends_documentation_fragment:
  - gpuops.reservations.connection
  - gpuops.reservations.fleet
  - gpuops.reservations.attributes
  - gpuops.reservations.attributes.writes
  - gpuops.reservations.attributes.actiongroup
attributes:
  check_mode: {}
  diff_mode: {}
  idempotent: {}
options:
  state:
    description:
      - V(info) shows, V(held) takes or takes over, V(released) lets go, V(broken) breaks.
    type: str
    choices: [info, held, released, broken]
    default: info
  profile_id:
    description: Profile whose pool is meant. All pools for O(state=info) without it.
    type: str
  ticket:
    description: Ticket in whose name the lock is held.
    type: str
  run_id:
    description: Identity of this run, as M(gpuops.reservations.gpu_plan_info) gave it.
    type: str
  step:
    description: Step to note in the document.
    type: str
    default: freeze
  wait:
    description:
      - Seconds to wait for a lock that somebody else holds. With V(0) the answer is no at once,
        naming who holds it.
    type: int
    default: 0
  poll_interval:
    description: Seconds between two looks while waiting.
    type: float
    default: 5.0
  reason:
    description: Why the lock is broken.
    type: str
  smoke_namespace:
    description:
      - With O(state=held), the namespace in which the ticket's smoke VM may start while the pool is fenced.
        No VM of the pool may start without it.
    type: str
  unless_recorded:
    description:
      - With O(state=released), keep the lock where a record of the ticket is pending, active or
        releasing. A run that found a no
        uses it to put back only what it took itself.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Who holds what
  gpuops.reservations.gpu_lock:

- name: Take the pool's lock, waiting ten minutes at most
  gpuops.reservations.gpu_lock:
    state: held
    profile_id: h100-vm
    ticket: LAB-1
    run_id: "{{ plan.run_id }}"
    wait: 600

- name: Break a lock whose holder is gone for good
  gpuops.reservations.gpu_lock:
    state: broken
    profile_id: h100-vm
    ticket: LAB-1
    reason: the laptop that ran it was lost
"""

RETURN = r"""
msg:
  description: One sentence for a person; on failure cause, facts and next step.
  returned: always
  type: str
  sample: "pool h100-vm is locked for lab-1"

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

plan:
  description: The changes in their order.
  returned: always
  type: list
  elements: str
  sample: ["lock pool h100-vm for lab-1"]
plan_digest:
  description: SHA-256 of the plan; the same plan has the same digest.
  returned: always
  type: str
  sample: sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945

lock:
  description: The lock document.
  returned: always
  type: dict
  sample:
    pools:
      h100-vm: {ticket: lab-1, run: 01KB8ZJ3W4C5D6E7F8G9H0J1K2, since: "2026-11-02T09:00:00Z", step: freeze}
    gate: {}
    projectCaps: {}
taken_over:
  description: Whether an earlier run of the same ticket held the lock.
  returned: always
  type: bool
  sample: false

summary:
  description: Lines for the screen.
  returned: always
  type: list
  elements: str
  sample: ["h100-vm: lab-1 since 2026-11-02T09:00:00Z, step freeze"]
"""

from ansible_collections.gpuops.reservations.plugins.module_utils._shell.argument_spec import (
    OBSERVER,
    ArgumentSpec,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.lock import change_lock
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.run import run_module

SPEC = OBSERVER.merge(
    ArgumentSpec(
        options={
            "state": {"type": "str", "choices": ["info", "held", "released", "broken"], "default": "info"},
            "profile_id": {"type": "str"},
            "ticket": {"type": "str"},
            "run_id": {"type": "str"},
            "step": {"type": "str", "default": "freeze"},
            "wait": {"type": "int", "default": 0},
            "poll_interval": {"type": "float", "default": 5.0},
            "reason": {"type": "str"},
            "smoke_namespace": {"type": "str"},
            "unless_recorded": {"type": "bool", "default": False},
        },
        required_if=(
            ("state", "held", ("profile_id", "ticket", "run_id")),
            ("state", "released", ("profile_id", "ticket", "run_id")),
            ("state", "broken", ("profile_id", "ticket", "reason")),
        ),
    ),
)


def main() -> None:
    """Wire options to the work."""
    run_module(SPEC, change_lock)


if __name__ == "__main__":
    main()
