# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who is the odd one out, and what is only on its way for the ticket that holds the lock."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.fleet_builder import (
    KEY,
    Fleet,
    lab,
    record,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.proof_table import named

MIXED = {"gpu-h100-vm": 2, "gpu-h100-reserved": 8}


def reserved(annotation: int, hrq: int, organization: int) -> Fleet:
    """cumulus, whose record holds eight devices."""
    fleet = lab().annotate("cumulus", {"gpu-h100-reserved": annotation})
    return fleet.hrq("cumulus", hrq).status("cumulus", organization)


@pytest.mark.parametrize(
    ("annotation", "hrq", "organization", "odd"),
    [
        (7, 8, 8, "annotation"),
        (7, 7, 7, "annotation"),
        (8, 7, 8, "HRQ"),
        (8, 7, 7, "HRQ"),
        (8, 9, 9, "HRQ"),
        (8, 8, 7, "Organization"),
        (6, 7, 7, "annotation"),
    ],
)
def test_the_odd_one_out_of_a_reservation(annotation: int, hrq: int, organization: int, odd: str) -> None:
    (finding,) = reserved(annotation, hrq, organization).prove().stops
    assert (finding.id, finding.odd) == ("status-disagreement", odd)
    assert finding.values["HRQ"] == str(hrq)
    assert finding.values["Organization"] == str(organization)
    assert finding.values["records"] == "8 reserved"
    assert f"{annotation} x gpu-h100-reserved" in finding.values["annotation"]
    assert all(value in finding.message for value in finding.values.values())
    assert f"odd one out: {odd}" in finding.message


@pytest.mark.parametrize(
    ("annotation", "hrq", "organization", "odd"),
    [
        (5, 4, 4, "annotation"),
        (4, 5, 4, "HRQ"),
        (4, 4, 5, "Organization"),
        (4, 5, 6, "HRQ"),
    ],
)
def test_the_odd_one_out_of_ordinary_entitlement(
    annotation: int, hrq: int, organization: int, odd: str
) -> None:
    fleet = lab().annotate("aurora", {"gpu-h100-vm": annotation})
    fleet.hrq("aurora", hrq, 2).status("aurora", organization, 2)
    (finding,) = fleet.prove().stops
    assert (finding.id, finding.odd) == ("status-disagreement", odd)


def test_the_catalogue_is_the_odd_one_out_where_it_alone_changed() -> None:
    fleet = lab()
    fleet.plans["addons"]["gpu-h100-vm"]["gpu"]["h100-vm"]["devices"] = 2
    findings = fleet.prove().stops
    assert [(item.object, item.odd) for item in findings] == [
        ("organization/aurora", "catalogue"),
        ("organization/borealis", "catalogue"),
    ]


def test_a_missing_record_and_a_quota_that_differs_are_two_findings() -> None:
    fleet = reserved(10, 8, 8)
    found = named(fleet.prove().findings, stops=True)
    assert found == [
        ("missing-ledger-record", "organization/cumulus"),
        ("status-disagreement", "organization/cumulus"),
    ]


def assigning(
    *, annotation: bool, hrq: int = 2, organization: int = 2, state: str = "pending", lock: str = "lab-1"
) -> Fleet:
    """borealis between two phases of LAB-1."""
    fleet = lab().keep(record("lab-1", "borealis", 8, state, project="ml"))
    if lock:
        fleet.held_by(lock)
    fleet.annotate("borealis", MIXED if annotation else {"gpu-h100-vm": 2})
    return fleet.hrq("borealis", hrq).status("borealis", organization)


MOMENTS = [
    pytest.param(assigning(annotation=False), False, id="recorded, annotation lags the record"),
    pytest.param(assigning(annotation=True), True, id="annotation written, quota lags it"),
    pytest.param(assigning(annotation=True, hrq=6), True, id="quota between before and after"),
    pytest.param(assigning(annotation=True, hrq=10), True, id="quota followed, Organization lags"),
    pytest.param(assigning(annotation=True, hrq=10, organization=7), True, id="Organization between"),
    pytest.param(assigning(annotation=True, hrq=10, organization=10), False, id="all followed"),
    pytest.param(assigning(annotation=False, hrq=10, organization=10), True, id="canceling, quota lags"),
    pytest.param(assigning(annotation=False, hrq=2, organization=10), True, id="canceling, status lags"),
    pytest.param(
        assigning(annotation=True, hrq=10, organization=10, state="active"),
        False,
        id="active, lock still held",
    ),
    pytest.param(
        assigning(annotation=True, hrq=10, organization=10, state="releasing"),
        False,
        id="releasing, nothing reduced",
    ),
    pytest.param(
        assigning(annotation=False, hrq=10, organization=10, state="releasing"),
        True,
        id="reduced, quota lags",
    ),
    pytest.param(
        assigning(annotation=False, hrq=2, organization=10, state="releasing"),
        True,
        id="reduced, status lags",
    ),
    pytest.param(assigning(annotation=False, state="releasing"), False, id="reduced, all followed"),
]


