#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: The gpuops.reservations contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: gpu_plan_info
short_description: Plan a ticket from what the world shows
version_added: 0.1.0
description:
  - Observes everything once, finds out from the world which phases of the action are done, and answers
    the phases
    in order, each C(done), C(next) or C(later), with the projected equation and every refusal.
  - Does not fail when the answer is no; RV(allowed) is false then, and RV(msg) says why and what to do next.
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
attributes:
  check_mode: {}
  diff_mode: {}
  idempotent: {}
options:
  action:
    description: The runbook to plan.
    type: str
    choices: [assign, release, cancel, entitlement]
    required: true
  organization:
    description: Whose ordinary add-on is to be changed, for O(action=entitlement).
    type: str
  addon_id:
    description: The ordinary add-on, for O(action=entitlement).
    type: str
  quantity:
    description: How many of it the organization is to have afterwards, for O(action=entitlement).
    type: int
  ticket:
    description:
      - Ticket of the change. It is lower-cased first; the reservation's id is C(gpu-res-) and the
        ticket.
    type: str
    required: true
  reopen:
    description: Whether the run is to open the creation gate again at its end, where it was open before.
    type: bool
    default: false
  smoke_project:
    description: Project for the smoke VM, where the order names none.
    type: str
  lock_wait:
    description:
      - Seconds to wait while another ticket's transaction on the pool keeps the answer open.
    type: int
    default: 0
  evidence_dir:
    description:
      - Restricted folder for evidence. A run without check mode is refused where it cannot be used.
      - If not set, the value of the environment variable E(GPUOPS_EVIDENCE_DIR) is used.
    type: path
  backend_url:
    description:
      - Base URL of the product's backend, needed where the policy sets project caps through it.
      - If not set, the value of the environment variable E(GPUOPS_BACKEND_URL) is used.
    type: str
  backend_token_file:
    description:
      - File with the backend's bearer token, mode 0600.
      - If not set, the value of the environment variable E(GPUOPS_BACKEND_TOKEN_FILE) is used.
    type: path
  health_interval:
    description: Seconds between two reads of node health, see M(gpuops.reservations.gpu_invariant).
    type: float
    default: 10.0
  save_snapshot:
    description: File to save the observation to, mode 0600. It can be given as O(snapshot) later.
    type: path
"""

EXAMPLES = r"""
- name: Review an assignment
  gpuops.reservations.gpu_plan_info:
    action: assign
    ticket: LAB-1
  register: plan

- name: Stop where the answer is no
  ansible.builtin.assert:
    that: plan.allowed
    fail_msg: "{{ plan.msg }}"
"""

RETURN = r"""
msg:
  description: One sentence for a person; on failure cause, facts and next step.
  returned: always
  type: str
  sample: "LAB-1: 8 phases to do; headroom 17 before, 9 after"

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
  sample: ["take the lock of pool h100-vm"]
plan_digest:
  description: SHA-256 of the plan; the same plan has the same digest.
  returned: always
  type: str
  sample: sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945

phases:
  description: The phases in order.
  returned: always
  type: list
  elements: dict
  sample:
    - {id: qualify, status: done, reasons: ["the order is complete"]}
    - {id: freeze, status: next, reasons: ["lock of pool h100-vm, gate vm"]}
allowed:
  description: Whether nothing stands against the action.
  returned: always
  type: bool
  sample: true
to_do:
  description: Which steps a run has to carry out, by name.
  returned: always
  type: dict
  sample: {run: true, project_cap: true, smoke: true, propose: false, await_review: false}
run_id:
  description: Identity for the run that follows.
  returned: always
  type: str
  sample: 01KB8ZJ3W4C5D6E7F8G9H0J1K2
order:
  description: The order as it was qualified.
  returned: when it could be read
  type: dict
  sample: {organization: borealis, project: ml, profileId: h100-vm, devices: 8, addonId: gpu-h100-reserved}
smoke:
  description: Where the smoke VM is to run, and the device resource that it asks for.
  returned: when O(action=assign)
  type: dict
  sample: {namespace: borealis-ml, resource: nvidia.com/GH100_H100_SXM5_80GB}
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
profile_id:
  description: The pool of the record; empty where neither a record nor a lock names one.
  returned: when O(action=release) or O(action=cancel)
  type: str
  sample: h100-vm
profiles:
  description: The pools that the add-on grants devices of.
  returned: when O(action=entitlement)
  type: list
  elements: str
  sample: [h100-vm]
judgements:
  description: The answer of each of these pools.
  returned: when O(action=entitlement)
  type: list
  elements: dict
  sample:
    - {profile: h100-vm, before: 4, after: 6, delta: 2, allowed: true}
record:
  description: The record; empty where the ledger has none.
  returned: when O(action=release) or O(action=cancel)
  type: dict
  sample: {kind: GPUReservationRecord, metadata: {id: gpu-res-lab-1}, spec: {state: active}}
lock_holder:
  description: Who holds the pool's lock; empty for nobody.
  returned: when the action is about one record
  type: str
  sample: ""
operator_steps:
  description: What an operator has to click, where the policy has a person do it.
  returned: when O(action) is not V(assign)
  type: list
  elements: str
  sample: []
failure_event:
  description: What hooks are told when a later phase fails.
  returned: always
  type: dict
  sample: {kind: assign-failed, severity: error, ticket: lab-1}
let_go_failure_event:
  description: What hooks are told when letting go of gate and lock fails.
  returned: when O(action=assign)
  type: dict
  sample: {kind: assign-failed, severity: error, ticket: lab-1}
next_action:
  description: What the operator does next.
  returned: always
  type: str
  sample: run without check mode
equation_before:
  description: The equation as it is.
  returned: when the pool could be judged
  type: dict
  sample: {healthy: 32, non_reserved: 6, spare: 1, headroom: 17, holds: true}
equation_after:
  description: The equation as it will be.
  returned: when the pool could be judged
  type: dict
  sample: {healthy: 32, non_reserved: 6, spare: 1, headroom: 9, holds: true}

summary:
  description: Lines for the screen.
  returned: always
  type: list
  elements: str
  sample: ["LAB-1: assign 8 devices of h100-vm to borealis"]
"""

from ansible_collections.gpuops.reservations.plugins.module_utils._shell.argument_spec import (
    OBSERVER,
    ORDER,
    SNAPSHOT,
    ArgumentSpec,
    environment,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.plan import plan_ticket
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.run import run_module

SPEC = OBSERVER.merge(
    SNAPSHOT,
    ORDER,
    ArgumentSpec(
        options={
            "action": {
                "type": "str",
                "choices": ["assign", "release", "cancel", "entitlement"],
                "required": True,
            },
            "organization": {"type": "str"},
            "addon_id": {"type": "str"},
            "quantity": {"type": "int"},
            "ticket": {"type": "str", "required": True},
            "reopen": {"type": "bool", "default": False},
            "smoke_project": {"type": "str"},
            "lock_wait": {"type": "int", "default": 0},
            "health_interval": {"type": "float", "default": 10.0},
            "evidence_dir": {"type": "path", "fallback": environment("GPUOPS_EVIDENCE_DIR")},
            "backend_url": {"type": "str", "fallback": environment("GPUOPS_BACKEND_URL")},
            "backend_token_file": {"type": "path", "fallback": environment("GPUOPS_BACKEND_TOKEN_FILE")},
            "save_snapshot": {"type": "path"},
        },
    ),
)


def main() -> None:
    """Wire options to the work."""
    run_module(SPEC, plan_ticket)


if __name__ == "__main__":
    main()
