#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: The gpuops.reservations contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: gpu_creation_gate
short_description: Close, let go of, open or show a creation gate
version_added: 0.1.0
description:
  - The creation gates are cluster-wide and bind the product's backend only. The lock document counts for
    whom a
    gate was closed and whether it was open before.
  - A gate is closed when the fleet file, ConfigMap flux-system/cluster-config and, where they exist,
    HelmRelease kube-dc/kube-dc
    and the rolled-out Deployment kube-dc-backend all say C(false).
  - V(released) opens the gate only when the last one lets go, it was open before, no pool is frozen and
    O(reopen) asks for it.
author:
  - The gpuops.reservations contributors (@gpuops)
extends_documentation_fragment:
  - gpuops.reservations.connection
  - gpuops.reservations.fleet
  - gpuops.reservations.attributes
  - gpuops.reservations.attributes.writes
  - gpuops.reservations.attributes.actiongroup
  - gpuops.reservations.waiting
attributes:
  check_mode: {}
  diff_mode: {}
  idempotent: {}
options:
  state:
    description:
      - V(info) shows, V(closed) closes for the ticket, V(released) lets go of it in the ticket's
        name, V(open) opens
        by hand where nobody needs it closed and no pool is frozen.
    type: str
    choices: [info, closed, released, open]
    default: info
  gate:
    description: Which gate.
    type: str
    choices: [vm, shared]
    default: vm
  profile_id:
    description: Pool whose lock names the run.
    type: str
  ticket:
    description: Ticket for which the gate is closed.
    type: str
  run_id:
    description: Identity of this run.
    type: str
  reopen:
    description: Whether to open the gate when the last one lets go of it.
    type: bool
    default: false
  recovered:
    description:
      - With O(state=released) and O(reopen), open the gate only where the service recovery checks and the
        proof of the pool O(profile_id) say yes. Else the gate stays closed, and RV(msg) says why.
    type: bool
    default: false
  unless_recorded:
    description:
      - With O(state=released), keep the gate closed where a record of the ticket is pending, active
        or releasing.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Show both
  gpuops.reservations.gpu_creation_gate:

- name: Close VM creation for a ticket
  gpuops.reservations.gpu_creation_gate:
    state: closed
    gate: vm
    profile_id: h100-vm
    ticket: LAB-1
    run_id: "{{ plan.run_id }}"
"""

RETURN = r"""
msg:
  description: One sentence for a person; on failure cause, facts and next step.
  returned: always
  type: str
  sample: "gate vm is closed for lab-1"

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
  sample: ["set GPU_VM_CREATION_ENABLED=false in clusters/lab/cluster-config.env"]
plan_digest:
  description: SHA-256 of the plan; the same plan has the same digest.
  returned: always
  type: str
  sample: sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945

before:
  description: Whether the gate was open.
  returned: always
  type: dict
  sample: {open: true, closed_for: []}
after:
  description: Whether it is open.
  returned: always
  type: dict
  sample: {open: false, closed_for: [lab-1]}
copies:
  description: What each copy of the gate says; null where the object does not exist.
  returned: always
  type: dict
  sample: {file: "false", configmap: "false", helmrelease: "false", deployment: "false"}

summary:
  description: Lines for the screen.
  returned: always
  type: list
  elements: str
  sample: ["vm: closed for lab-1; it was open before"]
"""

from ansible_collections.gpuops.reservations.plugins.module_utils._shell.argument_spec import (
    OBSERVER,
    WAIT,
    ArgumentSpec,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.creation_gate import change_gate
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.run import run_module

SPEC = OBSERVER.merge(
    WAIT,
    ArgumentSpec(
        options={
            "state": {"type": "str", "choices": ["info", "closed", "released", "open"], "default": "info"},
            "gate": {"type": "str", "choices": ["vm", "shared"], "default": "vm"},
            "profile_id": {"type": "str"},
            "ticket": {"type": "str"},
            "run_id": {"type": "str"},
            "reopen": {"type": "bool", "default": False},
            "recovered": {"type": "bool", "default": False},
            "unless_recorded": {"type": "bool", "default": False},
        },
        required_if=(
            ("state", "closed", ("ticket",)),
            ("state", "released", ("ticket",)),
            ("recovered", True, ("profile_id",)),
        ),
    ),
)


def main() -> None:
    """Wire options to the work."""
    run_module(SPEC, change_gate)


if __name__ == "__main__":
    main()
