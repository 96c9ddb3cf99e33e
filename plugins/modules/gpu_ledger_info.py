#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: The gpuops.reservations contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: gpu_ledger_info
short_description: Read the ledger
version_added: 0.1.0
description:
  - Reads every record of the cluster, and fails naming file and field when any of them is invalid.
  - Changes nothing, and reads nothing but the fleet repository. The connection's options are there so that
    defaults of the action group fit; no cluster is contacted.
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
    description: Only the record of this ticket.
    type: str
  profile_id:
    description: Only records of this profile.
    type: str
  organization:
    description: Only records of this organization.
    type: str
  state:
    description: Only records in these states.
    type: list
    elements: str
    choices: [pending, active, releasing, released, canceled]
"""

EXAMPLES = r"""
- name: All records that hold devices
  gpuops.reservations.gpu_ledger_info:
    state: [pending, active, releasing]
"""

RETURN = r"""
msg:
  description: One sentence for a person; on failure cause, facts and next step.
  returned: always
  type: str
  sample: "1 record at 3f2c1e0"

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

records:
  description: The records, sorted by id.
  returned: always
  type: list
  elements: dict
  sample:
    - metadata: {id: gpu-res-lab-0}
      spec: {organization: cumulus, profileId: h100-vm, devices: 8, state: active}
summary:
  description: Lines for the screen.
  returned: always
  type: list
  elements: str
  sample: ["gpu-res-lab-0 is active (active)"]
revision:
  description: Commit that was read.
  returned: always
  type: str
  sample: 3f2c1e0d9b8a7f6e5d4c3b2a1908f7e6d5c4b3a2
"""

from ansible_collections.gpuops.reservations.plugins.module_utils._shell.argument_spec import (
    OBSERVER,
    SNAPSHOT,
    ArgumentSpec,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.ledger_info import list_records
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.run import run_module

SPEC = OBSERVER.merge(
    SNAPSHOT,
    ArgumentSpec(
        options={
            "ticket": {"type": "str"},
            "profile_id": {"type": "str"},
            "organization": {"type": "str"},
            "state": {
                "type": "list",
                "elements": "str",
                "choices": ["pending", "active", "releasing", "released", "canceled"],
            },
        },
    ),
)


def main() -> None:
    """Wire options to the work."""
    run_module(SPEC, list_records)


if __name__ == "__main__":
    main()
