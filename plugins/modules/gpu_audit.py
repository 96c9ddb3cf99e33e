#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: The gpuops.reservations contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: gpu_audit
short_description: Audit capacity holds, and enforce what a failure asks for
version_added: 0.1.0
description:
  - Compares ledger, catalogue, quota, Organization and Project status, caps, nodes, gates, lock and
    alerts, and answers every drift
    as a finding with a stable id, severity, expected and observed value and the safe next step.
  - Reads only, except with O(enforce=true); then a failing audit closes VM creation, raises the fences of
    the failing pools and freezes their sales, and waits until every copy of the gate is closed.
  - What cannot be closed keeps nothing else open; the task then fails with code
    V(enforcement-incomplete), naming it.
  - Holders and entitlements are never touched.
author:
  - The gpuops.reservations contributors (@gpuops)
extends_documentation_fragment:
  - gpuops.reservations.connection
  - gpuops.reservations.connection.snapshot
  - gpuops.reservations.fleet
  - gpuops.reservations.waiting
  - gpuops.reservations.waiting.HEALTH
  - gpuops.reservations.attributes
  - gpuops.reservations.attributes.writes
  - gpuops.reservations.attributes.actiongroup
attributes:
  check_mode: {}
  diff_mode: {}
  idempotent: {}
options:
  profile_id:
    description:
      - Audit only this pool. All pools of the policy, and those that a live record names, without it.
    type: str
  enforce:
    description: Whether a failing audit closes creation and freezes the failing pools.
    type: bool
    default: false
  fail_on_error:
    description: Whether the task fails when a finding is an error.
    type: bool
    default: true
  report_dir:
    description:
      - Existing folder for the reports; the JSON bundle, a self-contained HTML page, Markdown, and
        metrics for
        the node exporter's textfile collector.
    type: path
  equations_before:
    description: The equation before the change that the audit follows, by pool; goes into the bundle.
    type: dict
  save_snapshot:
    description: File to save the observation to, mode 0600. It can be given as O(snapshot) later.
    type: path
"""

EXAMPLES = r"""
- name: Audit all pools
  gpuops.reservations.gpu_audit:
    report_dir: /var/lib/gpuops/audit

- name: The daily audit closes creation where it fails
  gpuops.reservations.gpu_audit:
    enforce: true
"""

RETURN = r"""
msg:
  description: One sentence for a person; on failure cause, facts and next step.
  returned: always
  type: str
  sample: "audit of lab passed: 0 findings, none an error"

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

findings:
  description: Errors first.
  returned: always
  type: list
  elements: dict
  sample:
    - id: stale-lock
      severity: warning
      object: pool/h100-vm
      expected: a step within 24 hours
      observed: lab-1 at step entitle since 2026-11-01T09:00:00Z
      next_action: run lab-1 again, or break its lock
passed:
  description: Whether no finding is an error.
  returned: always
  type: bool
  sample: true
bundle:
  description: Everything on the runbook's retention list.
  returned: always
  type: dict
  sample: {format: gpuops.reservations/audit/v1, cluster: lab}
reports:
  description: Files that were written.
  returned: always
  type: list
  elements: str
  sample: ["/var/lib/gpuops/audit/audit.json"]
enforced:
  description: What was closed, fenced and frozen, or would be in check mode.
  returned: always
  type: list
  elements: str
  sample: []

summary:
  description: Lines for the screen.
  returned: always
  type: list
  elements: str
  sample: ["h100-vm (in service): headroom 17", "audit passed"]
"""

from ansible_collections.gpuops.reservations.plugins.module_utils._shell.argument_spec import (
    HEALTH,
    OBSERVER,
    SNAPSHOT,
    WAIT,
    ArgumentSpec,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.audit import audit_cluster
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.run import run_module

SPEC = OBSERVER.merge(
    SNAPSHOT,
    WAIT,
    HEALTH,
    ArgumentSpec(
        options={
            "profile_id": {"type": "str"},
            "enforce": {"type": "bool", "default": False},
            "fail_on_error": {"type": "bool", "default": True},
            "report_dir": {"type": "path"},
            "equations_before": {"type": "dict"},
            "save_snapshot": {"type": "path"},
        },
    ),
)


def main() -> None:
    """Wire options to the work."""
    run_module(SPEC, audit_cluster)


if __name__ == "__main__":
    main()
