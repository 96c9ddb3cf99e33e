#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: The gpuops.reservations contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_reservation
short_description: Reconcile Reservations of whole nodes for tenants
version_added: 0.1.0
author:
  - The gpuops.reservations contributors (@gpuops)
description:
  - Makes nodes what the Reservations of a cluster say. Reserved nodes carry the tenant's label and taint;
    nodes that are not wanted any more are drained and released.
  - One pass does what can be done now. A release waits for the tenant's Pods from pass to pass.
  - The incumbent wins. A node that one Reservation holds is not given to another one; such a claim is
    rejected as a whole, naming node and holder, and a rejection releases nothing.
  - Before anything is written, every permission is reviewed, and a canary Pod, by the server's dry run,
    shows that admission injects what bindings say and refuses thieves.
  - Needs the definitions and policies that role P(gpuops.reservations.platform#role) installs.
options:
  name:
    description:
      - Name of the Reservation.
      - If not set, all Reservations are reconciled, and nodes that none of them explains are released.
    type: str
  state:
    description:
      - With V(reconciled), Reservations are taken as they are.
      - With V(present), the Reservation is created, or the given fields of it are changed, and it is then
        reconciled.
      - With V(absent), it is deleted. It goes when its last node is released.
    type: str
    choices: [reconciled, present, absent]
    default: reconciled
  tenant:
    description: The tenant, as the label C(reserved.tenant) of its namespaces says. Cannot be changed.
    type: str
  node_selector:
    description:
      - Labels that define the reserved set, with C(matchLabels) and C(matchExpressions).
      - Together with O(reserved_nodes), every named node must match.
    type: dict
    aliases: [nodeSelector]
  reserved_nodes:
    description: Names of the nodes. A node that does not exist counts as Missing, and the others go on.
    type: list
    elements: str
    aliases: [reservedNodes]
  apply_taint:
    description:
      - Whether the nodes get the taint C(reserved=<tenant>). Without it nothing keeps strangers off them.
      - Cannot be changed. A new Reservation has it unless this is V(false).
    type: bool
    aliases: [applyTaint]
  taint_effect:
    description: The taint's effect, V(NoSchedule) where it is not set. Cannot be changed.
    type: str
    choices: [NoSchedule, NoExecute]
    aliases: [taintEffect]
  evict_on_release:
    description:
      - Whether the tenant's Pods are evicted from a node that is released, within their disruption budgets.
      - A new Reservation waits for them unless this is V(true).
    type: bool
    aliases: [evictOnRelease]
  wait:
    description: Whether to make passes until no node is draining. When the time runs out, the module fails.
    type: bool
    default: false
  allow_daemonset_loss:
    description:
      - Whether a node may be taken although a DaemonSet with a Pod on it does not tolerate the taint, and
        would lose the node at its next rollout.
    type: bool
    default: false
  allow_eviction:
    description: Whether a taint with effect C(NoExecute) may be set, which evicts what does not tolerate it.
    type: bool
    default: false
  notified:
    description:
      - The C(id) of each release notice that the tenant has been given by other means than an Event.
      - If set, no other node is cordoned; if not set, the Events are the notice.
    type: list
    elements: str
extends_documentation_fragment:
  - gpuops.reservations.connection
  - gpuops.reservations.fleet
  - gpuops.reservations.waiting
  - gpuops.reservations.attributes
  - gpuops.reservations.attributes.writes
  - gpuops.reservations.attributes.actiongroup
attributes:
  check_mode:
    details:
      - Access reviews and dry runs by the server are made in check mode too.
"""

EXAMPLES = r"""
- name: Reconcile every Reservation
  gpuops.reservations.gpu_reservation:

- name: Reserve four nodes for a tenant
  gpuops.reservations.gpu_reservation:
    state: present
    name: tenant-foo-reservation
    tenant: tenant-foo
    node_selector:
      matchLabels:
        hardware-pool: gpu-h100-rack-a
    reserved_nodes: [train-01, train-02, train-03, train-04]

- name: Give a node back, and wait until the tenant's Pods have left it
  gpuops.reservations.gpu_reservation:
    state: present
    name: tenant-foo-reservation
    reserved_nodes: [train-01, train-02, train-03]
    wait: true
    wait_timeout: 3600
"""

RETURN = r"""
reservations:
  description: Each Reservation that the run was about, by name. Also returned when the module fails.
  returned: always
  type: list
  elements: dict
  contains:
    name:
      description: Its name.
      type: str
    tenant:
      description: Its tenant.
      type: str
    accepted:
      description: Whether this generation of it is accepted.
      type: bool
    reason:
      description: Why, as a constant, for example V(Accepted) or V(Overlap).
      type: str
    message:
      description: Why, with the facts.
      type: str
    deleted:
      description: Whether it was being deleted and has let go of everything.
      type: bool
    nodes:
      description: Its nodes, with C(name), C(phase) (Reserved, Draining or Missing) and C(tenantPods).
      type: list
      elements: dict
notices:
  description:
    - What tenants were told (C(kind=release)), and what the operator should know. Each with C(kind), C(node),
      C(reservation), C(tenant), C(message) and C(next_action); a release also with C(id) and C(bindings).
  returned: always
  type: list
  elements: dict
releases:
  description: The notices of releases that begin with this run, or would in check mode; also in the notices.
  returned: always
  type: list
  elements: dict
release_ids:
  description: The C(id) of each of them, for O(notified).
  returned: always
  type: list
  elements: str
checks:
  description: Permissions, the canary, and acceptance of each Reservation.
  returned: always
  type: list
  elements: dict
plan:
  description: What is, or in check mode would be, done, in order.
  returned: always
  type: list
  elements: str
plan_digest:
  description: SHA-256 of the plan.
  returned: always
  type: str
"""

from ansible_collections.gpuops.reservations.plugins.module_utils._shell.argument_spec import (
    OBSERVER,
    WAIT,
    ArgumentSpec,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.reservation import (
    reconcile_reservations,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.run import run_module

SPEC = OBSERVER.merge(
    WAIT,
    ArgumentSpec(
        options={
            "name": {"type": "str"},
            "state": {"type": "str", "choices": ["reconciled", "present", "absent"], "default": "reconciled"},
            "tenant": {"type": "str"},
            "node_selector": {"type": "dict", "aliases": ["nodeSelector"]},
            "reserved_nodes": {"type": "list", "elements": "str", "aliases": ["reservedNodes"]},
            "apply_taint": {"type": "bool", "aliases": ["applyTaint"]},
            "taint_effect": {
                "type": "str",
                "choices": ["NoSchedule", "NoExecute"],
                "aliases": ["taintEffect"],
            },
            "evict_on_release": {"type": "bool", "aliases": ["evictOnRelease"]},
            "wait": {"type": "bool", "default": False},
            "allow_daemonset_loss": {"type": "bool", "default": False},
            "allow_eviction": {"type": "bool", "default": False},
            "notified": {"type": "list", "elements": "str"},
        },
        required_if=(("state", "present", ("name",)), ("state", "absent", ("name",))),
    ),
)


def main() -> None:
    run_module(SPEC, reconcile_reservations)


if __name__ == "__main__":
    main()
