# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Policies: strict, with the defaults of the contract, and what needs approval has it."""

from __future__ import annotations

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.document import Problem, read
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import InputError
from ansible_collections.gpuops.reservations.plugins.module_utils._core.fleet_files import FleetFile
from ansible_collections.gpuops.reservations.plugins.module_utils._core.policy import Policy, policy_path
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.ledger_texts import (
    POLICY,
    POLICY_PATH,
)

MINIMAL = """\
apiVersion: operations.kube-dc.com/v1alpha1
kind: GPUReservationPolicy
metadata: {cluster: lab}
spec:
  clusterUid: 7f0c2d1e-1b2c-4d3e-8f4a-5b6c7d8e9f01
  reviewMode: direct
  entitlementTransport: annotation
  pools:
    h100-vm:
      nodes: {gpu-01: 8}
"""
APPROVAL = (
    "{product: p.owner, sre: s.owner, reference: CHG-1, maintenanceAvailability: none during maintenance}"
)


def problems(text: str) -> tuple[Problem, ...]:
    return read(Policy, FleetFile.of(POLICY_PATH, text.encode())).problems


def fields(text: str) -> list[str]:
    return [one.field for one in problems(text)]


def policy(text: str) -> Policy:
    document = read(Policy, FleetFile.of(POLICY_PATH, text.encode())).document
    assert document is not None
    return document


def with_pool(line: str) -> str:
    return f"{MINIMAL}      {line}\n"


def test_the_contracts_policy() -> None:
    found = policy(POLICY)
    assert found.cluster == "lab"
    pool = found.pools["h100-vm"]
    assert dict(pool.nodes) == {"gpu-01": 8, "gpu-02": 8}
    assert (pool.size, pool.spare_devices, pool.sequential, pool.spare_approval) == (16, 1, False, None)
    assert pool.reservation_addons == ("gpu-h100-reserved",)


def test_defaults() -> None:
    spec = policy(MINIMAL).spec
    assert spec.staleness.model_dump(by_alias=True) == {
        "nodeLeaseSeconds": 60,
        "quotaStatusSeconds": 600,
        "lockHours": 24,
        "smokeDays": 90,
    }
    assert spec.alerts.select == "[?starts_with(labels.alertname, 'KubeDc')]"
    assert (spec.project_cap, spec.creation_control) == ("observe", "both")


@pytest.mark.parametrize("size", [1, 8])
def test_b09_the_spare_is_one_by_default_whatever_the_size(size: int) -> None:
    assert policy(MINIMAL.replace("gpu-01: 8", f"gpu-01: {size}")).pools["h100-vm"].spare_devices == 1


@pytest.mark.parametrize("size", [1, 8])
def test_a_spare_of_zero_needs_its_approval(size: int) -> None:
    text = with_pool("spareDevices: 0").replace("gpu-01: 8", f"gpu-01: {size}")
    (found,) = problems(text)
    assert found.field == "spec.pools.h100-vm.spareDevices" or "spareApproval" in found.message
    approved = policy(f"{text}      spareApproval: {APPROVAL}\n").pools["h100-vm"]
    assert approved.spare_devices == 0
    assert approved.spare_approval is not None


def test_a_spare_of_zero_without_the_key_of_its_approval_is_refused() -> None:
    assert fields(with_pool("spareDevices: 0")) == ["spec.pools.h100-vm.spareDevices"]


@pytest.mark.parametrize(
    ("approval", "field"),
    [
        (APPROVAL.replace("s.owner", "P.Owner"), "spareApproval.product"),
        (APPROVAL.replace("s.owner", "p.ow\u200bner"), "spareApproval.product"),
        (APPROVAL.replace("CHG-1", "''"), "spareApproval.reference"),
        ("{product: p, sre: s, reference: r}", "spareApproval.maintenanceAvailability"),
    ],
)
def test_a10_the_approval_of_a_smaller_spare_follows_the_same_rule(approval: str, field: str) -> None:
    text = with_pool(f"spareDevices: 0\n      spareApproval: {approval}")
    assert fields(text) == [f"spec.pools.h100-vm.{field}"]


