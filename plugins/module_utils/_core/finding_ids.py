# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Identifiers of findings and checks: stable, documented, matched on by tools."""

from __future__ import annotations

from typing import Final

# The audit's list (capacity holds, "Audit").
MISSING_LEDGER_RECORD: Final = "missing-ledger-record"
UNKNOWN_ADD_ON: Final = "unknown-add-on"
STALE_CAPACITY: Final = "stale-capacity"
DEGRADED_CAPACITY: Final = "degraded-capacity"
HARD_QUOTA_ABOVE_EQUATION: Final = "hard-quota-above-equation"
DUPLICATE_RESERVATION_ID: Final = "duplicate-reservation-id"
LEDGER_INVALID: Final = "ledger-invalid"
PROFILE_MODE_MISMATCH: Final = "profile-mode-mismatch"
PLUGIN_CONFLICT: Final = "plugin-conflict"
ACTIVE_ALERT: Final = "active-alert"
STATUS_DISAGREEMENT: Final = "status-disagreement"
UNATTRIBUTED_HOLDER: Final = "unattributed-holder"
SEQUENTIAL_POOL_CONFLICT: Final = "sequential-pool-conflict"
GATE_STATE_UNEXPECTED: Final = "gate-state-unexpected"
STALE_LOCK: Final = "stale-lock"
UNDECLARED_NODE: Final = "undeclared-node"
OVERDUE_RESERVATION: Final = "overdue-reservation"
SMOKE_AGE: Final = "smoke-age"

# Identifiers of our own, so that the listed ones keep their meaning.
CLUSTER_MISMATCH: Final = "cluster-mismatch"
POOL_NOT_APPROVED: Final = "pool-not-approved"
POOL_FROZEN: Final = "pool-frozen"
PROFILE_UNFIT: Final = "profile-unfit"
ADD_ON_UNFIT: Final = "add-on-unfit"
ORDER_EXCEEDS_CAPACITY: Final = "order-exceeds-capacity"
CHANGE_EXCEEDS_CAPACITY: Final = "change-exceeds-capacity"
ORDER_ORGANIZATION: Final = "order-organization"
ORDER_PROJECT: Final = "order-project"
ORDER_RECORD: Final = "order-record"
GATE_CONVERGING: Final = "gate-converging"
FENCE_DOWN: Final = "fence-down"
FENCE_MISSING: Final = "fence-missing"
FENCE_CONVERGING: Final = "fence-converging"
FENCE_NOT_LOWERED: Final = "fence-not-lowered"
ENTITLEMENT_CONVERGING: Final = "entitlement-converging"
SUBSCRIPTION_SUSPENDED: Final = "subscription-suspended"
NODE_CORDONED: Final = "node-cordoned"
NODE_TAINTED: Final = "node-tainted"
NODE_IN_MAINTENANCE: Final = "node-in-maintenance"
NODE_QUARANTINED: Final = "node-quarantined"
NODE_IN_SHARED_MODE: Final = "node-in-shared-mode"
ALERT_RULES_TWICE: Final = "alert-rules-loaded-twice"
BACKEND_UNAVAILABLE: Final = "backend-unavailable"
KUBEVIRT_NOT_DEPLOYED: Final = "kubevirt-not-deployed"
RELEASE_HOLDER: Final = "release-holder"
RELEASE_QUOTA_IN_USE: Final = "release-quota-in-use"
