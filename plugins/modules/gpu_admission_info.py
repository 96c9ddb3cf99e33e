#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: The gpuops.reservations contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_admission_info
short_description: Whether node reservations can be installed, work, and can be removed
version_added: 0.1.0
author:
  - The gpuops.reservations contributors (@gpuops)
description:
  - Looks at the definitions of Reservation and ReservationBinding, at the admission policies that go with
    them, and at the workloads that these would refuse.
  - Where policies are bound, a canary Pod, by the server's dry run, shows whether they inject and refuse.
  - Role P(gpuops.reservations.platform#role) asks it before it installs or removes anything, and afterwards.
options:
  platform_namespaces:
    description:
      - Namespaces that the policies leave out by name. Workloads in them are never refused.
      - Each has to exist, because who creates one later would be left out of every policy.
    type: list
    elements: str
    default: [kube-system, kube-public, kube-node-lease]
  accept_refused_workloads:
    description: Whether workloads whose next Pods would be refused stand in the way of an installation.
    type: bool
    default: false
extends_documentation_fragment:
  - gpuops.reservations.connection
  - gpuops.reservations.fleet
  - gpuops.reservations.attributes
  - gpuops.reservations.attributes.read_only
  - gpuops.reservations.attributes.actiongroup
"""

EXAMPLES = r"""
- name: See whether injection works
  gpuops.reservations.gpu_admission_info:
  register: admission
"""

RETURN = r"""
installable:
  description: Whether nothing stands in the way of an installation or an upgrade.
  returned: success
  type: bool
not_installable:
  description: What stands in the way, with the next step; empty where nothing does.
  returned: success
  type: str
working:
  description: Whether definitions and policies are there, ours, bound, and do what they should.
  returned: success
  type: bool
not_working:
  description: What does not work, with the next step; empty where everything does.
  returned: success
  type: str
removable:
  description: Whether definitions and policies can be removed, because no Reservation is left.
  returned: success
  type: bool
not_removable:
  description: What stands in the way, with the next step; empty where nothing does.
  returned: success
  type: str
mutation_version:
  description: The version in which the API server has MutatingAdmissionPolicy; empty where it has none.
  returned: success
  type: str
refused_workloads:
  description: Workloads whose Pods are refused at their next restart, with the reason.
  returned: success
  type: list
  elements: str
reservations:
  description: Names of the Reservations.
  returned: success
  type: list
  elements: str
checks:
  description: Every answer this rests on.
  returned: success
  type: list
  elements: dict
"""

from ansible_collections.gpuops.reservations.plugins.module_utils._shell.admission_info import (
    inspect_admission,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.argument_spec import (
    OBSERVER,
    ArgumentSpec,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.run import run_module

SPEC = OBSERVER.merge(
    ArgumentSpec(
        options={
            "platform_namespaces": {
                "type": "list",
                "elements": "str",
                "default": ["kube-system", "kube-public", "kube-node-lease"],
            },
            "accept_refused_workloads": {"type": "bool", "default": False},
        },
    ),
)


def main() -> None:
    run_module(SPEC, inspect_admission)


if __name__ == "__main__":
    main()
