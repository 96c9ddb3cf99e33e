# -*- coding: utf-8 -*-
# Copyright: The gpuops.reservations contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """Which pool, and which run may change it."""

    DOCUMENTATION = r"""
options:
  profile_id:
    description:
      - Stable id of the GPU profile whose devices are the pool, for example V(h100-vm).
    type: str
    required: true
"""

    RUN = r"""
options:
  ticket:
    description:
      - Ticket of the change. It is lower-cased first; the reservation's id is C(gpu-res-) and the ticket.
    type: str
    required: true
  run_id:
    description:
      - Identity of this run, as M(gpuops.reservations.gpu_lock) gave it. A change is made only while the
        pool's lock still names this run, so of two runs of one ticket the earlier stops at its next step.
    type: str
    required: true
"""
