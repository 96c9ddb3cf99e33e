# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long observing and proving takes on a fleet of some size, beside the other ways to read the same."""

from __future__ import annotations

import sys
from pathlib import Path

# The collection is found as Ansible finds it from a checkout.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / ".collections"))