@pytest.mark.parametrize(("fleet", "converging"), MOMENTS)
def test_the_equation_is_right_at_every_moment_of_a_change(fleet: Fleet, converging: bool) -> None:
    proof = fleet.prove()
    expected = [("entitlement-converging", "organization/borealis")] if converging else []
    assert named(proof.findings, stops=True) == expected
    assert proof.only_converging is converging
    equation = proof.equation
    assert (equation.reserved, equation.non_reserved, equation.headroom) == (16, 6, 9)
    terms = {item.organization: item.claim for item in proof.organizations}
    assert terms == {"aurora": 4, "borealis": 10, "cumulus": 8}
    assert all(finding.severity == "warning" for finding in proof.findings)


@pytest.mark.parametrize(("fleet", "converging"), MOMENTS)
def test_a_plan_grant_beside_ordinary_and_reserved_changes_nothing(fleet: Fleet, converging: bool) -> None:
    fleet = fleet.copy()
    fleet.plans["plans"]["gpu-plan"] = {"gpu": {"h100-vm": {"devices": 3}}}
    fleet.organizations["borealis"]["metadata"]["annotations"]["billing.kube-dc.com/plan-id"] = "gpu-plan"
    for holder in (
        fleet.hrqs["borealis"]["spec"]["hard"],
        fleet.organizations["borealis"]["status"]["quotaUsage"]["accelerators"]["h100-vm"]["devices"],
    ):
        key = KEY if KEY in holder else "hard"
        holder[key] = str(int(holder[key]) + 3)
    proof = fleet.prove()
    assert proof.only_converging is converging
    assert (proof.equation.reserved, proof.equation.non_reserved, proof.equation.headroom) == (16, 9, 6)


@pytest.mark.parametrize(
    ("fleet", "says"),
    [
        (assigning(annotation=True, hrq=11), "hard quota is 11"),
        (assigning(annotation=True, hrq=1), "hard quota is 1"),
        (assigning(annotation=True, lock=""), "right is 0"),
        (assigning(annotation=True, lock="lab-7"), "right is 0"),
        (assigning(annotation=False, state="active"), "right is 8"),
        (assigning(annotation=False, hrq=10, organization=10, state="active"), "right is 8"),
        (assigning(annotation=True, hrq=2, state="active"), "hard quota is 2"),
    ],
    ids=[
        "quota above after",
        "quota below before",
        "nobody holds the lock",
        "another ticket holds the lock",
        "an active record needs its grant",
        "an active record needs its grant, quota still there",
        "an active record's quota is not on its way",
    ],
)
def test_what_is_not_on_its_way(fleet: Fleet, says: str) -> None:
    proof = fleet.prove()
    (finding,) = proof.stops
    assert (finding.id, finding.object) == ("status-disagreement", "organization/borealis")
    assert says in finding.message


@pytest.mark.parametrize(("state", "right"), [("pending", "0 or 8"), ("releasing", "0 or 8")])
def test_a_partly_granted_quantity_of_the_locks_ticket_names_both_right_values(
    state: str, right: str
) -> None:
    fleet = assigning(annotation=True, hrq=7, organization=7, state=state)
    fleet.annotate("borealis", {"gpu-h100-vm": 2, "gpu-h100-reserved": 5})
    (finding,) = fleet.prove().stops
    assert finding.id == "status-disagreement"
    assert f"grants 5 devices, right is {right}" in finding.message


def test_two_records_of_one_organization_and_only_one_on_its_way() -> None:
    fleet = lab().keep(record("lab-1", "cumulus", 4, "pending")).held_by("lab-1")
    assert fleet.prove().allowed
    fleet.annotate("cumulus", {"gpu-h100-reserved": 12})
    assert fleet.prove().only_converging
    fleet.quota("cumulus", 12)
    proof = fleet.prove()
    assert proof.allowed
    assert proof.equation.headroom == 13


def test_converging_is_no_excuse_for_another_organization() -> None:
    fleet = assigning(annotation=True)
    fleet.hrq("aurora", 5, 2)
    assert named(fleet.prove().findings, stops=True) == [
        ("entitlement-converging", "organization/borealis"),
        ("status-disagreement", "organization/aurora"),
    ]


def test_a_lock_of_another_pool_excuses_nothing() -> None:
    fleet = assigning(annotation=True, lock="")
    fleet.held_by("lab-1", "v100-vm")
    assert [item.id for item in fleet.prove().stops] == ["status-disagreement"]


def entitled(fleet: Fleet, ticket: str = "lab-1") -> Any:
    return [item.id for item in fleet.prove(purpose="entitled", ticket=ticket).stops]


def test_entitled_wants_the_tickets_grant_in_force() -> None:
    assert entitled(assigning(annotation=False)) == ["entitlement-converging"]
    assert entitled(assigning(annotation=True)) == ["entitlement-converging"]
    assert entitled(assigning(annotation=True, hrq=10, organization=10)) == []
    assert entitled(lab()) == ["entitlement-converging"]
