# -*- coding: utf-8 -*-
# Copyright: The gpuops.reservations contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """Where the fleet repository is."""

    DOCUMENTATION = r"""
options:
  fleet_repo:
    description:
      - URL or path of the private fleet repository, as C(git) understands it.
      - The collection keeps a bare clone of its own in a cache folder and fetches at every use. It never
        works in a person's checkout.
      - If not set, the value of the environment variable E(GPUOPS_FLEET_REPO) is used.
    type: str
  fleet_branch:
    description:
      - Branch of the fleet repository that holds policy, orders, records and the cluster's configuration.
    type: str
    default: main
requirements:
  - git
"""
