#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: The gpuops.reservations contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: gpu_holders_info
short_description: Name what holds or waits for devices of a pool
version_added: 0.1.0
description:
  - Lists every Pod and VM instance that uses a device of the profile, with its organization and owner,
    and every claimant that
    waits for one. A Terminating Pod is a holder until it is gone.
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
  - gpuops.reservations.pool
attributes:
  check_mode: {}
  diff_mode: {}
  idempotent: {}
options:
  organization:
    description: Only holders of this organization.
    type: str
"""

EXAMPLES = r"""
- name: Who holds devices
  gpuops.reservations.gpu_holders_info:
    profile_id: h100-vm
    organization: aurora
"""

RETURN = r"""
msg:
  description: One sentence for a person; on failure cause, facts and next step.
  returned: always
  type: str
  sample: "2 holders, 0 claimants of h100-vm"

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

holders:
  description: What uses devices now, by owner.
  returned: always
  type: list
  elements: dict
  sample:
    - organization: aurora
      project: vision
      namespace: aurora-vision
      owner: VirtualMachine/inference-1
      pods: [virt-launcher-inference-1-u166n]
      node: gpu-03
      devices: 1
      terminating: false
      operator: false
claimants:
  description: Pending Pods and VMs that would take a device.
  returned: always
  type: list
  elements: dict
  sample: []
"""

from ansible_collections.gpuops.reservations.plugins.module_utils._shell.argument_spec import (
    OBSERVER,
    PROFILE,
    SNAPSHOT,
    ArgumentSpec,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.holders import list_holders
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.run import run_module

SPEC = OBSERVER.merge(
    SNAPSHOT,
    PROFILE,
    ArgumentSpec(
        options={
            "organization": {"type": "str"},
        },
    ),
)


def main() -> None:
    """Wire options to the work."""
    run_module(SPEC, list_holders)


if __name__ == "__main__":
    main()
