# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each drift gives its finding and fails the audit; a run at any of its phases gives none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.audit import AuditReport, audit
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.fleet_builder import (
    H100,
    NOW,
    SANDBOX,
    Fleet,
    gates,
    lab,
    record,
    select,
)

NOTE = ("note", "node-in-shared-mode", "node/acc-01")
"""The untouched fixture's sequential pool, which is not in service."""

VM, SHARED = "GPU_VM_CREATION_ENABLED", "GPU_SHARED_CREATION_ENABLED"


def run(fleet: Fleet, **more: Any) -> AuditReport:
    return audit(fleet.snapshot(), fleet.reading(), select=select, **more)


def found(report: AuditReport) -> list[tuple[str, str, str]]:
    rows = [(item.severity, item.id, item.object) for item in report.findings]
    return [row for row in rows if row != NOTE]


def test_the_untouched_fixture_passes() -> None:
    report = run(lab())
    assert report.passed
    assert [(item.severity, item.id, item.object) for item in report.findings] == [NOTE]
    assert sorted(report.proofs) == ["h100-vm", "v100-vm"]


DRIFTS: dict[str, tuple[Any, list[tuple[str, str, str]]]] = {
    "missing-ledger-record": (
        lambda f: f.records.clear(),
        [("error", "missing-ledger-record", "organization/cumulus")],
    ),
    "unknown-add-on": (
        lambda f: f.annotate("aurora", {"gpu-h100-vm": 4, "gpu-b200": 1}),
        [("error", "unknown-add-on", "organization/aurora")],
    ),
    "stale-capacity of a node": (
        lambda f: f.leases.update({"gpu-01": "2026-11-10T11:00:00Z"}),
        [("error", "stale-capacity", "node/gpu-01")],
    ),
    "stale-capacity of a status": (
        lambda f: f.organizations["aurora"]["status"]["quotaUsage"].update(
            lastUpdated="2026-11-10T11:00:00Z"
        ),
        [("error", "stale-capacity", "organization/aurora")],
    ),
    "degraded-capacity, gone": (
        lambda f: f.nodes.pop("gpu-02"),
        [("error", "degraded-capacity", "node/gpu-02")],
    ),
    "degraded and stale, unknown": (
        lambda f: f.ready("gpu-02", "Unknown"),
        [("error", "degraded-capacity", "node/gpu-02"), ("error", "stale-capacity", "node/gpu-02")],
    ),
    "degraded-capacity, a device": (
        lambda f: f.devices("gpu-02", "7"),
        [("error", "degraded-capacity", "node/gpu-02")],
    ),
    "hard-quota-above-equation": (
        lambda f: f.annotate("aurora", {"gpu-h100-vm": 22}).quota("aurora", 22, 2),
        [("error", "hard-quota-above-equation", "pool/h100-vm")],
    ),
    "hard-quota-above-equation, unlimited": (
        lambda f: f.hrqs.pop("borealis"),
        [
            ("error", "hard-quota-above-equation", "organization/borealis"),
            ("error", "hard-quota-above-equation", "organization/borealis"),
        ],
    ),
    "duplicate-reservation-id alone": (
        lambda f: f.extra_files.update(
            {"gpu-reservations/east/records/gpu-res-lab-0.yaml": "metadata:\n  id: gpu-res-lab-0\n"}
        ),
        [("error", "duplicate-reservation-id", "file/gpu-reservations/lab/records/gpu-res-lab-0.yaml")],
    ),
    "ledger-invalid, a record": (
        lambda f: f.records["gpu-res-lab-0"]["spec"].update(devices=0),
        [("error", "ledger-invalid", "file/gpu-reservations/lab/records/gpu-res-lab-0.yaml")],
    ),
    "ledger-invalid, the policy": (
        lambda f: f.policy["spec"].update(x=1),
        [("error", "ledger-invalid", "file/gpu-reservations/lab/policy.yaml")],
    ),
    "ledger-invalid, the lock": (
        lambda f: setattr(f, "lock", {"pools": 1}),
        [("error", "ledger-invalid", "file/gpu-lock/lab:lock.yaml")],
    ),
    "profile-mode-mismatch, labels": (
        lambda f: f.label("gpu-03", "kube-dc.com/gpu.workload-mode", "pod-hami"),
        [("error", "profile-mode-mismatch", "node/gpu-03")],
    ),
    "profile-mode-mismatch, catalogue": (
        lambda f: f.profiles[0].update(enabled=False),
        [("error", "profile-mode-mismatch", "profile/h100-vm")],
    ),
    "a profile that nobody holds is a warning": (
        lambda f: f.profiles[1].update(enabled=False),
        [("warning", "profile-unfit", "profile/v100-vm")],
    ),
    "plugin-conflict": (
        lambda f: f.plugin("gpu-04", SANDBOX, "hami-device-plugin"),
        [("error", "plugin-conflict", "node/gpu-04")],
    ),
    "active-alert": (lambda f: f.alert("KubeDcX"), [("error", "active-alert", "alert/KubeDcX")]),
    "active-alert, unreadable": (
        lambda f: f.alerts.update(readable=False),
        [("error", "active-alert", "alerts")],
    ),
    "rules twice": (
        lambda f: f.alerts.update(rules={"KubeDcX": 2}),
        [("warning", "alert-rules-loaded-twice", "alerts")],
    ),
    "status-disagreement": (
        lambda f: f.status("aurora", 5, 2),
        [("error", "status-disagreement", "organization/aurora")],
    ),
    "unreadable entitlement": (
        lambda f: f.hrq("borealis", "0x8"),
        [("error", "status-disagreement", "organization/borealis")],
    ),
    "unattributed-holder": (
        lambda f: f.pod("stray", "p"),
        [("error", "unattributed-holder", "holder/stray/Pod/p")],
    ),
    "undeclared-node": (
        lambda f: f.node("gpu-09", resources={H100: "8"}),
        [("warning", "undeclared-node", "node/gpu-09")],
    ),
    "a pool that only a record names": (
        lambda f: f.keep(record("lab-9", "aurora", 1, "pending", profile_id="b200-vm")),
        [("error", "pool-not-approved", "pool/b200-vm")],
    ),
    "wrong cluster": (lambda f: setattr(f, "uid", "x"), [("error", "cluster-mismatch", "cluster/lab")]),
    "cordoned": (
        lambda f: f.nodes["gpu-01"]["spec"].update(unschedulable=True),
        [("warning", "node-cordoned", "node/gpu-01")],
    ),
    "suspended": (
        lambda f: f.subscription("borealis", "suspended"),
        [("warning", "subscription-suspended", "organization/borealis")],
    ),
}


