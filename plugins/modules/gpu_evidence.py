#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: The gpuops.reservations contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: gpu_evidence
short_description: Seal or verify evidence of a reservation
version_added: 0.1.0
description:
  - Seals a bundle per run in a restricted folder; snapshot, reports, plan, versions, alerts, smoke result
    and approvers, with a manifest that
    holds the SHA-256 of each file and of the previous manifest of the same record.
  - Physical identifiers may live only there.
  - Verifies a chain of bundles and names every file that was altered.
author:
  - The gpuops.reservations contributors (@gpuops)
extends_documentation_fragment:
  - gpuops.reservations.connection
  - gpuops.reservations.fleet
  - gpuops.reservations.attributes
  - gpuops.reservations.attributes.writes
  - gpuops.reservations.attributes.actiongroup
attributes:
  check_mode: {}
  diff_mode: {}
  idempotent: {}
options:
  state:
    description: V(sealed) writes a bundle, V(verified) checks the chain of a record.
    type: str
    choices: [sealed, verified]
    required: true
  ticket:
    description: Ticket of the record.
    type: str
    required: true
  run_id:
    description: Identity of the run, for O(state=sealed).
    type: str
  evidence_dir:
    description:
      - Restricted folder, which must exist with mode 0700.
      - If not set, the value of the environment variable E(GPUOPS_EVIDENCE_DIR) is used.
    type: path
    required: true
  evidence_revision:
    description:
      - Revision at which the chain has to end, for O(state=verified). The one in the record where
        left out.
    type: str
  plan:
    description: Result of M(gpuops.reservations.gpu_plan_info).
    type: dict
  reports:
    description: Results of M(gpuops.reservations.gpu_invariant), by name.
    type: dict
  smoke:
    description: Results of the smoke cycle's stages, by name.
    type: dict
  failure:
    description: Result of the task that failed.
    type: dict
"""

EXAMPLES = r"""
- name: Seal
  gpuops.reservations.gpu_evidence:
    state: sealed
    ticket: LAB-1
    run_id: "{{ plan.run_id }}"
    evidence_dir: /var/lib/gpuops/evidence
    plan: "{{ plan }}"

- name: Verify the chain of a record
  gpuops.reservations.gpu_evidence:
    state: verified
    ticket: LAB-1
    evidence_dir: /var/lib/gpuops/evidence
"""

RETURN = r"""
msg:
  description: One sentence for a person; on failure cause, facts and next step.
  returned: always
  type: str
  sample: "evidence of gpu-res-lab-1 verifies: 2 bundles"

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

evidence_revision:
  description: Digest of the manifest.
  returned: always
  type: str
  sample: sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945
verified:
  description: Whether the whole chain is as it was sealed.
  returned: always
  type: bool
  sample: true
altered:
  description: Files that are not as they were sealed, or are missing, or were added.
  returned: always
  type: list
  elements: str
  sample: []
"""

from ansible_collections.gpuops.reservations.plugins.module_utils._shell.argument_spec import (
    OBSERVER,
    ArgumentSpec,
    environment,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.evidence import keep_evidence
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.run import run_module

SPEC = OBSERVER.merge(
    ArgumentSpec(
        options={
            "state": {"type": "str", "choices": ["sealed", "verified"], "required": True},
            "ticket": {"type": "str", "required": True},
            "run_id": {"type": "str"},
            "evidence_dir": {
                "type": "path",
                "required": True,
                "fallback": environment("GPUOPS_EVIDENCE_DIR"),
            },
            "evidence_revision": {"type": "str"},
            "plan": {"type": "dict"},
            "reports": {"type": "dict"},
            "smoke": {"type": "dict"},
            "failure": {"type": "dict"},
        },
        required_if=(("state", "sealed", ("run_id",)),),
    ),
)


def main() -> None:
    """Wire options to the work."""
    run_module(SPEC, keep_evidence)


if __name__ == "__main__":
    main()
