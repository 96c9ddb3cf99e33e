# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab: a real control plane with played kubelets and a played GPU product around it."""