@pytest.mark.parametrize("name", DRIFTS)
def test_each_drift_gives_its_finding_and_nothing_else(name: str) -> None:
    bend, expected = DRIFTS[name]
    fleet = lab()
    bend(fleet)
    report = run(fleet)
    distinct = sorted(set(found(report)))
    assert distinct == sorted(set(expected))
    assert report.passed is all(severity != "error" for severity, _id, _object in expected)
    for finding in report.findings:
        assert finding.message
        assert finding.next_action
        assert finding.expected
        assert finding.observed


SINGLE = sorted(name for name in DRIFTS if "ledger" not in name and "record" not in name)


@pytest.mark.parametrize(
    ("first", "second"), list(zip(SINGLE, SINGLE[3:] + SINGLE[:3], strict=True)), ids=lambda name: name
)
def test_two_drifts_give_two_findings(first: str, second: str) -> None:
    fleet = lab()
    DRIFTS[first][0](fleet)
    DRIFTS[second][0](fleet)
    assert {*DRIFTS[first][1], *DRIFTS[second][1]} <= set(found(run(fleet)))


def test_a_shared_fact_is_one_finding_of_no_pool() -> None:
    report = run(lab().alert("KubeDcX"))
    (finding,) = report.errors
    assert finding.profile == ""
    assert report.failing_pools == ("h100-vm", "v100-vm")


