#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: The gpuops.reservations contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: gpu_release_info
short_description: Name who holds what a record gives back, and wait until nobody does
version_added: 0.1.0
description:
  - Attributes holders of the record's organization and profile, compares holders, HRQ used, Organization used
    and Project used with what stays entitled without the record, and says what is in doubt.
  - A Terminating Pod is a holder until it is gone. Node health, an alert or a failing equation hold nothing
    up; doubt about the ledger, or about the organization's quota or holders, does.
  - With O(wait) it looks until two readings a poll interval apart are clear and show the same Pods. When the
    time is over it does not fail, RV(free) is false then.
  - Changes nothing, and stops nobody's machine.
author:
  - The gpuops.reservations contributors (@gpuops)
extends_documentation_fragment:
  - gpuops.reservations.connection
  - gpuops.reservations.connection.snapshot
  - gpuops.reservations.fleet
  - gpuops.reservations.attributes
  - gpuops.reservations.attributes.read_only
  - gpuops.reservations.attributes.actiongroup
  - gpuops.reservations.waiting
attributes:
  check_mode: {}
  diff_mode: {}
  idempotent: {}
options:
  ticket:
    description: Ticket of the record that is to be released or canceled.
    type: str
    required: true
  wait:
    description: Whether to wait, and read twice, while the record is pending or releasing.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Who has to be asked before LAB-1 can be released
  gpuops.reservations.gpu_release_info:
    ticket: LAB-1

- name: Wait until nobody uses what LAB-1 gives back
  gpuops.reservations.gpu_release_info:
    ticket: LAB-1
    wait: true
    wait_timeout: 3600
  register: holders
"""

RETURN = r"""
msg:
  description: One sentence for a person; on failure cause, facts and next step.
  returned: always
  type: str
  sample: "gpu-res-lab-1 waits: holders counts 3 devices, 2 stay entitled; held by
    borealis-ml/VirtualMachine/train (3 on gpu-02). Next: ask the owners to stop their VMs normally
    (borealis-ml/VirtualMachine/train (3 on gpu-02)); we delete nothing; then run the playbook again for
    lab-1"

checks:
  description: Every question that was asked, with its answer. V(unknown) is never V(pass).
  returned: always
  type: list
  elements: dict
  sample:
    - id: release-quota-in-use
      status: pass
      message: "borealis uses at most what stays entitled: 2 devices"
      next_action: ""
      object: organization/borealis

free:
  description: Whether nothing is in doubt and nothing is used that does not stay; with O(wait) read twice.
  returned: always
  type: bool
  sample: false
in_use:
  description: Whether devices are used that do not stay entitled.
  returned: always
  type: bool
  sample: true
reason:
  description: The reason that is true of a releasing record now.
  returned: always
  type: str
  sample: waiting-for-holders
stays:
  description: Devices that stay entitled without the record, or V(unknown).
  returned: always
  type: raw
  sample: 2
uses:
  description: Devices that each source counts as used, or V(unknown).
  returned: always
  type: dict
  sample: {holders: 3, Pods: 3, quota: 3, Organization: 3, Project ml: 3}
holders:
  description: The organization's holders by owner.
  returned: always
  type: list
  elements: dict
  sample:
    - namespace: borealis-ml
      owner: VirtualMachine/train
      pods: [virt-launcher-train-x2x4z]
      node: gpu-02
      devices: 3
      organization: borealis
      project: ml
      operator: false
      terminating: false
waits_for:
  description: What is still above what stays, each a sentence.
  returned: always
  type: list
  elements: str
  sample: ["holders counts 3 devices, 2 stay entitled"]
converging:
  description: Whether entitlement of the organization is on its way.
  returned: always
  type: bool
  sample: false
event:
  description: What C(notify_tasks) are told, as C(gpuops_event).
  returned: always
  type: dict
  sample:
    kind: release-requested
    severity: warning
    ticket: lab-1
    organization: borealis
    profile: h100-vm
    message: 8 devices of h100-vm held for borealis are to be given back
    owners: [borealis-ml/VirtualMachine/train, desk@example.com]
    next_action: ask the owners to stop their VMs normally
summary:
  description: Lines for the screen.
  returned: always
  type: list
  elements: str
  sample: ["  holder borealis-ml/VirtualMachine/train"]
"""

from ansible_collections.gpuops.reservations.plugins.module_utils._shell.argument_spec import (
    OBSERVER,
    SNAPSHOT,
    WAIT,
    ArgumentSpec,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.release_wait import look_at_release
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.run import run_module

SPEC = OBSERVER.merge(
    SNAPSHOT,
    WAIT,
    ArgumentSpec(
        options={
            "ticket": {"type": "str", "required": True},
            "wait": {"type": "bool", "default": False},
        },
    ),
)


def main() -> None:
    """Wire options to the work."""
    run_module(SPEC, look_at_release)


if __name__ == "__main__":
    main()
