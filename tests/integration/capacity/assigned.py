# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is true once an assignment has ended, whatever happened on the way; orders by survey variables."""

from __future__ import annotations

import json
from typing import Any

from ansible_collections.gpuops.reservations.tests.integration.capacity.capacity_lab import (
    CapacityLab,
    eventually,
)

ORDINARY = {"aurora": 4, "borealis": 2, "cumulus": 0}
"""What each organization has by ordinary add-ons."""
CAPACITY, SPARE = 32, 1


def survey(organization: str, devices: int, **changes: Any) -> dict[str, Any]:
    """An order by survey variables alone."""
    return {
        "organization": organization,
        "profileId": "h100-vm",
        "devices": devices,
        "addonId": "gpu-h100-reserved",
        "requestedAt": "2026-11-01T09:00:00Z",
        "startsAt": "2026-11-02T09:00:00Z",
        "billingReference": "INV-7",
        "supportOwner": "desk@example.com",
        "maintenanceTerms": "standard",
        "approvedByProduct": "p.owner",
        "approvedBySre": "s.owner",
        **changes,
    }


def reserved_of(lab: CapacityLab, organization: str, revision: str = "main") -> int:
    """Devices that an organization's records hold."""
    held = ("pending", "active", "releasing")
    specs = [record["spec"] for record in lab.records(revision)]
    return sum(
        spec["devices"] for spec in specs if spec["organization"] == organization and spec["state"] in held
    )


def require_assigned(lab: CapacityLab, ticket: str, *, gate: str = "false") -> None:
    """Active once, one commit a state, nothing left over, and entitlement exactly what the records say."""
    record = lab.record(ticket)
    assert record is not None
    assert record["spec"]["state"] == "active"
    assert lab.states(ticket) == ["pending", "active"]
    assert record["status"]["activatedAt"].endswith("Z")
    assert record["status"]["evidenceRevision"].startswith("sha256:")
    lock = lab.lock()
    assert lock["pools"] == {}
    assert lock["gate"]["vm"]["closedFor"] == []
    assert lab.gate() == gate
    assert lab.smoke_machines() == []
    organization = record["spec"]["organization"]
    reserved = reserved_of(lab, organization)
    assert lab.add_ons(organization)["gpu-h100-reserved"] == reserved
    assert lab.hard(organization) == str(ORDINARY[organization] + reserved)
    if record["spec"]["project"]:
        namespace = f"{organization}-{record['spec']['project']}"
        eventually("the cap", lambda: lab.cap(namespace) == str(record["spec"]["devices"]), 60)


def require_equation_always(lab: CapacityLab) -> None:
    """At no commit of the fleet's history, and after no write of an entitlement, was the equation false."""
    for commit in lab.history():
        held = sum(reserved_of(lab, name, commit) for name in ORDINARY)
        assert held + sum(ORDINARY.values()) + SPARE <= CAPACITY, f"false at commit {commit}"
    granted = {"aurora": 0, "borealis": 0, "cumulus": 8}
    for event in lab.audit_events():
        if event["verb"] != "patch" or event.get("objectRef", {}).get("resource") != "organizations":
            continue
        quantity = _reserved_quantity(event.get("requestObject") or {})
        if quantity is not None and event["responseStatus"]["code"] == 200:
            granted[event["objectRef"]["name"]] = quantity
            total = sum(granted.values()) + sum(ORDINARY.values()) + SPARE
            assert total <= CAPACITY, f"false after {event['auditID']}"


def _reserved_quantity(body: dict[str, Any]) -> int | None:
    """The reservation add-on's quantity in a written annotation; None where it writes none."""
    text = body.get("metadata", {}).get("annotations", {}).get("billing.kube-dc.com/addons")
    if text is None:
        return None
    entries = json.loads(text)
    ours = [entry for entry in entries if entry["addonId"] == "gpu-h100-reserved"]
    quantities: list[int] = [entry["quantity"] for entry in ours]
    return sum(quantities)
