# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The bundle holds everything on the runbook's retention list, and no physical identifier."""

from __future__ import annotations

import json

from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.fleet_builder import (
    NOW,
    lab,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._reports.bundles import (
    DEVICE_UUID,
    PCI_ADDRESS,
    bundle_of,
    failing,
    healthy,
)


def test_revisions_totals_and_the_invariant() -> None:
    before = {"h100-vm": {"headroom": 25}}
    bundle = bundle_of(lab(), equations_before=before, platform_revision="116783f", smoked={"h100-vm": NOW})
    assert bundle["revisions"] == {
        "fleet": "a" * 40,
        "kube_dc": "116783f",
        "kubernetes": "v1.36.3",
        "catalogue": "3",
    }
    pool = bundle["pools"][0]
    assert (pool["profile"], pool["healthy"], pool["spare"], pool["active_reserved"]) == ("h100-vm", 32, 1, 8)
    assert pool["equation_before"] == {"headroom": 25}
    assert pool["equation"]["headroom"] == 17
    assert bundle["smoke"] == {"h100-vm": NOW}
    assert bundle["passed"] is True


def test_each_reservation_with_times_approvers_and_billing() -> None:
    (reservation,) = healthy()["pools"][0]["reservations"]
    assert reservation == {
        "id": "gpu-res-lab-0",
        "organization": "cumulus",
        "project": "",
        "devices": 8,
        "state": "active",
        "add_on": "gpu-h100-reserved",
        "requested_at": "2026-11-01T09:00:00Z",
        "starts_at": "2026-11-02T09:00:00Z",
        "ends_at": "",
        "activated_at": "2026-11-02T10:00:00Z",
        "released_at": "",
        "reason": "active",
        "billing_reference": "INV-1",
        "approved_by": {"product": "p.owner", "sre": "s.owner"},
        "evidence_revision": "sha256:0f",
    }


def test_every_organizations_quota_and_where_it_was_read() -> None:
    aurora = healthy()["pools"][0]["organizations"][0]
    assert (aurora["organization"], aurora["hard"], aurora["used"]) == ("aurora", 4, 2)
    assert aurora["add_ons"] == {"gpu-h100-vm": 4}
    assert aurora["quota_objects"]["source"] == "HRQ aurora/plan-quota"
    assert aurora["organization_status"] == {"hard": 4, "used": 2}
    assert aurora["projects"] == {"vision": {"hard": 4, "used": 2}}
    assert aurora["admin_ui"] == "not observed"


def test_nodes_with_their_mode_and_holders_by_owner() -> None:
    pool = healthy()["pools"][0]
    assert pool["nodes"][0]["mode"] == {"active": "vm-passthrough", "expected": "vm-passthrough"}
    assert [item["owner"] for item in pool["holders"]] == [
        "VirtualMachine/inference-1",
        "VirtualMachine/inference-2",
    ]


def test_gates_and_alerts() -> None:
    bundle = bundle_of(lab().alert("KubeDcX", "pending"))
    assert bundle["alerts"]["active"] == [{"name": "KubeDcX", "state": "pending", "since": ""}]
    assert bundle["gates"]["vm"]["copies"]["file"] == "open"
    assert bundle["gates"]["vm"]["closed_for"] == []


def test_it_is_plain_json_without_physical_identifiers() -> None:
    fleet = failing()
    fleet.nodes[f"node-{PCI_ADDRESS}"] = {"metadata": {"name": f"node-{PCI_ADDRESS}"}, "spec": {}}
    text = json.dumps(bundle_of(fleet))
    assert json.loads(text)["format"] == "gpuops.reservations/audit/v1"
    assert DEVICE_UUID not in text
    assert PCI_ADDRESS not in text


def test_an_invalid_ledger_says_that_records_are_unknown() -> None:
    fleet = lab()
    fleet.records["gpu-res-lab-0"]["spec"]["devices"] = "x"
    pool = bundle_of(fleet)["pools"][0]
    assert pool["reservations"] is None
    assert pool["active_reserved"] == "unknown"
    assert pool["healthy"] == 32
