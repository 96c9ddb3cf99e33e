#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: The gpuops.reservations contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: gpu_node_mode
short_description: Move a node with GPUs from one mode to another
version_added: 0.1.0
description:
  - A node with GPUs is in one mode, C(pod-hami), C(pod-hami-dra) or C(vm-passthrough). The fleet repository
    says which; the platform turns that into labels, and the device plugins follow the labels.
  - Cordons the node, makes sure again that nothing holds a device of it, commits and pushes the change of the
    node's rule, waits until the node has arrived in its new mode, and uncordons it.
  - Everything that speaks against it is found before the first write, in check mode too. A node that is in
    the new mode already and healthy is left alone, whatever gates and holders say.
  - A failure after the cordon leaves the node cordoned, undoes nothing, and says what was done, what remains
    and how to go on. Nothing is ever evicted or deleted.
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
  node:
    description: Name of the Node object.
    type: str
    required: true
  from_mode:
    description:
      - Mode that the node is in, C(pod-hami), C(pod-hami-dra) or C(vm-passthrough).
      - Both labels of the node and its rule in the fleet repository have to say it.
    type: str
    required: true
  to_mode:
    description: Mode that the node is to be in, another one of the same three.
    type: str
    required: true
  resume_cordoned:
    description:
      - Consent to go on with a node that is cordoned already, whoever cordoned it. The cordon is adopted, and
        taken away at the end.
      - Also takes over, at once, the lock that an earlier run of the same transition left. Without it that
        lock has to stand still for ten seconds first.
      - Never waives open gates, holders or modes that do not agree.
    type: bool
    default: false
  timeout:
    description: Seconds to wait for the node to arrive in its new mode.
    type: float
    default: 900.0
  poll:
    description: Seconds between two looks while waiting. The first look is at once.
    type: float
    default: 5.0
  gates_closed_first:
    description:
      - In check mode, takes gates that are open for closed, because a task before this one closes them when
        the playbook runs for real. Gates that cannot be read still stop the preview.
      - Has no effect outside of check mode.
    type: bool
    default: false
  smoke_organization:
    description:
      - Organization of the project in which a smoke cycle is to follow. Together with O(smoke_project), and
        with O(to_mode=vm-passthrough), the transition is refused where that project has no free quota for one
        device.
    type: str
  smoke_project:
    description: Project in which a smoke cycle is to follow.
    type: str
notes:
  - Both creation gates have to be closed, in C(cluster-config.env), in ConfigMap
    C(flux-system/cluster-config), and in HelmRelease C(kube-dc/kube-dc) and Deployment
    C(kube-dc/kube-dc-backend) where these exist. Closed is the literal C(false).
  - Where the policy names the node for a pool, the pool's lock is held as C(transition:<node>) from right
    before the cordon until the end. A run that stops with the node cordoned keeps it for the run that goes
    on.
  - A node whose pool has a reservation that is pending, active or releasing does not go from
    C(vm-passthrough) back to a Shared mode.
"""

EXAMPLES = r"""
- name: Show what moving acc-01 to whole-device VMs would do
  gpuops.reservations.gpu_node_mode:
    node: acc-01
    from_mode: pod-hami
    to_mode: vm-passthrough
  check_mode: true
  diff: true

- name: Move acc-01 to whole-device VMs
  gpuops.reservations.gpu_node_mode:
    node: acc-01
    from_mode: pod-hami
    to_mode: vm-passthrough

- name: Go on where a run stopped with the node cordoned
  gpuops.reservations.gpu_node_mode:
    node: acc-01
    from_mode: pod-hami
    to_mode: vm-passthrough
    resume_cordoned: true
"""

RETURN = r"""
msg:
  description: One sentence for a person; on failure cause, facts and next step.
  returned: always
  type: str
  sample: node acc-01 moved from pod-hami to vm-passthrough, commit 5f0c1d2e3a4b, and is uncordoned
checks:
  description: Every question that was asked, with its answer. V(unknown) is never V(pass).
  returned: always
  type: list
  elements: dict
  sample:
    - id: plugin-owner
      status: pass
      message: "plugin owners on acc-01: nvidia-sandbox-device-plugin-daemonset"
      next_action: ""
      object: node/acc-01
plan:
  description: The steps in their order.
  returned: always
  type: list
  elements: str
  sample:
    - take the lock of pool v100-vm as transition:acc-01
    - cordon node acc-01, with our annotation
plan_digest:
  description: SHA-256 of the plan; the same plan has the same digest.
  returned: success
  type: str
  sample: sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945
revision:
  description: The commit that this run pushed, also where it failed later. Empty where it pushed none.
  returned: always, unless nothing was read
  type: str
  sample: 5f0c1d2e3a4b5c6d7e8f90a1b2c3d4e5f6071829
cordoned:
  description: Whether the node was cordoned when it was read last. None where that is not known.
  returned: always, unless nothing was read
  type: bool
  sample: false
holders:
  description: What holds devices of the node, by controller, sorted.
  returned: always, unless nothing was read
  type: list
  elements: dict
  sample:
    - namespace: borealis-ml
      kind: Job
      name: training
      resources: [nvidia.com/gpu]
pools:
  description: Profiles whose pools declare the node in the policy, and whose locks the run takes.
  returned: success, and when the run stopped on its way
  type: list
  elements: str
  sample: [v100-vm]
smoke:
  description: Where a smoke cycle can follow; empty texts where none was asked for.
  returned: success, and when the run stopped on its way
  type: dict
  sample: {namespace: borealis-ml, profile_id: v100-vm, resource: nvidia.com/GV100GL_V100_PCIE_16GB}
to_do:
  description: Whether there was anything to do, or is in check mode; not so for a node that has arrived.
  returned: success
  type: bool
  sample: true
done:
  description: The steps that were done.
  returned: when the run stopped on its way
  type: list
  elements: str
  sample: ["cordon node acc-01, with our annotation"]
event:
  description: What page hooks are told.
  returned: when the run stopped on its way
  type: dict
  sample: {kind: transition-stopped, severity: error, ticket: "transition:acc-01", profile: v100-vm}
remaining:
  description: The steps that were not done.
  returned: when the run stopped on its way
  type: list
  elements: str
  sample: [uncordon node acc-01 and remove our annotation]
"""

from ansible_collections.gpuops.reservations.plugins.module_utils._shell.argument_spec import (
    OBSERVER,
    ArgumentSpec,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.node_mode_run import change_node_mode
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.run import run_module

SPEC = OBSERVER.merge(
    ArgumentSpec(
        options={
            "node": {"type": "str", "required": True},
            "from_mode": {"type": "str", "required": True},
            "to_mode": {"type": "str", "required": True},
            "resume_cordoned": {"type": "bool", "default": False},
            "timeout": {"type": "float", "default": 900.0},
            "poll": {"type": "float", "default": 5.0},
            "gates_closed_first": {"type": "bool", "default": False},
            "smoke_organization": {"type": "str"},
            "smoke_project": {"type": "str"},
        },
        required_together=(("smoke_organization", "smoke_project"),),
    ),
)


def main() -> None:
    """Wire options to the work."""
    run_module(SPEC, change_node_mode)


if __name__ == "__main__":
    main()
