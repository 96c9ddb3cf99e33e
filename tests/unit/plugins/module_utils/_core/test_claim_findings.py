# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Everything about claims that stops a proof, row by row, and that nothing else is found."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.fleet_builder import (
    FRESH,
    KEY,
    Fleet,
    lab,
    record,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.proof_table import (
    Case,
    examine,
    table,
)

AURORA, BOREALIS, CUMULUS = "organization/aurora", "organization/borealis", "organization/cumulus"


def disagreement(where: str) -> list[tuple[str, str]]:
    return [("status-disagreement", where)]


def both(*bends: Any) -> Any:
    def bend(fleet: Fleet) -> None:
        for one in bends:
            one(fleet)

    return bend


def hard(text: str) -> Any:
    return lambda fleet: fleet.hrq("borealis", text)


def listed(quantity: str) -> Any:
    return lambda fleet: fleet.annotate("borealis", f'[{{"addonId": "gpu-h100-vm", "quantity": {quantity}}}]')


def without_hrq(fleet: Fleet) -> None:
    del fleet.hrqs["borealis"]


def without_key(fleet: Fleet) -> None:
    del fleet.hrqs["borealis"]["spec"]["hard"][KEY]


def project_quotas(least: Any = 2, *more: Any) -> Any:
    def bend(fleet: Fleet) -> None:
        without_hrq(fleet)
        for number, value in enumerate((least, *more)):
            fleet.resource_quota("borealis-ml", f"quota-{number}", value)

    return bend


def second_project(limit: Any = None) -> Any:
    def bend(fleet: Fleet) -> None:
        status = {"ready": True, "namespace": "borealis-two"}
        fleet.projects["borealis", "two"] = {
            "metadata": {"name": "two", "namespace": "borealis"},
            "status": status,
        }
        if limit is not None:
            fleet.resource_quota("borealis-two", "quota", limit)

    return bend


def no_projects(fleet: Fleet) -> None:
    without_hrq(fleet)
    del fleet.projects["borealis", "ml"]
    fleet.annotate("borealis", {}).status("borealis", 0)


def blank_organization(fleet: Fleet) -> None:
    fleet.organizations["dorado"] = {
        "metadata": {"name": "dorado", "namespace": "dorado"},
        "status": {"ready": False},
    }


def accelerators(name: str, value: Any) -> Any:
    def bend(fleet: Fleet) -> None:
        fleet.organizations[name]["status"]["quotaUsage"]["accelerators"]["h100-vm"] = value

    return bend


def no_entry(name: str) -> Any:
    def bend(fleet: Fleet) -> None:
        del fleet.organizations[name]["status"]["quotaUsage"]["accelerators"]["h100-vm"]

    return bend


def updated(text: str) -> Any:
    def bend(fleet: Fleet) -> None:
        fleet.organizations["borealis"]["status"]["quotaUsage"]["lastUpdated"] = text

    return bend


def in_force(limit: str) -> Any:
    def bend(fleet: Fleet) -> None:
        fleet.hrqs["borealis"]["status"]["hard"] = {KEY: limit}

    return bend


def hrq_used(value: str | None) -> Any:
    def bend(fleet: Fleet) -> None:
        if value is None:
            del fleet.hrqs["aurora"]["status"]["used"][KEY]
        else:
            fleet.hrqs["aurora"]["status"]["used"][KEY] = value

    return bend


@table(
    Case("every project has the key", project_quotas(), healthy=32),
    Case("the least of several", project_quotas(5, 2)),
    Case(
        "sum over projects",
        both(project_quotas(1), second_project(1)),
    ),
    Case("no projects is zero", no_projects, headroom=19),
    Case("an organization with nothing at all", blank_organization),
    Case("a number in a quota", lambda f: f.resource_quota("aurora-vision", "number", 4)),
    Case("not ready, and not the order's", lambda f: f.organizations["aurora"]["status"].update(ready=False)),
    Case(
        "quantity zero is nothing", lambda f: f.annotate("aurora", {"gpu-h100-vm": 4, "gpu-h100-reserved": 0})
    ),
    Case("status a minute ahead", updated("2026-11-10T12:01:00Z")),
    Case("status at the limit", updated("2026-11-10T11:50:00Z")),
    Case("past due is in good standing", lambda f: f.subscription("aurora", "past_due")),
    Case(
        "a shared add-on beside", lambda f: f.annotate("aurora", {"gpu-h100-vm": 4, "gpu-v100-shared-8g": 1})
    ),
)
def test_what_is_fine(case: Case) -> None:
    examine(case)