def test_a_pools_own_fact_names_it() -> None:
    report = run(lab().devices("gpu-02", "7"))
    assert [item.profile for item in report.errors] == ["h100-vm"]
    assert report.failing_pools == ("h100-vm",)


def test_one_pool_alone() -> None:
    fleet = lab().devices("gpu-02", "7")
    assert run(fleet, pools=["v100-vm"]).passed
    assert not run(fleet, pools=["h100-vm"]).passed


def test_when_the_ledger_cannot_be_read_what_rests_on_it_is_not_found() -> None:
    fleet = lab().annotate("cumulus", {"gpu-h100-reserved": 9}).ready("gpu-01", "False")
    fleet.records["gpu-res-lab-0"]["spec"]["devices"] = "x"
    ids = {finding_id for _severity, finding_id, _object in found(run(fleet))}
    assert ids == {"ledger-invalid", "degraded-capacity"}


# ---- gates


def gate(**values: str) -> Any:
    """Copies of the VM gate; file and ConfigMap follow each other in the builder."""

    def bend(fleet: Fleet) -> None:
        if "file" in values:
            fleet.gates[VM] = values["file"]
        for place in ("helmrelease", "deployment"):
            if place in values:
                fleet.gate_copies[place][VM] = values[place]

    return bend


CLOSED = gate(file="false", helmrelease="false", deployment="false")


def closed_for(*holders: str, gate_name: str = "vm") -> Any:
    def bend(fleet: Fleet) -> None:
        lock = fleet.lock or {"pools": {}, "gate": gates(), "projectCaps": {}}
        lock["gate"][gate_name] = {"openBefore": True, "closedFor": list(holders)}
        fleet.lock = lock

    return bend


def bent(*bends: Any) -> Fleet:
    fleet = lab()
    for bend in bends:
        bend(fleet)
    return fleet


def control(value: str) -> Any:
    def bend(fleet: Fleet) -> None:
        fleet.with_fences(value)

    return bend


UNEXPECTED = [("error", "gate-state-unexpected", "gate/vm")]


@pytest.mark.parametrize(
    ("fleet", "expected"),
    [
        (bent(), []),
        (bent(CLOSED), []),
        (bent(CLOSED, closed_for("lab-1")), []),
        (bent(closed_for("lab-1")), UNEXPECTED),
        (bent(closed_for("lab-1"), control("both")), UNEXPECTED),
        (bent(closed_for("lab-1"), control("fence")), []),
        (bent(lambda f: f.freeze()), UNEXPECTED),
        (bent(lambda f: f.freeze("v100-vm")), UNEXPECTED),
        (bent(lambda f: f.freeze(), CLOSED), []),
        (bent(gate(helmrelease="false")), UNEXPECTED),
        (bent(gate(deployment="false")), UNEXPECTED),
        (bent(gate(file="false")), UNEXPECTED),
        (bent(gate(helmrelease="false"), control("fence")), UNEXPECTED),
        (bent(lambda f: f.gate_copies["helmrelease"].pop(VM)), UNEXPECTED),
        (bent(lambda f: f.gate_copies.update(helmrelease=None, deployment=None)), []),
        (bent(CLOSED, lambda f: f.gate_copies.update(deployment_rolled_out=False)), UNEXPECTED),
        (
            bent(lambda f: f.gate_copies["helmrelease"].update({SHARED: "false"})),
            [("error", "gate-state-unexpected", "gate/shared")],
        ),
        (
            bent(closed_for("transition:acc-01", gate_name="shared")),
            [("error", "gate-state-unexpected", "gate/shared")],
        ),
    ],
    ids=[
        "open for nobody",
        "closed for nobody",
        "closed for a ticket",
        "open while needed closed",
        "open while needed closed, both",
        "open with the fence alone",
        "open while frozen",
        "open while another pool is frozen",
        "closed while frozen",
        "HelmRelease differs",
        "Deployment differs",
        "file ahead of its copies",
        "copies differ, with the fence alone",
        "key missing in a copy",
        "copies that do not exist",
        "not rolled out",
        "the shared gate differs",
        "the shared gate open while needed closed",
    ],
)
def test_gates(fleet: Fleet, expected: list[tuple[str, str, str]]) -> None:
    assert found(run(fleet)) == expected


