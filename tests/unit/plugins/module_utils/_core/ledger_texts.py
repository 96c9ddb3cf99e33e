# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documents of a small fleet repository, as text and as values, for tests of what reads them."""

from __future__ import annotations

from typing import Any

from ansible_collections.gpuops.reservations.plugins.module_utils._core.fleet_files import (
    FleetFile,
    FleetTree,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.yaml_text import to_yaml

ROOT = "gpu-reservations/lab"
POLICY_PATH = f"{ROOT}/policy.yaml"
REVISION = "a" * 40

POLICY = """\
apiVersion: operations.kube-dc.com/v1alpha1
kind: GPUReservationPolicy
metadata: {cluster: lab}
spec:
  clusterUid: 7f0c2d1e-1b2c-4d3e-8f4a-5b6c7d8e9f01
  reviewMode: direct           # direct | branch
  entitlementTransport: annotation   # annotation | observe
  projectCap: observe          # observe | backend
  creationControl: both        # gate | fence | both
  staleness: {nodeLeaseSeconds: 60, quotaStatusSeconds: 600, lockHours: 24, smokeDays: 90}
  alerts: {select: "[?starts_with(labels.alertname, 'KubeDc')]"}
  operatorNamespaces: []
  maintenance: []              # {nodes: [...], from, to, reference}
  pools:
    h100-vm:
      nodes: {gpu-01: 8, gpu-02: 8}
      reservationAddons: [gpu-h100-reserved]
      sharesNodesWith: []      # profiles of another mode on the same nodes: a sequential pool
      quarantinedNodes: []
      spareDevices: 1
      spareApproval: null      # {product, sre, reference, maintenanceAvailability}
"""

ORDER = """\
apiVersion: operations.kube-dc.com/v1alpha1
kind: GPUReservationOrder
metadata: {ticket: lab-1}
spec:
  organization: borealis
  project: ml                  # or empty: fungible over the organization
  profileId: h100-vm
  devices: 8
  addonId: gpu-h100-reserved
  requestedAt: 2026-11-01T09:00:00Z
  startsAt: 2026-11-02T09:00:00Z
  endsAt: ""
  billingReference: INV-1
  supportOwner: desk@example.com
  maintenanceTerms: standard
  approvedBy: {product: p.owner, sre: s.owner}
"""

RECORD = """\
apiVersion: operations.kube-dc.com/v1alpha1
kind: GPUReservationRecord
metadata:
  id: gpu-res-lab-1
spec:
  organization: borealis
  project: ml
  profileId: h100-vm
  devices: 8
  state: pending # pending | active | releasing | released | canceled
  requestedAt: 2026-11-01T09:00:00Z
  startsAt: 2026-11-02T09:00:00Z
  endsAt: ""
  addonId: gpu-h100-reserved
  billingReference: INV-1
  approvedBy:
    product: p.owner
    sre: s.owner
status:
  activatedAt: ""
  releasedAt: ""
  evidenceRevision: ""
  reason: awaiting-activation
"""

FREEZE = """\
since: 2026-11-01T00:00:00Z
audit: audit-17
findings: [stale-capacity]
thawed: null
"""

STATUS: dict[str, dict[str, str]] = {
    "pending": {"activatedAt": "", "releasedAt": "", "evidenceRevision": "", "reason": "awaiting-activation"},
    "active": {
        "activatedAt": "2026-11-02T10:00:00Z",
        "releasedAt": "",
        "evidenceRevision": "sha256-17",
        "reason": "active",
    },
    "releasing": {
        "activatedAt": "2026-11-02T10:00:00Z",
        "releasedAt": "",
        "evidenceRevision": "sha256-17",
        "reason": "release-requested",
    },
    "released": {
        "activatedAt": "2026-11-02T10:00:00Z",
        "releasedAt": "2026-12-01T10:00:00Z",
        "evidenceRevision": "sha256-18",
        "reason": "released",
    },
    "canceled": {
        "activatedAt": "",
        "releasedAt": "",
        "evidenceRevision": "",
        "reason": "canceled-before-activation",
    },
}


def record_value(state: str = "pending", ticket: str = "lab-1", **changes: Any) -> dict[str, Any]:
    """A valid record's value; changes by dotted path with ``__`` for the dot (``spec__devices=3``)."""
    value: dict[str, Any] = {
        "apiVersion": "operations.kube-dc.com/v1alpha1",
        "kind": "GPUReservationRecord",
        "metadata": {"id": f"gpu-res-{ticket}"},
        "spec": {
            "organization": "borealis",
            "project": "ml",
            "profileId": "h100-vm",
            "devices": 8,
            "state": state,
            "requestedAt": "2026-11-01T09:00:00Z",
            "startsAt": "2026-11-02T09:00:00Z",
            "endsAt": "",
            "addonId": "gpu-h100-reserved",
            "billingReference": "INV-1",
            "approvedBy": {"product": "p.owner", "sre": "s.owner"},
        },
        "status": dict(STATUS[state]),
    }
    for path, changed in changes.items():
        *above, key = path.split("__")
        place = value
        for part in above:
            place = place[part]
        place[key] = changed
    return value


def record_text(state: str = "pending", ticket: str = "lab-1", **changes: Any) -> str:
    """A record's text; the value need not be valid."""
    return to_yaml(record_value(state, ticket, **changes))


def record_path(ticket: str = "lab-1", cluster: str = "lab") -> str:
    return f"gpu-reservations/{cluster}/records/gpu-res-{ticket}.yaml"


def tree(
    files: dict[str, str | bytes | FleetFile] | None = None, *, policy: str | None = POLICY
) -> FleetTree:
    """A fleet branch with a policy, one order, and the given files."""
    found: dict[str, str | bytes | FleetFile] = {f"{ROOT}/orders/lab-1.yaml": ORDER}
    if policy is not None:
        found[POLICY_PATH] = policy
    found.update(files or {})
    made = []
    for path, content in sorted(found.items()):
        if isinstance(content, FleetFile):
            made.append(content)
        else:
            made.append(FleetFile.of(path, content.encode() if isinstance(content, str) else content))
    return FleetTree(branch="main", revision=REVISION, files=tuple(made))
