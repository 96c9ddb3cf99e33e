#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: The gpuops.reservations contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_placement_info
short_description: Why a Pod is not where it should be
version_added: 0.1.0
author:
  - The gpuops.reservations contributors (@gpuops)
description:
  - Names the failure mode of node reservations that keeps a Pod from its tenant's nodes, or that brought it
    to another tenant's, with the facts that show it and the fix.
  - Where several hold, the first of this order is the diagnosis. They are policies, permission, binding,
    acceptance or overlap, selector, a Pod older than its binding, nodes, taints, quota, shortage. The rest is
    in RV(others).
options:
  namespace:
    description: Namespace of the Pod.
    type: str
    required: true
  pod:
    description: Name of the Pod.
    type: str
  owner:
    description:
      - What makes the Pod, as C(kind/name). A Deployment, ReplicaSet, StatefulSet, DaemonSet or Job.
      - A Pod that was refused does not exist. Events of its owner have the reason, for an hour.
    type: str
extends_documentation_fragment:
  - gpuops.reservations.connection
  - gpuops.reservations.fleet
  - gpuops.reservations.attributes
  - gpuops.reservations.attributes.read_only
  - gpuops.reservations.attributes.actiongroup
"""

EXAMPLES = r"""
- name: Why does it wait
  gpuops.reservations.gpu_placement_info:
    namespace: tenant-foo
    pod: training-step

- name: Why are there no Pods
  gpuops.reservations.gpu_placement_info:
    namespace: tenant-foo
    owner: deployment/training
"""

RETURN = r"""
diagnosis:
  description:
    - The failure mode, as a constant. One of V(policies-missing), V(permission-missing),
      V(namespace-without-tenant), V(no-binding), V(binding-not-accepted), V(overlap), V(selector-mismatch),
      V(pod-older-than-binding), V(daemonset-template-not-injected), V(injection-switched-off),
      V(labels-changed-later), V(not-reconciled), V(no-reserved-nodes), V(reserved-nodes-missing),
      V(all-reserved-nodes-cordoned), V(reserved-nodes-not-ready), V(reserved-nodes-unusable),
      V(contradictory-wishes), V(another-taint), V(quota-exhausted), V(refused-by-policy), V(refused),
      V(resource-shortage), V(scheduling-gate), V(another-scheduler), V(foreign-tenants-node),
      V(node-missing), V(not-found), V(unexplained), V(healthy).
  returned: success
  type: str
message:
  description: The failure mode in a sentence.
  returned: success
  type: str
facts:
  description: What shows it.
  returned: success
  type: list
  elements: str
fix:
  description: What to do about it.
  returned: success
  type: str
others:
  description: Failure modes that hold as well, each with C(diagnosis), C(message), C(facts) and C(fix).
  returned: success
  type: list
  elements: dict
uncovered:
  description:
    - Pods of the namespace that ask for devices and that no binding selects, with what they ask for. They are
      not injected, and land on nobody's reserved node. Empty for a namespace without a tenant.
  returned: success
  type: list
  elements: str
target:
  description: What was looked at.
  returned: success
  type: str
tenant:
  description: The tenant of the namespace; empty where it has none.
  returned: success
  type: str
checks:
  description: Permissions that a reconcile needs, of the identity that asked.
  returned: success
  type: list
  elements: dict
"""

from ansible_collections.gpuops.reservations.plugins.module_utils._shell.argument_spec import (
    OBSERVER,
    ArgumentSpec,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.placement_info import (
    inspect_placement,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.run import run_module

SPEC = OBSERVER.merge(
    ArgumentSpec(
        options={
            "namespace": {"type": "str", "required": True},
            "pod": {"type": "str"},
            "owner": {"type": "str"},
        },
        mutually_exclusive=(("pod", "owner"),),
        required_one_of=(("pod", "owner"),),
    ),
)


def main() -> None:
    run_module(SPEC, inspect_placement)


if __name__ == "__main__":
    main()