def test_a_gate_that_is_just_being_closed_for_the_locks_ticket_is_only_a_warning() -> None:
    closing = bent(lambda f: f.held_by("lab-1"), closed_for("lab-1"), gate(file="false"))
    assert found(run(closing)) == [("warning", "gate-converging", "gate/vm")]
    assert closing.lock is not None
    closing.lock["pools"]["h100-vm"]["since"] = "2026-11-10T11:44:59Z"
    assert found(run(closing)) == UNEXPECTED, "copies that never followed are no run under way"
    closing.lock["pools"]["h100-vm"]["since"] = "2026-11-10T13:00:00Z"
    assert found(run(closing)) == UNEXPECTED, "nor is a lock that was taken in the future"


def test_a_gate_that_somebody_opened_under_a_ticket_is_an_error_at_once() -> None:
    fleet = bent(lambda f: f.held_by("lab-1"), closed_for("lab-1"))
    assert found(run(fleet)) == UNEXPECTED


def test_a_gate_that_is_being_opened_again_is_only_a_warning() -> None:
    fleet = bent(lambda f: f.held_by("lab-1"), gate(helmrelease="false", deployment="false"))
    assert found(run(fleet)) == [("warning", "gate-converging", "gate/vm")]


# ---- time


def ends(text: str, state: str = "active") -> Fleet:
    fleet = lab()
    document = record("lab-0", "cumulus", 8, state)
    document["spec"]["endsAt"] = text
    return fleet.keep(document)


@pytest.mark.parametrize("state", ["active", "releasing"])
def test_a_live_record_past_its_end_is_a_warning_and_frees_nothing(state: str) -> None:
    report = run(ends("2026-11-10T11:59:59Z", state))
    assert found(report) == [("warning", "overdue-reservation", "record/gpu-res-lab-0")]
    assert report.passed
    assert report.proofs["h100-vm"].equation.reserved == 8


def test_a_pending_record_past_its_end_is_overdue_too() -> None:
    fleet = lab()
    document = record("lab-1", "borealis", 8, "pending")
    document["spec"]["endsAt"] = "2026-11-10T11:00:00Z"
    assert found(run(fleet.keep(document))) == [("warning", "overdue-reservation", "record/gpu-res-lab-1")]


@pytest.mark.parametrize("fleet", [ends("2026-11-10T12:00:01Z"), ends("2026-11-03T12:00:00Z", "released")])
def test_what_is_not_overdue(fleet: Fleet) -> None:
    assert "overdue-reservation" not in {row[1] for row in found(run(fleet))}


def test_a_stale_lock_is_a_warning_by_its_last_step() -> None:
    fleet = lab().held_by("lab-7")
    assert found(run(fleet)) == []
    assert fleet.lock is not None
    fleet.lock["pools"]["h100-vm"]["since"] = "2026-11-09T11:59:59Z"
    assert found(run(fleet)) == [("warning", "stale-lock", "lock/h100-vm")]
    fleet.lock["pools"]["h100-vm"]["since"] = "2026-11-09T12:00:00Z"
    assert found(run(fleet)) == []


def test_a_pool_without_a_recent_smoke_run() -> None:
    fleet = lab()
    assert fleet.policy is not None
    fleet.policy["spec"]["staleness"]["smokeDays"] = 8
    assert found(run(fleet)) == [("warning", "smoke-age", "pool/h100-vm")]
    assert found(run(fleet, smoked={"h100-vm": NOW})) == []
    assert found(run(fleet, smoked={"h100-vm": "2026-10-01T00:00:00Z"})) == [
        ("warning", "smoke-age", "pool/h100-vm")
    ]
    idle = lab().keep(record("lab-0", "cumulus", 8, "released")).annotate("cumulus", {}).quota("cumulus", 0)
    assert idle.policy is not None
    idle.policy["spec"]["staleness"]["smokeDays"] = 1
    assert found(run(idle)) == []