@pytest.mark.parametrize(
    "missing", ["apiVersion", "kind", "metadata", "clusterUid", "reviewMode", "entitlementTransport"]
)
def test_what_has_no_default_has_to_be_there(missing: str) -> None:
    text = "".join(line for line in MINIMAL.splitlines(keepends=True) if not line.strip().startswith(missing))
    assert [field.rpartition(".")[2] for field in fields(text)] == [missing]


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("reviewMode: both", "spec.reviewMode"),
        ("entitlementTransport: click", "spec.entitlementTransport"),
        ("projectCap: none", "spec.projectCap"),
        ("creationControl: off", "spec.creationControl"),
        ("staleness: {nodeLeaseSeconds: 0}", "spec.staleness.nodeLeaseSeconds"),
        ("staleness: {lockHours: 1_0}", "spec.staleness.lockHours"),
        ("staleness: {hours: 1}", "spec.staleness.hours"),
        ("alerts: {select: ''}", "spec.alerts.select"),
        ("operatorNamespaces: [A]", "spec.operatorNamespaces.0"),
        ("operatorNamespaces: [a, a]", "spec.operatorNamespaces"),
        ("operatorNamespaces: a", "spec.operatorNamespaces"),
        (
            "maintenance: [{nodes: [], from: 2026-11-01T00:00:00Z, to: 2026-11-02T00:00:00Z, reference: x}]",
            "spec.maintenance.0.nodes",
        ),
        (
            "maintenance: [{nodes: [a], from: 2026-11-02T00:00:00Z, to: 2026-11-02T00:00:00Z, reference: x}]",
            "spec.maintenance.0.to",
        ),
        (
            "maintenance: [{nodes: [a], from: 2026-11-01T00:00:00Z, to: 2026-11-02T00:00:00Z}]",
            "spec.maintenance.0.reference",
        ),
        ("freeze: true", "spec.freeze"),
    ],
)
def test_wrong_values_name_their_field(line: str, field: str) -> None:
    key = line.partition(":")[0]
    text = "".join(one for one in MINIMAL.splitlines(keepends=True) if not one.strip().startswith(f"{key}:"))
    assert fields(text.replace("spec:\n", f"spec:\n  {line}\n")) == [field]


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("nodes: {}", "nodes"),
        ("nodes: {gpu-01: 0}", "nodes.gpu-01"),
        ("nodes: {gpu-01: 010}", "nodes.gpu-01"),
        ("nodes: {gpu-01: '8'}", "nodes.gpu-01"),
        ("nodes: {GPU_01: 8}", "nodes.GPU_01"),
        ("nodes: [gpu-01]", "nodes"),
        ("quarantinedNodes: [gpu-09]", "quarantinedNodes"),
        ("quarantinedNodes: [gpu-01, gpu-01]", "quarantinedNodes"),
        ("reservationAddons: [x, x]", "reservationAddons"),
        ("reservationAddons: [X]", "reservationAddons.0"),
        ("sharesNodesWith: [v100_shared]", "sharesNodesWith.0"),
        ("spareDevices: -1", "spareDevices"),
        ("spareDevices: 1.0", "spareDevices"),
        ("price: 1", "price"),
    ],
)
def test_wrong_values_of_a_pool_name_their_field(line: str, field: str) -> None:
    text = MINIMAL.replace("      nodes: {gpu-01: 8}\n", "") if line.startswith("nodes") else MINIMAL
    assert fields(f"{text}      {line}\n") == [f"spec.pools.h100-vm.{field}"]


def test_one_add_on_is_not_sold_from_two_pools() -> None:
    text = with_pool("reservationAddons: [x]") + "    v100-vm: {nodes: {acc-01: 2}, reservationAddons: [x]}\n"
    (found,) = problems(text)
    assert found.field == "spec.pools"
    assert "x" in found.message


def test_a_pool_does_not_share_nodes_with_itself() -> None:
    assert fields(with_pool("sharesNodesWith: [h100-vm]")) == ["spec.pools"]


def test_a_pool_needs_a_label_for_a_name() -> None:
    assert fields(MINIMAL.replace("h100-vm", "H100_VM")) == ["spec.pools.H100_VM"]


def test_a20_all_that_is_wrong_is_named() -> None:
    text = MINIMAL.replace("direct", "both").replace("gpu-01: 8", "gpu-01: 08") + "      spareDevices: 0\n"
    assert set(fields(text)) == {
        "spec.reviewMode",
        "spec.pools.h100-vm.nodes.gpu-01",
        "spec.pools.h100-vm.spareDevices",
    }


def test_nodes_and_maintenance() -> None:
    text = MINIMAL.replace(
        "spec:\n",
        "spec:\n  maintenance:\n"
        "    - {nodes: [gpu-01], from: 2026-11-01T00:00:00Z, to: 2026-11-02T00:00:00Z, reference: CHG-2}\n",
    )
    found = policy(text + "    v100-vm: {nodes: {gpu-01: 2, acc-01: 2}, sharesNodesWith: [v100-shared]}\n")
    assert found.pools_on("gpu-01") == ("h100-vm", "v100-vm")
    assert found.pools_on("acc-02") == ()
    assert found.pools["v100-vm"].sequential
    entry = found.maintained("gpu-01", "2026-11-01T01:00:00+01:00")
    assert entry is not None
    assert entry.reference == "CHG-2"
    assert found.maintained("gpu-01", "2026-10-31T23:59:59Z") is None
    assert found.maintained("gpu-01", "2026-11-02T00:00:00Z") is None
    assert found.maintained("acc-01", "2026-11-01T12:00:00Z") is None


def test_where_a_policy_lies() -> None:
    assert policy_path("lab") == POLICY_PATH
    with pytest.raises(InputError):
        policy_path("..")
