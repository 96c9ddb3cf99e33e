#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: The gpuops.reservations contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: gpu_project_cap
short_description: Set or put back a project's device cap
version_added: 0.1.0
description:
  - Sets the device cap of a project-specific reservation's project through the product's backend, or
    verifies it where the policy
    says that an operator does it. Other keys of the cap stay as they are.
  - The cap is never below what the project uses. The cap that stood there before is remembered in the
    lock document.
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
  restore:
    description: Put the cap back that was there before the reservation; none where there was none.
    type: bool
    default: false
  backend_url:
    description:
      - Base URL of the product's backend.
      - If not set, the value of the environment variable E(GPUOPS_BACKEND_URL) is used.
    type: str
  backend_token_file:
    description:
      - File with the bearer token of an organization administrator, mode 0600.
      - If not set, the value of the environment variable E(GPUOPS_BACKEND_TOKEN_FILE) is used.
    type: path
"""

EXAMPLES = r"""
- name: Cap the project at the reserved count
  gpuops.reservations.gpu_project_cap:
    ticket: LAB-1
    run_id: "{{ plan.run_id }}"
    backend_url: https://backend.example.com
    backend_token_file: /etc/gpuops/backend.token
"""

RETURN = r"""
msg:
  description: One sentence for a person; on failure cause, facts and next step.
  returned: always
  type: str
  sample: "project ml is capped at 8 devices"

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
  sample: ["cap project ml at 8 devices"]
plan_digest:
  description: SHA-256 of the plan; the same plan has the same digest.
  returned: always
  type: str
  sample: sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945

before:
  description: The device cap before; null where there was none.
  returned: always
  type: int
  sample: null
after:
  description: The device cap after; null where there is none.
  returned: always
  type: int
  sample: 8
converged:
  description: What each place shows, and whether it is what it has to be.
  returned: always
  type: dict
  sample: {cap: true, project: true}
"""

from ansible_collections.gpuops.reservations.plugins.module_utils._shell.argument_spec import (
    OBSERVER,
    RUN,
    WAIT,
    ArgumentSpec,
    environment,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.project_cap import set_cap
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.run import run_module

SPEC = OBSERVER.merge(
    RUN,
    WAIT,
    ArgumentSpec(
        options={
            "restore": {"type": "bool", "default": False},
            "backend_url": {"type": "str", "fallback": environment("GPUOPS_BACKEND_URL")},
            "backend_token_file": {"type": "path", "fallback": environment("GPUOPS_BACKEND_TOKEN_FILE")},
        },
    ),
)


def main() -> None:
    """Wire options to the work."""
    run_module(SPEC, set_cap)


if __name__ == "__main__":
    main()
