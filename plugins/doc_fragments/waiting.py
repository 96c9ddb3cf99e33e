# -*- coding: utf-8 -*-
# Copyright: The gpuops.reservations contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """How long a module waits for the platform."""

    DOCUMENTATION = r"""
options:
  wait_timeout:
    description:
      - Seconds to wait for the platform to converge. When they are over the module fails and says what it
        last saw; it never goes on as if the wait had been met.
    type: int
    default: 600
  poll_interval:
    description:
      - Seconds between two looks.
    type: float
    default: 5.0
"""

    HEALTH = r"""
options:
  health_interval:
    description:
      - Seconds between two reads of node health. Findings of health are read again, three times at most,
        before they stop anything.
    type: float
    default: 10.0
"""
