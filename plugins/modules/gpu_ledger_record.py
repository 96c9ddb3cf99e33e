#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: The gpuops.reservations contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: gpu_ledger_record
short_description: Write one state of a reservation record
version_added: 0.1.0
description:
  - Commits one state of a record to the ledger in the fleet repository, together with the step in the
    pool's lock,
    in one atomic push. A lost race reads again, proves again and tries again.
  - Every state has its own gate, checked here again, whatever a playbook asserted before. V(pending)
    needs the pool's lock and a proof
    with the order, V(active) needs converged entitlement, a proof with live quota and sealed evidence with
    a passed smoke cycle.
  - A record never goes back and is never deleted.
author:
  - The gpuops.reservations contributors (@gpuops)
extends_documentation_fragment:
  - gpuops.reservations.connection
  - gpuops.reservations.fleet
  - gpuops.reservations.attributes
  - gpuops.reservations.attributes.writes
  - gpuops.reservations.attributes.actiongroup
  - gpuops.reservations.order
  - gpuops.reservations.pool.run
attributes:
  check_mode: {}
  diff_mode: {}
  idempotent: {}
options:
  state:
    description:
      - The state to write. V(proposed) pushes the pending record on a branch of its own, for review.
    type: str
    choices: [proposed, pending, active, releasing, released, canceled]
    required: true
  reason:
    description: Reason to write while releasing, when it is not the usual one of the state.
    type: str
    choices: [release-requested, waiting-for-holders]
  evidence_revision:
    description: Evidence that the state rests on, as M(gpuops.reservations.gpu_evidence) sealed it.
    type: str
  evidence_dir:
    description:
      - Restricted folder of the evidence.
      - If not set, the value of the environment variable E(GPUOPS_EVIDENCE_DIR) is used.
    type: path
  health_interval:
    description: Seconds between two reads of node health, see M(gpuops.reservations.gpu_invariant).
    type: float
    default: 10.0
"""

EXAMPLES = r"""
- name: Commit the pending record
  gpuops.reservations.gpu_ledger_record:
    state: pending
    ticket: LAB-1
    run_id: "{{ plan.run_id }}"

- name: Commit the state active
  gpuops.reservations.gpu_ledger_record:
    state: active
    ticket: LAB-1
    run_id: "{{ plan.run_id }}"
    evidence_dir: /var/lib/gpuops/evidence
    evidence_revision: "{{ evidence.evidence_revision }}"
"""

RETURN = r"""
msg:
  description: One sentence for a person; on failure cause, facts and next step.
  returned: always
  type: str
  sample: "gpu-res-lab-1 is pending at 3f2c1e0"

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
  sample: ["commit gpu-res-lab-1 as pending"]
plan_digest:
  description: SHA-256 of the plan; the same plan has the same digest.
  returned: always
  type: str
  sample: sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945

record:
  description: The record, exactly the runbook's fields.
  returned: always
  type: dict
  sample:
    apiVersion: operations.kube-dc.com/v1alpha1
    kind: GPUReservationRecord
    metadata: {id: gpu-res-lab-1}
revision:
  description: Commit of the fleet branch that holds the record.
  returned: always
  type: str
  sample: 3f2c1e0d9b8a7f6e5d4c3b2a1908f7e6d5c4b3a2

summary:
  description: Lines for the screen.
  returned: always
  type: list
  elements: str
  sample: ["gpu-res-lab-1 is pending; billing has not started"]
"""

from ansible_collections.gpuops.reservations.plugins.module_utils._shell.argument_spec import (
    OBSERVER,
    ORDER,
    RUN,
    ArgumentSpec,
    environment,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.ledger_record import write_record
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.run import run_module

SPEC = OBSERVER.merge(
    ORDER,
    RUN,
    ArgumentSpec(
        options={
            "state": {
                "type": "str",
                "choices": ["proposed", "pending", "active", "releasing", "released", "canceled"],
                "required": True,
            },
            "reason": {"type": "str", "choices": ["release-requested", "waiting-for-holders"]},
            "evidence_revision": {"type": "str"},
            "evidence_dir": {"type": "path", "fallback": environment("GPUOPS_EVIDENCE_DIR")},
            "health_interval": {"type": "float", "default": 10.0},
        },
        required_if=(
            ("state", "active", ("evidence_revision", "evidence_dir")),
            ("state", "released", ("evidence_revision", "evidence_dir")),
        ),
    ),
)


def main() -> None:
    """Wire options to the work."""
    run_module(SPEC, write_record)


if __name__ == "__main__":
    main()
