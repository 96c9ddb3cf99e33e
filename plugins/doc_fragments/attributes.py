# -*- coding: utf-8 -*-
# Copyright: The gpuops.reservations contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """What a module supports; one of the two fragments below says how much of it."""

    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Can run in C(check_mode) and says what would change, without changing it.
  diff_mode:
    description: Shows in C(diff) mode what changes, or would change.
  idempotent:
    description: When run twice with nothing else happening in between, the second run changes nothing.
"""

    READ_ONLY = r"""
options: {}
attributes:
  check_mode:
    support: full
    details:
      - This module changes nothing.
  diff_mode:
    support: N/A
    details:
      - This module changes nothing.
  idempotent:
    support: full
    details:
      - This module changes nothing.
"""

    WRITES = r"""
options: {}
attributes:
  check_mode:
    support: full
    details:
      - Makes the same reads and the same proofs, and stops before the first change.
  diff_mode:
    support: full
  idempotent:
    support: full
"""

    ACTIONGROUP = r"""
options: {}
attributes:
  action_group:
    description: Use C(group/gpuops.reservations.all) in C(module_defaults) to set defaults for this module.
    support: full
    membership:
      - gpuops.reservations.all
"""
