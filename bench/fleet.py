# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fleet repository of a generated fleet: policy, records, node rules and gates, in one commit."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import yaml

from lab.fixture.ledger import API_VERSION

from .items import JsonObject
from .machinery import node_name
from .shape import DEVICES_OF_A_HOLD, DEVICES_OF_A_NODE, Shape
from .tenants import organization

CLUSTER = "bench"
FOLDER = f"gpu-reservations/{CLUSTER}"
CONFIG = {
    "CLUSTER_NAME": CLUSTER,
    "GPU_ENABLED": "true",
    "GPU_CATALOG_ENABLED": "true",
    "GPU_BILLING_ELIGIBLE": "true",
    "GPU_SHARED_CREATION_ENABLED": "true",
    "GPU_VM_CREATION_ENABLED": "true",
}
_RULE = """\
    - name: {node}-vm-passthrough
      labels:
        kube-dc.com/gpu.workload-mode: vm-passthrough
        kube-dc.com/gpu.expected-workload-mode: vm-passthrough
        nvidia.com/gpu.workload.config: vm-passthrough
      matchFeatures:
        - feature: system.name
          matchExpressions:
            nodename: {{op: In, value: ["{node}"]}}
        - feature: pci.device
          matchExpressions:
            vendor: {{op: In, value: ["10de"]}}
            class: {{op: In, value: ["0300", "0302"]}}
"""
_RULES = f"""\
apiVersion: nfd.k8s-sigs.io/v1alpha1
kind: NodeFeatureRule
metadata:
  name: {CLUSTER}-gpu-node-modes
spec:
  rules:
"""


def policy(shape: Shape, cluster_uid: str) -> JsonObject:
    """The policy of the generated cluster."""
    limits = {"nodeLeaseSeconds": 60, "quotaStatusSeconds": 600, "lockHours": 24, "smokeDays": 90}
    pool = {
        "nodes": {node_name(number): DEVICES_OF_A_NODE for number in range(shape.pool_nodes)},
        "reservationAddons": ["gpu-h100-reserved"],
        "sharesNodesWith": [],
        "quarantinedNodes": [],
        "spareDevices": 1,
        "spareApproval": None,
    }
    return {
        "apiVersion": API_VERSION,
        "kind": "GPUReservationPolicy",
        "metadata": {"cluster": CLUSTER},
        "spec": {
            "clusterUid": cluster_uid,
            "reviewMode": "direct",
            "entitlementTransport": "annotation",
            "projectCap": "observe",
            "creationControl": "gate",
            "staleness": limits,
            "alerts": {"select": "[?starts_with(labels.alertname, 'KubeDc')]"},
            "operatorNamespaces": [],
            "maintenance": [],
            "pools": {"h100-vm": pool},
        },
    }


def record(shape: Shape, number: int) -> JsonObject:
    """A record: the first ones are active, one for each organization with a hold, the others released."""
    active = number < shape.holds
    return {
        "apiVersion": API_VERSION,
        "kind": "GPUReservationRecord",
        "metadata": {"id": f"gpu-res-t-{number:05}"},
        "spec": {
            "organization": organization(number % shape.organizations),
            "project": "",
            "profileId": "h100-vm",
            "devices": DEVICES_OF_A_HOLD,
            "state": "active" if active else "released",
            "requestedAt": "2026-01-01T09:00:00Z",
            "startsAt": "2026-01-02T09:00:00Z",
            "endsAt": "",
            "addonId": "gpu-h100-reserved",
            "billingReference": f"INV-{number}",
            "approvedBy": {"product": "p.owner", "sre": "s.owner"},
        },
        "status": {
            "activatedAt": "2026-01-02T10:00:00Z",
            "releasedAt": "" if active else "2026-02-02T10:00:00Z",
            "evidenceRevision": f"sha256:{number:064x}",
            "reason": "active" if active else "released",
        },
    }


def files(shape: Shape, cluster_uid: str) -> Iterator[tuple[str, bytes]]:
    """Every file of the repository."""
    yield f"{FOLDER}/policy.yaml", _text(policy(shape, cluster_uid))
    for number in range(shape.records):
        content = record(shape, number)
        yield f"{FOLDER}/records/{content['metadata']['id']}.yaml", _text(content)
    config = "".join(f"{key}={value}\n" for key, value in CONFIG.items())
    yield f"clusters/{CLUSTER}/cluster-config.env", config.encode()
    rules = "".join(_RULE.format(node=node_name(number)) for number in range(shape.pool_nodes))
    yield f"clusters/{CLUSTER}/gpu-node-modes/nodefeaturerule.yaml", (_RULES + rules).encode()


def build(shape: Shape, cluster_uid: str, repository: Path) -> None:
    """Makes the bare repository with one commit on main."""
    subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(repository)], check=True)
    stream = [
        b"commit refs/heads/main\ncommitter Fleet <fleet@example.com> 1767258000 +0000\ndata 5\nfleet\n"
    ]
    for path, content in files(shape, cluster_uid):
        stream.append(b"M 100644 inline %b\ndata %d\n%b\n" % (path.encode(), len(content), content))
    subprocess.run(
        ["git", f"--git-dir={repository}", "fast-import", "--quiet"], input=b"".join(stream), check=True
    )


def _text(document: JsonObject) -> bytes:
    return yaml.dump(document, Dumper=yaml.CSafeDumper, sort_keys=False, width=110).encode()
