# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The GPU product around the lab's control plane: what is real on a cluster and only played here."""
