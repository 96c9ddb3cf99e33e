#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: The gpuops.reservations contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: gpu_entitlement
short_description: Change an organization's ordinary GPU add-on under the capacity equation
version_added: 0.1.0
description:
  - Sets an ordinary add-on to a quantity, or verifies it where the policy says that an operator clicks, and
    waits until HRQ hard quota and Organization status show it.
  - More is granted only where the whole proof of every pool that the add-on grants devices of says yes
    with it, and none of them is frozen. Less is refused where devices are used that would not stay, or where
    that is in doubt, read twice a poll interval apart; it is never refused for the equation.
  - Reservation add-ons are refused; they follow the ledger's records. So are add-ons that grant anything but
    whole devices, whose use this module does not judge.
  - Needs the locks of those pools, for a ticket of its own.
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
  - gpuops.reservations.waiting.HEALTH
attributes:
  check_mode: {}
  diff_mode: {}
  idempotent: {}
options:
  organization:
    description: Whose add-on.
    type: str
    required: true
  addon_id:
    description: The ordinary add-on.
    type: str
    required: true
  quantity:
    description: How many of it the organization is to have afterwards; V(0) takes it away.
    type: int
    required: true
"""

EXAMPLES = r"""
- name: Take the pool's lock
  gpuops.reservations.gpu_lock:
    state: held
    profile_id: h100-vm
    ticket: ENT-7
    run_id: "{{ plan.run_id }}"

- name: Let aurora have six
  gpuops.reservations.gpu_entitlement:
    organization: aurora
    addon_id: gpu-h100-vm
    quantity: 6
    ticket: ENT-7
    run_id: "{{ plan.run_id }}"
"""

RETURN = r"""
msg:
  description: One sentence for a person; on failure cause, facts and next step.
  returned: always
  type: str
  sample: aurora has gpu-h100-vm x 6

checks:
  description: Every question that was asked, with its answer. V(unknown) is never V(pass).
  returned: always
  type: list
  elements: dict
  sample: []

plan:
  description: The changes in their order.
  returned: always
  type: list
  elements: str
  sample: ["set gpu-h100-vm of aurora from 4 to 6"]
plan_digest:
  description: SHA-256 of the plan; the same plan has the same digest.
  returned: always
  type: str
  sample: sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945

before:
  description: Quantity of the add-on before.
  returned: success
  type: int
  sample: 4
after:
  description: Quantity of the add-on after.
  returned: success
  type: int
  sample: 6
judgements:
  description: The answer of every pool that the add-on grants devices of.
  returned: always
  type: list
  elements: dict
  sample:
    - profile: h100-vm
      before: 4
      after: 6
      delta: 2
      equation: {healthy: 32, non_reserved: 6, spare: 1, headroom: 17, holds: true}
      equation_after: {healthy: 32, non_reserved: 8, spare: 1, headroom: 15, holds: true}
      allowed: true
      checks: []
"""

from ansible_collections.gpuops.reservations.plugins.module_utils._shell.argument_spec import (
    HEALTH,
    OBSERVER,
    RUN,
    WAIT,
    ArgumentSpec,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.entitlement_change import (
    change_entitlement,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.run import run_module

SPEC = OBSERVER.merge(
    RUN,
    WAIT,
    HEALTH,
    ArgumentSpec(
        options={
            "organization": {"type": "str", "required": True},
            "addon_id": {"type": "str", "required": True},
            "quantity": {"type": "int", "required": True},
        },
    ),
)


def main() -> None:
    """Wire options to the work."""
    run_module(SPEC, change_entitlement)


if __name__ == "__main__":
    main()