# ---- a run in the middle


def assigning(*steps: Any, state: str | None = "pending") -> Fleet:
    fleet = lab()
    fleet.held_by("lab-1")
    for bend in (closed_for("lab-1"), CLOSED):
        bend(fleet)
    if state:
        fleet.keep(record("lab-1", "borealis", 8, state, project="ml"))
    for step in steps:
        step(fleet)
    return fleet


def granted(fleet: Fleet) -> None:
    fleet.annotate("borealis", {"gpu-h100-vm": 2, "gpu-h100-reserved": 8})


def quota_followed(fleet: Fleet) -> None:
    fleet.hrq("borealis", 10)


def status_followed(fleet: Fleet) -> None:
    fleet.status("borealis", 10)


def projects_followed(fleet: Fleet) -> None:
    fleet.project_status("borealis", "ml", 10)


def capped(fleet: Fleet) -> None:
    fleet.cap("borealis", "ml", 8)


def cap_written(fleet: Fleet) -> None:
    fleet.resource_quota("borealis-ml", "project-quota", 8)


def smoke(fleet: Fleet) -> None:
    fleet.machine("borealis-ml", "gpu-smoke-lab-1", node="gpu-03")


def smoke_counted(fleet: Fleet) -> None:
    fleet.hrq("borealis", 10, 1).status("borealis", 10, 1).project_status("borealis", "ml", 8, 1)


def smoke_half_counted(fleet: Fleet) -> None:
    fleet.hrq("borealis", 10, 1).status("borealis", 10, 0)


ASSIGN: dict[str, Callable[[], Fleet]] = {
    "locked": lambda: lab().held_by("lab-1"),
    "closed": lambda: assigning(state=None),
    "recorded": assigning,
    "granted": lambda: assigning(granted),
    "quota followed": lambda: assigning(granted, quota_followed),
    "status followed": lambda: assigning(granted, quota_followed, status_followed),
    "projects followed": lambda: assigning(granted, quota_followed, status_followed, projects_followed),
    "cap written": lambda: assigning(
        granted, quota_followed, status_followed, projects_followed, cap_written
    ),
    "capped": lambda: assigning(granted, quota_followed, status_followed, capped),
    "smoke VM": lambda: assigning(granted, quota_followed, status_followed, capped, smoke),
    "smoke VM half counted": lambda: assigning(
        granted, quota_followed, status_followed, capped, smoke, smoke_half_counted
    ),
    "smoke VM counted": lambda: assigning(
        granted, quota_followed, status_followed, capped, smoke, smoke_counted
    ),
    "active": lambda: assigning(granted, quota_followed, status_followed, capped, state="active"),
}

CANCEL: dict[str, Callable[[], Fleet]] = {
    "reduced": lambda: assigning(quota_followed, status_followed, capped),
    "reduced, quota followed": lambda: assigning(status_followed, capped),
    "reduced, status followed": lambda: assigning(capped),
    "cap dropped": assigning,
    "canceled, lock held": lambda: assigning(state="canceled"),
}

RELEASE: dict[str, Callable[[], Fleet]] = {
    "releasing": lambda: assigning(granted, quota_followed, status_followed, capped, state="releasing"),
    "reduced": lambda: assigning(quota_followed, status_followed, capped, state="releasing"),
    "reduced, quota followed": lambda: assigning(status_followed, capped, state="releasing"),
    "reduced, status followed": lambda: assigning(capped, state="releasing"),
    "cap dropped, project lags": lambda: assigning(
        lambda f: f.project_status("borealis", "ml", 8), state="releasing"
    ),
    "cap dropped": lambda: assigning(state="releasing"),
    "released, lock held": lambda: assigning(state="released"),
}


@pytest.mark.parametrize("phase", ASSIGN)
def test_an_audit_in_the_middle_of_an_assign_finds_nothing_wrong(phase: str) -> None:
    report = run(ASSIGN[phase]())
    assert report.passed
    assert {row[1] for row in found(report)} <= {"entitlement-converging"}
    assert report.proofs["h100-vm"].equation.headroom == (17 if phase in ("locked", "closed") else 9)


