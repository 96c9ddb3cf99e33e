#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: The gpuops.reservations contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: gpu_status_info
short_description: Say what a tenant may be told, and check a plain add-on's copy
version_added: 0.1.0
description:
  - With O(ticket), answers the runbook's sentence that is true of the ticket's record now. C(Reserved GPU
    capacity) only while the record is active, C(GPU entitlement) in every other state and without a record.
  - With O(check_copy), names every word in a text for a plain add-on that promises what it does not give.
    Does not fail then; RV(passed) is false.
  - Changes nothing, and reads nothing but the fleet repository or the text. The connection's options are
    there so that defaults of the action group fit; no cluster is contacted.
author:
  - The gpuops.reservations contributors (@gpuops)
extends_documentation_fragment:
  - gpuops.reservations.connection
  - gpuops.reservations.connection.snapshot
  - gpuops.reservations.fleet
  - gpuops.reservations.attributes
  - gpuops.reservations.attributes.read_only
  - gpuops.reservations.attributes.actiongroup
attributes:
  check_mode: {}
  diff_mode: {}
  idempotent: {}
options:
  ticket:
    description: Ticket of the record. It is lower-cased first.
    type: str
  check_copy:
    description: UTF-8 text for a plain add-on, to be checked for words that it may not use.
    type: path
"""

EXAMPLES = r"""
- name: What may the tenant of LAB-1 be told
  gpuops.reservations.gpu_status_info:
    ticket: LAB-1

- name: Check the shop's text
  gpuops.reservations.gpu_status_info:
    check_copy: shop/gpu-h100-vm.md
  register: copy

- name: Stop where it promises too much
  ansible.builtin.assert:
    that: copy.passed
    fail_msg: "{{ copy.msg }}"
"""

RETURN = r"""
msg:
  description: Title and sentence; for a text, every refused word with its line.
  returned: always
  type: str
  sample: "Reserved GPU capacity: This reservation holds fungible capacity for the named GPU profile and
    organization. It does not guarantee a particular device or host. Planned maintenance and hardware-failure
    terms apply."

checks:
  description: Every question that was asked, with its answer. V(unknown) is never V(pass).
  returned: always
  type: list
  elements: dict
  sample:
    - id: tenant-wording
      status: fail
      message: "shop/gpu-h100-vm.md: line 3: 'Guaranteed' says 'guaranteed'"
      next_action: "leave the word out: a plain add-on reserves nothing"
      object: file/shop/gpu-h100-vm.md

title:
  description: What the product is called now.
  returned: when O(ticket) is given
  type: str
  sample: Reserved GPU capacity
sentence:
  description: The runbook's sentence that is true now.
  returned: when O(ticket) is given
  type: str
  sample: This add-on increases your concurrent GPU quota. It does not reserve idle physical capacity, so
    workloads may queue when matching devices are busy.
record:
  description: The record; empty where the ledger has none.
  returned: when O(ticket) is given
  type: dict
  sample: {kind: GPUReservationRecord, metadata: {id: gpu-res-lab-1}, spec: {state: active}}
revision:
  description: Commit of the fleet branch that was read.
  returned: when O(ticket) is given
  type: str
  sample: 3f2c1e0d9b8a7c6d5e4f3a2b1c0d9e8f7a6b5c4d
passed:
  description: Whether the text uses no refused word; always true of a ticket.
  returned: always
  type: bool
  sample: false
refused:
  description: The refused words.
  returned: always
  type: list
  elements: dict
  sample:
    - {line: 3, word: guaranteed, written: Guaranteed}
summary:
  description: Lines for the screen.
  returned: always
  type: list
  elements: str
  sample: ["Reserved GPU capacity", "gpu-res-lab-1 is active (active)"]
"""

from ansible_collections.gpuops.reservations.plugins.module_utils._shell.argument_spec import (
    OBSERVER,
    SNAPSHOT,
    ArgumentSpec,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.run import run_module
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.status import tell_status

SPEC = OBSERVER.merge(
    SNAPSHOT,
    ArgumentSpec(
        options={
            "ticket": {"type": "str"},
            "check_copy": {"type": "path"},
        },
        mutually_exclusive=(("ticket", "check_copy"),),
        required_one_of=(("ticket", "check_copy"),),
    ),
)


def main() -> None:
    """Wire options to the work."""
    run_module(SPEC, tell_status)


if __name__ == "__main__":
    main()
