#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: The gpuops.reservations contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: gpu_addon
short_description: Bring an organization's reservation add-on to the sum of its records
version_added: 0.1.0
description:
  - Sets the operator-only add-on of a ticket's record to the quantity that the organization's records add
    up to, or verifies it where the
    policy says that an operator clicks, and waits until HRQ hard quota and Organization status show it.
  - Checks lock, run and ledger again before it writes. A reduction below what is used, or with holders
    left, is refused.
author:
  - The gpuops.reservations contributors (@gpuops)
extends_documentation_fragment:
  - gpuops.reservations.connection
  - gpuops.reservations.fleet
  - gpuops.reservations.attributes
  - gpuops.reservations.attributes.writes
  - gpuops.reservations.attributes.actiongroup
  - gpuops.reservations.pool.run
  - gpuops.reservations.waiting
attributes:
  check_mode: {}
  diff_mode: {}
  idempotent: {}
options:
  reduce:
    description:
      - Whether the ticket's own record counts no more, because it is released or canceled.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Assign the add-on quantity
  gpuops.reservations.gpu_addon:
    ticket: LAB-1
    run_id: "{{ plan.run_id }}"
"""

RETURN = r"""
msg:
  description: One sentence for a person; on failure cause, facts and next step.
  returned: always
  type: str
  sample: "borealis has gpu-h100-reserved x 8; quota shows 10 devices"

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
  sample: ["set gpu-h100-reserved of borealis from 0 to 8"]
plan_digest:
  description: SHA-256 of the plan; the same plan has the same digest.
  returned: always
  type: str
  sample: sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945

before:
  description: Quantity of the add-on before.
  returned: always
  type: int
  sample: 0
after:
  description: Quantity of the add-on after.
  returned: always
  type: int
  sample: 8
converged:
  description: What each place shows, and whether it is what it has to be.
  returned: always
  type: dict
  sample: {hrq: true, organization: true, project: true}
"""

from ansible_collections.gpuops.reservations.plugins.module_utils._shell.addon import set_addon
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.argument_spec import (
    OBSERVER,
    RUN,
    WAIT,
    ArgumentSpec,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.run import run_module

SPEC = OBSERVER.merge(
    RUN,
    WAIT,
    ArgumentSpec(
        options={
            "reduce": {"type": "bool", "default": False},
        },
    ),
)


def main() -> None:
    """Wire options to the work."""
    run_module(SPEC, set_addon)


if __name__ == "__main__":
    main()