@pytest.mark.parametrize("phase", RELEASE)
def test_an_audit_in_the_middle_of_a_release_finds_nothing_wrong(phase: str) -> None:
    report = run(RELEASE[phase]())
    assert report.passed
    assert {row[1] for row in found(report)} <= {"entitlement-converging"}
    assert report.proofs["h100-vm"].equation.headroom == (17 if phase.startswith("released") else 9)


@pytest.mark.parametrize("phase", CANCEL)
def test_an_audit_in_the_middle_of_a_cancellation_finds_nothing_wrong(phase: str) -> None:
    report = run(CANCEL[phase]())
    assert report.passed
    assert {row[1] for row in found(report)} <= {"entitlement-converging"}
    assert report.proofs["h100-vm"].equation.headroom == (17 if phase.startswith("canceled") else 9)


@pytest.mark.parametrize("phase", ["granted", "quota followed", "smoke VM half counted"])
def test_what_is_on_its_way_is_told_as_a_warning(phase: str) -> None:
    assert found(run(ASSIGN[phase]())) == [("warning", "entitlement-converging", "organization/borealis")]


# ---- projects and caps


def active_with_project(*steps: Any) -> Fleet:
    fleet = lab().keep(record("lab-1", "borealis", 8, project="ml"))
    for step in (granted, quota_followed, status_followed, projects_followed, *steps):
        step(fleet)
    return fleet


PROJECT = [("error", "status-disagreement", "project/borealis/ml")]


@pytest.mark.parametrize(
    ("fleet", "odd"),
    [
        (active_with_project(capped), ""),
        (active_with_project(), "cap"),
        (active_with_project(lambda f: f.cap("borealis", "ml", 9)), "cap"),
        (active_with_project(lambda f: f.cap("borealis", "ml", 7)), ""),
        (active_with_project(lambda f: f.resource_quota("borealis-ml", "project-quota", "0x8")), "cap"),
        (active_with_project(capped, lambda f: f.project_status("borealis", "ml", 10)), "Project"),
        (active_with_project(capped, lambda f: f.project_status("borealis", "ml", 8, 1)), "Project"),
        (lab().project_status("borealis", "ml", 3), "Project"),
        (lab().cap("borealis", "ml", 1), ""),
    ],
    ids=[
        "cap as reserved",
        "cap missing",
        "cap above",
        "cap below",
        "cap unreadable",
        "status shows no cap",
        "used differs",
        "status of a project without a record",
        "a cap without a record is the customer's",
    ],
)
def test_projects(fleet: Fleet, odd: str) -> None:
    report = run(fleet)
    wanted = PROJECT if odd else []
    assert sorted(set(found(report))) == wanted
    assert {item.odd for item in report.errors} == ({odd} if odd else set())


def test_the_cap_may_be_the_sum_of_several_records_of_one_project() -> None:
    fleet = active_with_project().keep(record("lab-2", "borealis", 2, project="ml"))
    fleet.annotate("borealis", {"gpu-h100-vm": 2, "gpu-h100-reserved": 10}).quota("borealis", 12)
    assert found(run(fleet.copy().cap("borealis", "ml", 10))) == []
    assert found(run(fleet.cap("borealis", "ml", 11))) == PROJECT


def test_a_record_of_a_project_that_is_gone() -> None:
    fleet = active_with_project(capped)
    del fleet.projects["borealis", "ml"]
    report = run(fleet)
    assert found(report) == [("error", "status-disagreement", "record/gpu-res-lab-1")]
    assert report.errors[0].odd == "Project"


def test_only_what_seconds_may_clear_is_worth_reading_again() -> None:
    assert run(lab().devices("gpu-02", "7")).worth_reading_again
    assert not run(lab().devices("gpu-02", "7").alert("KubeDcX")).worth_reading_again
    assert not run(lab()).worth_reading_again