@table(
    Case(
        "HRQ missing",
        without_hrq,
        [("hard-quota-above-equation", BOREALIS)],
        ("borealis", "no HRQ in borealis", "borealis-ml"),
        headroom=None,
    ),
    Case("key missing", without_key, [("hard-quota-above-equation", BOREALIS)], (KEY,), headroom=None),
    Case(
        "key missing in one of two projects",
        both(project_quotas(2), second_project()),
        [("hard-quota-above-equation", BOREALIS)],
        ("borealis-two",),
        headroom=None,
    ),
    Case(
        "a project without a namespace yet",
        both(project_quotas(2), second_project(), lambda f: f.projects["borealis", "two"]["status"].clear()),
        [("hard-quota-above-equation", BOREALIS)],
        ("no namespace yet",),
        headroom=None,
    ),
)
def test_no_limit_is_named_and_leaves_no_headroom(case: Case) -> None:
    proof = examine(case)
    assert proof.equation.result()["non_reserved"] == "unlimited"
    [remedy] = proof.remedies
    assert [part.organization for part in remedy.reductions] == ["borealis"]


@table(
    *(
        Case(
            f"hard {text!r}",
            hard(text),
            disagreement(BOREALIS),
            ("spec.hard",),
            headroom=None,
            unknown=True,
        )
        for text in ("0x8", "", "1.5", "-1", "two", "1e")
    ),
    Case(
        "hard as a fraction in JSON",
        lambda f: f.hrq("borealis", 2.0),
        disagreement(BOREALIS),
        headroom=None,
        unknown=True,
    ),
    Case(
        "project quota unreadable", project_quotas("0x2"), disagreement(BOREALIS), headroom=None, unknown=True
    ),
    Case(
        "annotation empty",
        lambda f: f.annotate("borealis", ""),
        disagreement(BOREALIS),
        ("annotation",),
        headroom=None,
        unknown=True,
    ),
    Case(
        "annotation no JSON",
        lambda f: f.annotate("borealis", "[{"),
        disagreement(BOREALIS),
        headroom=None,
        unknown=True,
    ),
    Case(
        "annotation no list",
        lambda f: f.annotate("borealis", "{}"),
        disagreement(BOREALIS),
        headroom=None,
        unknown=True,
    ),
    *(
        Case(
            f"quantity {quantity}",
            listed(quantity),
            disagreement(BOREALIS),
            ("annotation billing.kube-dc.com/addons",),
            headroom=None,
            unknown=True,
        )
        for quantity in ('"2"', "2.0", "2.5", "-2", "true", "null", "NaN")
    ),
    Case(
        "an id twice",
        lambda f: f.annotate("borealis", json.dumps([{"addonId": "gpu-h100-vm", "quantity": 1}] * 2)),
        disagreement(BOREALIS),
        ("twice",),
        headroom=None,
        unknown=True,
    ),
    Case(
        "an unknown standing",
        lambda f: f.subscription("borealis", "paused"),
        disagreement(BOREALIS),
        ("paused",),
        unknown=True,
    ),
    Case(
        "status as a number",
        accelerators("borealis", {"devices": {"hard": 2, "used": "0"}}),
        disagreement(BOREALIS),
        ("hard is no text",),
        unknown=True,
    ),
    Case(
        "status no quantity",
        accelerators("borealis", {"devices": {"hard": "0x2", "used": "0"}}),
        disagreement(BOREALIS),
        unknown=True,
    ),
)
def test_what_cannot_be_read_is_unknown_and_leaves_no_headroom(case: Case) -> None:
    examine(case)


