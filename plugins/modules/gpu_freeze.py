#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: The gpuops.reservations contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: gpu_freeze
short_description: Show which pools' sales are frozen, or thaw one
version_added: 0.1.0
description:
  - A failing audit that is enforced freezes a pool's sales. Only two people end that, Product and SRE,
    with a reference, after
    an audit of the pool that passes.
  - Thawing does not open the creation gate.
author:
  - The gpuops.reservations contributors (@gpuops)
extends_documentation_fragment:
  - gpuops.reservations.connection
  - gpuops.reservations.fleet
  - gpuops.reservations.waiting.HEALTH
  - gpuops.reservations.attributes
  - gpuops.reservations.attributes.writes
  - gpuops.reservations.attributes.actiongroup
attributes:
  check_mode: {}
  diff_mode: {}
  idempotent: {}
options:
  state:
    description: V(info) shows every freeze, V(thawed) ends one.
    type: str
    choices: [info, thawed]
    default: info
  profile_id:
    description: Pool to thaw.
    type: str
  product:
    description: Who approves for Product.
    type: str
  sre:
    description: Who approves for SRE; not the same person.
    type: str
  reference:
    description: Reference of the review.
    type: str
"""

EXAMPLES = r"""
- name: Thaw after a review
  gpuops.reservations.gpu_freeze:
    state: thawed
    profile_id: h100-vm
    product: p.owner
    sre: s.owner
    reference: INC-42
"""

RETURN = r"""
msg:
  description: One sentence for a person; on failure cause, facts and next step.
  returned: always
  type: str
  sample: "sales of pool h100-vm are thawed"

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
  sample: ["thaw h100-vm"]
plan_digest:
  description: SHA-256 of the plan; the same plan has the same digest.
  returned: always
  type: str
  sample: sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945

freezes:
  description: The freezes, by pool.
  returned: always
  type: dict
  sample:
    h100-vm: {since: "2026-11-01T00:00:00Z", audit: daily, findings: [active-alert], thawed: null}

summary:
  description: Lines for the screen.
  returned: always
  type: list
  elements: str
  sample: ["no pool was ever frozen"]
"""

from ansible_collections.gpuops.reservations.plugins.module_utils._shell.argument_spec import (
    HEALTH,
    OBSERVER,
    ArgumentSpec,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.run import run_module
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.thaw import change_freeze

SPEC = OBSERVER.merge(
    HEALTH,
    ArgumentSpec(
        options={
            "state": {"type": "str", "choices": ["info", "thawed"], "default": "info"},
            "profile_id": {"type": "str"},
            "product": {"type": "str"},
            "sre": {"type": "str"},
            "reference": {"type": "str"},
        },
        required_if=(("state", "thawed", ("profile_id", "product", "sre", "reference")),),
    ),
)


def main() -> None:
    """Wire options to the work."""
    run_module(SPEC, change_freeze)


if __name__ == "__main__":
    main()
