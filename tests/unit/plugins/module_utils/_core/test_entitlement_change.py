# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""An ordinary add-on grows under the equation and shrinks holder-safely."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.entitlement_change import (
    ChangeJudgement,
    EntitlementChange,
    judge_change,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.invariant import prove_in
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.fleet_builder import (
    Fleet,
    lab,
    select,
)


def judge(
    fleet: Fleet,
    quantity: int,
    organization: str = "borealis",
    add_on: str = "gpu-h100-vm",
    profile_id: str = "h100-vm",
) -> ChangeJudgement:
    world = fleet.world()
    change = EntitlementChange(organization, add_on, quantity)
    return judge_change(prove_in(world, profile_id, select=select), change, world)


def test_growth_that_fits() -> None:
    judgement = judge(lab(), 19)
    assert judgement.allowed
    assert (judgement.before, judgement.delta) == (2, 17)
    assert (judgement.equation.headroom, judgement.projected.headroom) == (17, 0)
    assert judgement.result()["equation_after"]["non_reserved"] == 23


def test_growth_that_does_not_fit() -> None:
    judgement = judge(lab(), 20)
    assert not judgement.allowed
    assert [item.id for item in judgement.findings] == ["change-exceeds-capacity"]
    assert "with the change, pool h100-vm lacks 1 devices" in judgement.findings[0].message


@pytest.mark.parametrize(
    ("bend", "finding_id"),
    [
        (lambda f: f.ready("gpu-01", "False"), "degraded-capacity"),
        (lambda f: f.alert("KubeDcX"), "active-alert"),
        (lambda f: f.freeze(), "pool-frozen"),
        (lambda f: f.hrq("aurora", "0x8"), "status-disagreement"),
    ],
    ids=["node", "alert", "frozen", "another's quota"],
)
def test_growth_needs_the_whole_proof_and_a_pool_that_is_not_frozen(bend: Any, finding_id: str) -> None:
    fleet = lab()
    bend(fleet)
    judgement = judge(fleet, 3)
    assert finding_id in {item.id for item in judgement.findings}
    assert not judgement.allowed
    assert judge(fleet, 1).allowed


def test_what_only_lowers_claims_is_never_refused_for_the_equation() -> None:
    fleet = lab().annotate("aurora", {"gpu-h100-vm": 40}).quota("aurora", 40, 2)
    assert not fleet.prove().allowed
    judgement = judge(fleet, 30, "aurora")
    assert judgement.allowed
    assert (judgement.equation.headroom, judgement.projected.headroom) == (-19, -9)


def test_nothing_in_use_is_taken_away_and_its_owners_are_named() -> None:
    assert judge(lab(), 2, "aurora").allowed
    judgement = judge(lab(), 1, "aurora")
    assert not judgement.allowed
    (finding,) = judgement.findings
    assert finding.id == "release-quota-in-use"
    assert "aurora-vision/VirtualMachine/inference-1" in finding.message
    assert "holders 2" in finding.message


@pytest.mark.parametrize(
    "bend",
    [
        lambda f: f.hrq("borealis", "0x8"),
        lambda f: f.status("borealis", 5),
        lambda f: f.pod("stray", "p"),
        lambda f: f.annotate("borealis", ""),
        lambda f: f.records["gpu-res-lab-0"]["spec"].update(devices=0),
        lambda f: f.records.clear(),
    ],
    ids=["quota", "disagreement", "stray holder", "annotation", "invalid ledger", "missing record"],
)
def test_doubt_about_use_quota_or_ledger_refuses_a_reduction(bend: Any) -> None:
    fleet = lab().annotate("borealis", {"gpu-h100-vm": 4}).quota("borealis", 4)
    bend(fleet)
    judgement = judge(fleet, 1)
    assert judgement.findings
    assert not judgement.allowed


def test_a_terminating_launcher_still_holds() -> None:
    fleet = lab().machine("borealis-ml", "train").quota("borealis", 2, 0)
    fleet.pods[-1]["metadata"] |= {
        "deletionTimestamp": "2026-11-10T11:00:00Z",
        "deletionGracePeriodSeconds": 30,
    }
    assert not judge(fleet, 0).allowed


@pytest.mark.parametrize(
    ("add_on", "finding_id"),
    [("gpu-h100-reserved", "add-on-unfit"), ("gpu-b200", "unknown-add-on")],
)
def test_only_ordinary_add_ons_of_the_catalogue(add_on: str, finding_id: str) -> None:
    judgement = judge(lab(), 1, add_on=add_on)
    assert finding_id in {item.id for item in judgement.findings}
    assert not judgement.allowed


def test_a_disabled_add_on_cannot_grow() -> None:
    fleet = lab()
    fleet.plans["addons"]["gpu-h100-vm"]["disabled"] = True
    assert not judge(fleet, 5).allowed


def test_an_organization_that_is_not_there() -> None:
    judgement = judge(lab(), 1, "ghost")
    assert [item.id for item in judgement.findings] == ["order-organization"]
    assert not judgement.allowed


def test_the_first_sale_asks_for_the_spare() -> None:
    fleet = lab()
    fleet.plans["addons"]["gpu-v100-vm"] = {"gpu": {"v100-vm": {"devices": 1}}}
    judgement = judge(fleet, 1, add_on="gpu-v100-vm", profile_id="v100-vm")
    assert judgement.equation.spare == 0
    assert (judgement.projected.spare, judgement.projected.headroom) == (1, -2)
    assert not judgement.allowed


def test_a_pool_that_the_add_on_does_not_touch_is_not_changed() -> None:
    judgement = judge(lab(), 5, profile_id="v100-vm")
    assert judgement.delta == 0
    assert judgement.allowed
    assert judgement.projected == judgement.equation