@table(
    Case(
        "stale", updated("2026-11-10T11:49:59Z"), [("stale-capacity", BOREALIS)], ("601 s old", "limit 600 s")
    ),
    Case("too far ahead", updated("2026-11-10T12:01:01Z"), [("stale-capacity", BOREALIS)]),
    Case("never", updated(""), [("stale-capacity", BOREALIS)], ("absent",)),
    Case(
        "an add-on that the catalogue lacks",
        lambda f: f.annotate("borealis", {"gpu-h100-vm": 2, "gpu-b200": 1}),
        [("unknown-add-on", BOREALIS)],
        ("gpu-b200", "billing-plans"),
        headroom=None,
    ),
    Case(
        "no entry while quota says zero",
        both(
            lambda f: f.hrq("cumulus", 0).annotate("cumulus", {}),
            lambda f: f.records.clear(),
            no_entry("cumulus"),
        ),
        disagreement(CUMULUS),
        ("has no entry",),
        headroom=25,
    ),
    Case(
        "status.hard differs from spec.hard",
        in_force("1"),
        disagreement(BOREALIS),
        ("status.hard is 1", "odd one out: HRQ"),
    ),
    Case(
        "used differs",
        hrq_used("1"),
        disagreement(AURORA),
        ("used devices differ", "Pods: 2", "HRQ: 1", "Organization: 2", "odd one out: HRQ"),
    ),
    Case("used not reported", hrq_used(None), disagreement(AURORA), ("HRQ: absent",)),
    Case(
        "used above hard",
        lambda f: f.quota("aurora", 1, 2).annotate("aurora", {"gpu-h100-vm": 1}),
        disagreement(AURORA),
        ("more is used than hard quota 1",),
        headroom=20,
    ),
    Case(
        "a Pod that quota has not counted yet",
        lambda f: f.pod("borealis-ml", "new", node=""),
        disagreement(BOREALIS),
        ("Pods: 1", "odd one out: Pods"),
    ),
    Case(
        "the organization of a record is gone",
        lambda f: f.keep(record("lab-8", "ghost", 2)),
        disagreement("record/gpu-res-lab-8"),
        ("ghost", "counts in full"),
        headroom=15,
    ),
    Case(
        "more granted than recorded",
        lambda f: f.quota("cumulus", 9).annotate("cumulus", {"gpu-h100-reserved": 9}),
        [("missing-ledger-record", CUMULUS)],
        ("9 devices", "cover 8"),
        headroom=16,
    ),
    Case(
        "granted without any record",
        lambda f: f.records.clear(),
        [("missing-ledger-record", CUMULUS)],
        ("cover 0",),
        headroom=17,
    ),
    Case(
        "less granted than recorded",
        lambda f: f.quota("cumulus", 7).annotate("cumulus", {"gpu-h100-reserved": 7}),
        disagreement(CUMULUS),
        ("gpu-h100-reserved grants 7 devices, right is 8", "odd one out: annotation"),
    ),
    Case(
        "granted while its record is only pending, and nobody holds the lock",
        both(
            lambda f: f.keep(record("lab-1", "borealis", 8, "pending")),
            lambda f: f.annotate("borealis", {"gpu-h100-vm": 2, "gpu-h100-reserved": 8}).quota(
                "borealis", 10
            ),
        ),
        disagreement(BOREALIS),
        ("grants 8 devices, right is 0",),
        headroom=9,
    ),
)
def test_what_stops(case: Case) -> None:
    examine(case)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"selfService": True}, "selfService is true"),
        ({"selfService": None}, "selfService is absent"),
        ({"cpu": "8"}, "also grants cpu"),
        ({"memory": 1}, "also grants memory"),
        ({"storage": "1Ti"}, "also grants storage"),
        ({"disabled": True}, "is disabled"),
        ({"gpu": {"h100-vm": {"devices": 1}, "v100-vm": {"devices": 1}}}, "several profiles"),
        ({"gpu": {"h100-vm": {"devices": 1, "shares": 1}}}, "grants shares, memory or compute"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_add_on_in_use_that_no_longer_qualifies(change: dict[str, Any], says: str) -> None:
    fleet = lab()
    fleet.plans["addons"]["gpu-h100-reserved"] |= change
    proof = fleet.prove()
    assert [(item.id, item.object, item.odd) for item in proof.stops] == [
        ("status-disagreement", "add-on/gpu-h100-reserved", "catalogue")
    ]
    assert says in proof.stops[0].message
    assert proof.equation.headroom == 17, "existing claims count as before"


def test_an_add_on_that_no_longer_qualifies_is_nobodys_business_without_a_live_record() -> None:
    fleet = lab()
    fleet.plans["addons"]["gpu-v100-reserved"]["selfService"] = True
    assert fleet.prove().allowed
    assert fleet.prove("v100-vm").allowed


def test_a_disabled_reservation_add_on_whose_quota_has_gone_is_one_finding() -> None:
    fleet = lab().quota("cumulus", 0)
    fleet.plans["addons"]["gpu-h100-reserved"]["disabled"] = True
    assert [item.object for item in fleet.prove().stops] == ["add-on/gpu-h100-reserved"]


@table(
    Case(
        "quota lower, flagged",
        both(lambda f: f.subscription("aurora", "suspended").quota("aurora", 0, 0), lambda f: f.pods.clear()),
        remarks=[("subscription-suspended", AURORA)],
        says=("suspended",),
    ),
    Case(
        "canceled, quota not lower yet",
        lambda f: f.subscription("borealis", "canceled"),
        remarks=[("subscription-suspended", BOREALIS)],
    ),
    Case(
        "quota higher than sold",
        lambda f: f.subscription("borealis", "suspended").quota("borealis", 3),
        disagreement(BOREALIS),
        remarks=[("subscription-suspended", BOREALIS)],
        headroom=16,
    ),
)
def test_a_suspended_subscription_counts_as_sold(case: Case) -> None:
    examine(case)


@pytest.mark.parametrize("problem", ["missing", "no YAML", "a key twice", "no mapping"])
def test_an_unreadable_catalogue_is_one_finding_not_one_for_each_organization(problem: str) -> None:
    fleet = lab()
    texts = {"no YAML": "addons: [", "a key twice": "addons: {}\naddons: {}\n", "no mapping": "[]"}
    fleet.without_plans = problem == "missing"
    fleet.plans_text = texts.get(problem)
    proof = fleet.prove()
    assert [(item.id, item.object) for item in proof.stops] == [
        ("status-disagreement", "configmap/kube-dc/billing-plans")
    ]
    assert proof.equation.headroom is None
    assert proof.equation.healthy == 32
    assert proof.equation.active == 8


@pytest.mark.parametrize(
    "entry",
    [
        {"gpu": {"h100-vm": {"devices": "1"}}},
        {"gpu": {"h100-vm": {"devices": 1.5}}},
        {"gpu": {"h100-vm": 1}},
        {"gpu": ["h100-vm"]},
        {"disabled": "no"},
        "gpu",
    ],
    ids=str,
)
def test_a_catalogue_entry_that_cannot_be_read_stops_who_uses_it(entry: Any) -> None:
    fleet = lab()
    fleet.plans["addons"]["gpu-h100-vm"] = entry
    proof = fleet.prove()
    assert [(item.id, item.object) for item in proof.stops] == [
        ("status-disagreement", AURORA),
        ("status-disagreement", BOREALIS),
    ]
    assert proof.equation.headroom is None


def test_a_plan_that_grants_devices_counts_as_ordinary() -> None:
    fleet = lab()
    fleet.plans["plans"]["gpu-plan"] = {"gpu": {"h100-vm": {"devices": 3}}}
    fleet.organization("dorado", {"gpu-h100-vm": 1}, plan="gpu-plan").quota("dorado", 4)
    proof = fleet.prove()
    assert proof.allowed
    assert proof.equation.non_reserved == 10


def test_a_plan_that_the_catalogue_lacks_stops() -> None:
    fleet = lab()
    fleet.organization("dorado", {}, plan="gone").quota("dorado", 0)
    proof = fleet.prove()
    assert [(item.id, item.object, item.odd) for item in proof.stops] == [
        ("status-disagreement", "organization/dorado", "catalogue")
    ]
    assert "plan gone" in proof.stops[0].message


def test_an_organization_that_lies_elsewhere_cannot_be_attributed() -> None:
    fleet = lab()
    fleet.organizations["aurora"]["metadata"]["namespace"] = "elsewhere"
    assert [item.id for item in fleet.prove().stops] == ["status-disagreement"]


def test_a_namespace_that_two_projects_claim_is_nobodys() -> None:
    fleet = lab()
    fleet.projects["borealis", "ml"]["status"]["namespace"] = "aurora-vision"
    found = {(item.id, item.object) for item in fleet.prove().stops}
    assert ("unattributed-holder", "holder/aurora-vision/VirtualMachine/inference-1") in found
    assert ("status-disagreement", "organization/(ambiguous)") in found


def test_the_report_shows_the_limit_that_was_used() -> None:
    fleet = lab()
    assert fleet.policy is not None
    fleet.policy["spec"]["staleness"] |= {"quotaStatusSeconds": 1200, "nodeLeaseSeconds": 90}
    fleet.organizations["borealis"]["status"]["quotaUsage"]["lastUpdated"] = "2026-11-10T11:41:00Z"
    proof = fleet.prove()
    assert proof.allowed
    assert proof.limits["quotaStatusSeconds"] == 1200
    assert proof.limits["nodeLeaseSeconds"] == 90
    assert FRESH
