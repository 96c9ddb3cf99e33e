#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: The gpuops.reservations contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: gpu_smoke_info
short_description: Judge one stage of the smoke cycle
version_added: 0.1.0
description:
  - Waits until the smoke VM is at a stage of its cycle, and answers whether it got there. V(before) also
    looks whether anybody
    waits for a device of the pool, and whether quota for one is free.
  - Changes nothing. The VM itself is made, stopped, started and deleted by M(kubevirt.core.kubevirt_vm)
    in role
    P(gpuops.reservations.smoke#role).
author:
  - The gpuops.reservations contributors (@gpuops)
extends_documentation_fragment:
  - gpuops.reservations.connection
  - gpuops.reservations.fleet
  - gpuops.reservations.pool
  - gpuops.reservations.waiting
  - gpuops.reservations.attributes
  - gpuops.reservations.attributes.read_only
  - gpuops.reservations.attributes.actiongroup
attributes:
  check_mode: {}
  diff_mode: {}
  idempotent: {}
options:
  stage:
    description: The stage to judge.
    type: str
    choices: [before, running, stopped, gone]
    required: true
  name:
    description: Name of the smoke VM.
    type: str
    required: true
  namespace:
    description: Namespace of the smoke VM.
    type: str
    required: true
  previous_uid:
    description: UID of the instance before it was stopped; after a start it has to be another.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Wait for device and guest
  gpuops.reservations.gpu_smoke_info:
    stage: running
    name: gpu-smoke-lab-1
    namespace: borealis-ml
    profile_id: h100-vm
    wait_timeout: 300
"""

RETURN = r"""
msg:
  description: One sentence for a person; on failure cause, facts and next step.
  returned: always
  type: str
  sample: "gpu-smoke-lab-1 runs and its guest sees the device"

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

passed:
  description: Whether every check passed.
  returned: always
  type: bool
  sample: true
uid:
  description: UID of the VM instance; empty where there is none.
  returned: always
  type: str
  sample: 1c3c5d8e-6d53-4a35-9d8a-2f6c0f7d9a11
"""

from ansible_collections.gpuops.reservations.plugins.module_utils._shell.argument_spec import (
    OBSERVER,
    PROFILE,
    WAIT,
    ArgumentSpec,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.run import run_module
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.smoke import judge_stage

SPEC = OBSERVER.merge(
    PROFILE,
    WAIT,
    ArgumentSpec(
        options={
            "stage": {"type": "str", "choices": ["before", "running", "stopped", "gone"], "required": True},
            "name": {"type": "str", "required": True},
            "namespace": {"type": "str", "required": True},
            "previous_uid": {"type": "str", "default": ""},
        },
    ),
)


def main() -> None:
    """Wire options to the work."""
    run_module(SPEC, judge_stage)


if __name__ == "__main__":
    main()
