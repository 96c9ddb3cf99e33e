# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The proof as a whole: the lab's orders, what each purpose asks, what is told when something is unknown."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.fleet_builder import (
    H100,
    LAB_1,
    LAB_2,
    LAB_3,
    SANDBOX,
    V100,
    Fleet,
    lab,
    order_of,
    record,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.proof_table import (
    Case,
    examine,
    named,
    table,
    untouched,
)

EQUATION = {
    "healthy": 32,
    "reserved": {"pending": 0, "active": 8, "releasing": 0},
    "non_reserved": 6,
    "spare": 1,
    "headroom": 17,
    "holds": True,
}


def stop(finding_id: str, where: str = "pool/h100-vm") -> list[tuple[str, str]]:
    return [(finding_id, where)]


def test_the_pool_as_it_is() -> None:
    proof = lab().prove()
    assert proof.allowed
    assert proof.equation.result() == EQUATION
    assert proof.projected is None
    assert not proof.findings
    assert {check.status for check in proof.checks} == {"pass"}


def test_lab_1_fits() -> None:
    proof = lab().prove(order=LAB_1, purpose="assign")
    assert proof.allowed
    assert proof.equation.result() == EQUATION
    assert proof.projected is not None
    assert proof.projected.result() == {
        **EQUATION,
        "reserved": {"pending": 8, "active": 8, "releasing": 0},
        "headroom": 9,
    }


def with_lab_1(state: str) -> Fleet:
    fleet = lab().keep(record("lab-1", "borealis", 8, state, project="ml"))
    if state == "active":
        fleet.annotate("borealis", {"gpu-h100-vm": 2, "gpu-h100-reserved": 8}).quota("borealis", 10)
    return fleet


@pytest.mark.parametrize("state", ["pending", "active"])
def test_an_order_whose_record_holds_the_devices_is_not_counted_twice(state: str) -> None:
    proof = with_lab_1(state).prove(order=LAB_1, purpose="assign")
    assert proof.allowed
    assert proof.projected is not None
    assert proof.equation.headroom == proof.projected.headroom == 9


@pytest.mark.parametrize("fleet", [lab(), with_lab_1("active")], ids=["before LAB-1", "after LAB-1"])
def test_lab_2_does_not_fit_and_the_remedies_are_the_smallest(fleet: Fleet) -> None:
    proof = fleet.prove(order=LAB_2, purpose="assign")
    assert not proof.allowed
    assert proof.projected is not None
    missing = -(proof.projected.headroom or 0)
    assert missing == (1 if fleet.records.keys() == {"gpu-res-lab-0"} else 9)
    assert named(proof.findings, stops=True) == stop("order-exceeds-capacity")
    assert f"lacks {missing} devices" in proof.stops[0].message
    first, *others = proof.remedies
    assert (first.kind, first.devices) == ("add-devices", missing)
    given = [[(part.organization, part.devices, part.unused) for part in item.reductions] for item in others]
    if missing == 1:  # either could give it back alone
        assert given == [[("aurora", 1, 1)], [("borealis", 1, 1)]]
    else:  # neither can, nor both together
        assert given == [[("aurora", 4, 2), ("borealis", 2, 2)]]
        assert others[0].add_devices == 3
    equation = next(check for check in proof.checks if check.id == "capacity-equation")
    assert equation.status == "fail"
    assert f"add {missing} healthy" in equation.next_action


def test_lab_3_needs_a_transition_first() -> None:
    fleet = lab()
    proof = fleet.prove("v100-vm", order=LAB_3, purpose="assign")
    assert [item.id for item in proof.stops] == ["order-exceeds-capacity"]
    fleet.modes["acc-01"] = "vm-passthrough"
    for key in ("kube-dc.com/gpu.workload-mode", "kube-dc.com/gpu.expected-workload-mode"):
        fleet.label("acc-01", key, "vm-passthrough")
    fleet.label("acc-01", "nvidia.com/gpu.workload.config", "vm-passthrough")
    fleet.plugin("acc-01", SANDBOX).devices("acc-01", "2", resource=V100)
    proof = fleet.prove("v100-vm", order=LAB_3, purpose="assign")
    assert proof.allowed
    assert proof.projected is not None
    assert proof.projected.result()["headroom"] == 0


def test_an_unsold_pool_in_shared_mode_is_not_in_service() -> None:
    proof = lab().prove("v100-vm")
    assert proof.allowed
    assert not proof.in_service
    assert (proof.equation.healthy, proof.equation.spare, proof.equation.headroom) == (0, 0, 0)
    assert [(item.id, item.severity) for item in proof.findings] == [("node-in-shared-mode", "note")]


def oversold(fleet: Fleet) -> None:
    fleet.annotate("aurora", {"gpu-h100-vm": 22}).quota("aurora", 22, 2)


@table(
    Case(
        "oversold",
        oversold,
        stop("hard-quota-above-equation"),
        ("lacks 1 devices", "32 healthy schedulable < 8 reserved + 24 non-reserved + 1 spare"),
        headroom=-1,
    ),
    Case(
        "exactly enough",
        lambda f: f.annotate("aurora", {"gpu-h100-vm": 21}).quota("aurora", 21, 2),
        headroom=0,
    ),
    Case("frozen, as it is", lambda f: f.freeze(), headroom=17),
    Case(
        "frozen, to assign",
        lambda f: f.freeze(),
        stop("pool-frozen"),
        ("frozen since",),
        headroom=9,
        question={"order": LAB_1, "purpose": "assign"},
    ),
    Case(
        "thawed, to assign",
        lambda f: f.freeze(
            thawed={"product": "p.owner", "sre": "s.owner", "reference": "R-1", "at": "2026-11-11T12:00:00Z"}
        ),
        headroom=9,
        question={"order": LAB_1, "purpose": "assign"},
    ),
    Case(
        "another pool is frozen",
        lambda f: f.freeze("v100-vm"),
        headroom=9,
        question={"order": LAB_1, "purpose": "assign"},
    ),
    Case(
        "wrong cluster UID",
        lambda f: setattr(f, "uid", "other"),
        stop("cluster-mismatch", "cluster/lab"),
        ("UID",),
    ),
    Case(
        "wrong cluster name",
        lambda f: setattr(f, "config", {"CLUSTER_NAME": "prod"}),
        stop("cluster-mismatch", "cluster/lab"),
        ("CLUSTER_NAME", "prod"),
    ),
    Case(
        "no cluster name",
        lambda f: setattr(f, "config", None),
        stop("cluster-mismatch", "cluster/lab"),
        ("absent",),
    ),
    Case("alert firing", lambda f: f.alert("KubeDcX"), stop("active-alert", "alert/KubeDcX"), ("firing",)),
    Case(
        "alert pending",
        lambda f: f.alert("KubeDcX", "pending"),
        stop("active-alert", "alert/KubeDcX"),
        ("pending",),
    ),
    Case("somebody else's alert", lambda f: f.alert("KubeDCOther").alert("NodeDown")),
    Case(
        "alerts unreachable",
        lambda f: setattr(f, "alerts", {"readable": False, "error": "connection refused"}),
        stop("active-alert", "alerts"),
        ("connection refused",),
        unknown=True,
    ),
    Case(
        "rules not loaded",
        lambda f: f.alerts.update(rules={"NodeDown": 1}),
        stop("active-alert", "alerts"),
        ("not loaded",),
        unknown=True,
    ),
    Case(
        "rules loaded twice",
        lambda f: f.alerts.update(rules={"KubeDcX": 2}),
        remarks=[("alert-rules-loaded-twice", "alerts")],
    ),
    Case(
        "a holder of nobody",
        lambda f: f.pod("stray", "bench", 2, owner=("Job", "bench")),
        [("unattributed-holder", "holder/stray/Job/bench")],
        ("2 devices in namespace stray", "gpu-01"),
    ),
    Case("a holder of another resource", lambda f: f.pod("stray", "train", 8, resource="nvidia.com/gpu")),
    Case("a stray Pod that has ended", lambda f: f.pod("stray", "bench", phase="Succeeded")),
)
def test_what_stops_a_pool(case: Case) -> None:
    examine(case)


def unfit(*changes: tuple[str, Any]) -> Any:
    def bend(fleet: Fleet) -> None:
        for key, value in changes:
            if value is None:
                fleet.profiles[0].pop(key)
            else:
                fleet.profiles[0][key] = value

    return bend


def host_devices(*devices: tuple[str, str, bool]) -> Any:
    def bend(fleet: Fleet) -> None:
        fleet.host_devices = [
            {"resourceName": name, "pciVendorSelector": selector, "externalResourceProvider": external}
            for name, selector, external in devices
        ]

    return bend


def second_profile(enabled: bool) -> Any:
    def bend(fleet: Fleet) -> None:
        fleet.profiles.append({**fleet.profiles[0], "id": "h100-vm-2", "enabled": enabled})

    return bend


MISMATCH = stop("profile-mode-mismatch", "profile/h100-vm")


@table(
    Case("not a VM profile", unfit(("workload", "pod")), MISMATCH, ("workload 'pod'",)),
    Case("no passthrough", unfit(("allocation", "hami")), MISMATCH, ("allocation 'hami'",)),
    Case("not enabled", unfit(("enabled", False)), MISMATCH, ("not enabled",)),
    Case("enabled said in another way", unfit(("enabled", "yes")), MISMATCH, ("not enabled",)),
    Case("not for sale", unfit(("billingEligible", False)), MISMATCH, ("billingEligible",)),
    Case("no selector", unfit(("pciVendorSelector", None)), MISMATCH, ("no pciVendorSelector",)),
    Case("selector in lower case", unfit(("pciVendorSelector", "10de:2330"))),
    Case("selector differs", unfit(("pciVendorSelector", "10DE:2331")), MISMATCH, ("10DE:2330", "10DE:2331")),
    Case("second profile with the resource", second_profile(enabled=True), MISMATCH, ("h100-vm-2",)),
    Case("second profile, not enabled", second_profile(enabled=False)),
    Case("host device missing", host_devices((V100, "10DE:1DB4", True)), MISMATCH, ("permits 0", H100)),
    Case(
        "host device twice",
        host_devices((H100, "10DE:2330", True), (H100, "10DE:2330", True)),
        MISMATCH,
        ("permits 2",),
    ),
    Case(
        "not by the platform's own plugin",
        host_devices((H100, "10DE:2330", False)),
        MISMATCH,
        ("externalResourceProvider",),
    ),
    Case(
        "selector under another resource too",
        host_devices((H100, "10DE:2330", True), ("nvidia.com/OTHER", "10de:2330", True)),
        MISMATCH,
        ("nvidia.com/OTHER",),
    ),
    Case(
        "no resource",
        unfit(("resourceName", None)),
        MISMATCH,
        ("no resourceName",),
        healthy=None,
        headroom=None,
        unknown=True,
    ),
    Case(
        "no catalogue",
        lambda f: setattr(f, "without_profiles", True),
        MISMATCH,
        ("does not exist",),
        healthy=None,
        headroom=None,
        unknown=True,
    ),
    Case(
        "profile twice",
        lambda f: f.profiles.append(dict(f.profiles[0])),
        MISMATCH,
        ("2 times",),
        healthy=None,
        headroom=None,
        unknown=True,
    ),
    Case(
        "catalogue unreadable",
        lambda f: setattr(f, "profiles_text", "profiles: {"),
        MISMATCH,
        healthy=None,
        headroom=None,
        unknown=True,
    ),
)
def test_a_profile_that_does_not_qualify(case: Case) -> None:
    examine(case)


def test_an_unfit_profile_without_a_live_record_stops_under_its_own_id() -> None:
    fleet = lab()
    fleet.profiles[1]["enabled"] = False
    proof = fleet.prove("v100-vm")
    assert [(item.id, item.severity) for item in proof.stops] == [("profile-unfit", "warning")]
    assert not proof.allowed


@table(
    Case(
        "organization missing",
        untouched,
        stop("order-organization", "organization/ghost"),
        question={"order": order_of("lab-5", "ghost", 1), "purpose": "assign"},
        headroom=16,
    ),
    Case(
        "organization not ready",
        lambda f: f.organizations["borealis"]["status"].update(ready=False),
        stop("order-organization", "organization/borealis"),
        ("not ready",),
        question={"order": LAB_1, "purpose": "assign"},
        headroom=9,
    ),
    Case(
        "project of somebody else",
        untouched,
        stop("order-project", "project/borealis/vision"),
        question={"order": order_of("lab-5", "borealis", 1, project="vision"), "purpose": "assign"},
        headroom=16,
    ),
    Case(
        "project not ready",
        lambda f: f.projects["borealis", "ml"]["status"].update(ready=False),
        stop("order-project", "project/borealis/ml"),
        question={"order": LAB_1, "purpose": "assign"},
        headroom=9,
    ),
    Case(
        "unknown add-on",
        untouched,
        [("unknown-add-on", "add-on/gpu-b200"), ("add-on-unfit", "add-on/gpu-b200")],
        question={"order": order_of("lab-5", "borealis", 1, addonId="gpu-b200"), "purpose": "assign"},
        headroom=16,
    ),
    Case(
        "ordinary add-on",
        untouched,
        [("add-on-unfit", "add-on/gpu-h100-vm")] * 2,
        ("selfService is absent", "reservationAddons"),
        question={"order": order_of("lab-5", "borealis", 1, addonId="gpu-h100-vm"), "purpose": "assign"},
        headroom=16,
    ),
    Case(
        "record already released",
        lambda f: f.keep(record("lab-1", "borealis", 8, "released", project="ml")),
        stop("order-record", "record/gpu-res-lab-1"),
        ("never goes back",),
        question={"order": LAB_1, "purpose": "assign"},
        headroom=9,
    ),
    Case(
        "record says something else",
        lambda f: f.keep(record("lab-1", "borealis", 7, "pending", project="ml")),
        stop("order-record", "record/gpu-res-lab-1"),
        ("devices",),
        question={"order": LAB_1, "purpose": "assign"},
        headroom=10,
    ),
)
def test_an_order_that_does_not_qualify(case: Case) -> None:
    examine(case)


def test_an_order_that_the_add_on_does_not_divide() -> None:
    fleet = lab()
    fleet.records.clear()
    fleet.annotate("cumulus", {}).quota("cumulus", 0)
    fleet.plans["addons"]["gpu-h100-reserved"]["gpu"]["h100-vm"]["devices"] = 3
    proof = fleet.prove(order=LAB_1, purpose="assign")
    assert [(item.id, item.expected) for item in proof.stops] == [("add-on-unfit", "add-on-indivisible")]
    assert "8 devices" in proof.stops[0].message


def vm_node(fleet: Fleet) -> None:
    """acc-01 in vm-passthrough with one device reserved for borealis."""
    fleet.modes["acc-01"] = "vm-passthrough"
    for key in (
        "kube-dc.com/gpu.workload-mode",
        "kube-dc.com/gpu.expected-workload-mode",
        "nvidia.com/gpu.workload.config",
    ):
        fleet.label("acc-01", key, "vm-passthrough")
    fleet.plugin("acc-01", SANDBOX).devices("acc-01", "2", resource=V100)
    fleet.keep(record("lab-3", "borealis", 1, profile_id="v100-vm", add_on_id="gpu-v100-reserved"))
    fleet.annotate("borealis", {"gpu-h100-vm": 2, "gpu-v100-reserved": 1}).quota("borealis", 1, 0, "v100-vm")


def back_in_shared(fleet: Fleet) -> None:
    acc = lab()
    vm_node(fleet)
    fleet.nodes["acc-01"], fleet.modes["acc-01"] = acc.nodes["acc-01"], "pod-hami"
    fleet.plugin("acc-01", "hami-device-plugin")


def shared_sold(fleet: Fleet) -> None:
    vm_node(fleet)
    fleet.annotate("aurora", {"gpu-h100-vm": 4, "gpu-v100-shared-8g": 1})


def shared_in_status(fleet: Fleet) -> None:
    vm_node(fleet)
    usage = fleet.organizations["aurora"]["status"]["quotaUsage"]["accelerators"]
    usage["v100-shared"] = {"shares": {"hard": "1", "used": "0"}}


@table(
    Case("dedicated, sold, and nothing shared", vm_node, profile_id="v100-vm", healthy=2, headroom=0),
    Case(
        "back in Shared mode under a live record",
        back_in_shared,
        [("sequential-pool-conflict", "node/acc-01"), ("hard-quota-above-equation", "pool/v100-vm")],
        ("gpu-res-lab-3",),
        remarks=[("node-in-shared-mode", "node/acc-01")],
        profile_id="v100-vm",
        healthy=0,
        headroom=-2,
    ),
    Case(
        "Shared entitlement sold from the same node",
        shared_sold,
        [("sequential-pool-conflict", "organization/aurora")],
        ("v100-shared",),
        profile_id="v100-vm",
        healthy=2,
        headroom=0,
    ),
    Case(
        "Shared quota in the status",
        shared_in_status,
        [("sequential-pool-conflict", "organization/aurora")],
        profile_id="v100-vm",
        healthy=2,
        headroom=0,
    ),
)
def test_sequential_pools(case: Case) -> None:
    examine(case)


def test_shared_entitlement_without_a_live_record_is_the_pools_ordinary_state() -> None:
    fleet = lab().annotate("aurora", {"gpu-h100-vm": 4, "gpu-v100-shared-8g": 1})
    assert fleet.prove("v100-vm").allowed


def test_a_pool_that_nobody_approved() -> None:
    proof = lab().prove("b200-vm")
    assert named(proof.findings, stops=True) == stop("pool-not-approved", "pool/b200-vm")
    assert proof.equation.result()["headroom"] == "unknown"
    assert not proof.allowed


@pytest.mark.parametrize(
    ("bend", "finding_id", "file"),
    [
        (lambda f: f.policy["spec"].update(surprise=1), "ledger-invalid", "gpu-reservations/lab/policy.yaml"),
        (lambda f: setattr(f, "policy", None), "ledger-invalid", "gpu-reservations/lab/policy.yaml"),
        (
            lambda f: f.records["gpu-res-lab-0"]["spec"].update(devices=0),
            "ledger-invalid",
            "gpu-reservations/lab/records/gpu-res-lab-0.yaml",
        ),
        (
            lambda f: f.extra_files.update({"gpu-reservations/lab/records/readme.md": "x"}),
            "ledger-invalid",
            "gpu-reservations/lab/records/readme.md",
        ),
        (
            lambda f: f.freezes.update({"h100-vm": {"since": "now"}}),
            "ledger-invalid",
            "gpu-reservations/lab/freezes/h100-vm.yaml",
        ),
        (lambda f: setattr(f, "lock", {"pools": []}), "ledger-invalid", "gpu-lock/lab:lock.yaml"),
        (
            lambda f: f.extra_files.update(
                {"gpu-reservations/east/records/gpu-res-lab-0.yaml": "metadata:\n  id: gpu-res-lab-0\n"}
            ),
            "duplicate-reservation-id",
            "gpu-reservations/lab/records/gpu-res-lab-0.yaml",
        ),
    ],
    ids=["policy", "no policy", "record", "stray file", "freeze", "lock", "duplicate id"],
)
def test_an_invalid_ledger_stops_and_names_the_file(bend: Any, finding_id: str, file: str) -> None:
    fleet = lab()
    bend(fleet)
    proof = fleet.prove(purpose="assign", order=LAB_1)
    assert {(item.id, item.object) for item in proof.stops} == {(finding_id, f"file/{file}")}
    assert not proof.allowed
    assert "unknown" in {check.status for check in proof.checks if check.id == finding_id}


def test_an_unreadable_record_leaves_reserved_and_headroom_unknown_and_the_rest_known() -> None:
    fleet = lab()
    fleet.records["gpu-res-lab-0"]["spec"]["devices"] = "many"
    assert fleet.prove().equation.result() == {
        "healthy": 32,
        "reserved": {"pending": "unknown", "active": "unknown", "releasing": "unknown"},
        "non_reserved": "unknown",
        "spare": 1,
        "headroom": "unknown",
        "holds": False,
    }


def test_without_a_node_the_projected_equation_decides() -> None:
    proof = lab().prove(without_nodes=frozenset({"gpu-01", "gpu-02"}))
    assert proof.projected is not None
    assert (proof.equation.headroom, proof.projected.headroom) == (17, 1)
    assert proof.allowed
    proof = lab().prove(without_nodes=frozenset({"gpu-01", "gpu-02", "gpu-03"}))
    assert named(proof.findings, stops=True) == stop("change-exceeds-capacity")
    assert "gpu-01, gpu-02, gpu-03" in proof.stops[0].message


@pytest.mark.parametrize(
    ("bend", "expected"),
    [
        (untouched, []),
        (lambda f: f.gate_copies.update(deployment_available=False), ["backend-unavailable"]),
        (lambda f: f.gate_copies.update(deployment_rolled_out=None), ["backend-unavailable"]),
        (lambda f: setattr(f, "kubevirt_phase", "Deploying"), ["kubevirt-not-deployed"]),
        (lambda f: f.gate_copies.update(deployment=None, deployment_available=None), []),
    ],
    ids=["in service", "backend", "roll-out unknown", "KubeVirt", "no backend"],
)
def test_letting_go_asks_for_the_platform_back_in_service(bend: Any, expected: list[str]) -> None:
    fleet = lab()
    bend(fleet)
    assert [item.id for item in fleet.prove(purpose="let_go").stops] == expected
    assert fleet.prove().allowed


def test_only_health_and_use_are_worth_reading_again() -> None:
    assert lab().ready("gpu-01", "False").prove().worth_reading_again
    assert not lab().alert("KubeDcX").prove().worth_reading_again
    assert not lab().ready("gpu-01", "False").alert("KubeDcX").prove().worth_reading_again
    assert not lab().prove().worth_reading_again


def test_a_spare_of_none_is_what_the_approved_policy_says() -> None:
    fleet = lab()
    approval = {"product": "p", "sre": "s", "reference": "R", "maintenanceAvailability": "none"}
    fleet.pool().update(spareDevices=0, spareApproval=approval)
    assert fleet.prove().equation.headroom == 18


@given(
    counts=st.lists(st.integers(0, 8), min_size=4, max_size=4),
    more=st.lists(st.integers(0, 8), min_size=4, max_size=4),
    ordinary=st.integers(0, 30),
    devices=st.integers(1, 30),
)
def test_more_capacity_never_turns_a_yes_into_a_no(
    counts: list[int], more: list[int], ordinary: int, devices: int
) -> None:
    def answer(sizes: list[int]) -> tuple[bool, int | None]:
        fleet = lab()
        for number, size in enumerate(sizes, start=1):
            if size:
                fleet.pool()["nodes"][f"gpu-0{number}"] = size
                fleet.devices(f"gpu-0{number}", str(size))
            else:
                fleet.pool()["quarantinedNodes"].append(f"gpu-0{number}")
        fleet.annotate("aurora", {"gpu-h100-vm": ordinary}).quota("aurora", ordinary, 0)
        fleet.pods.clear()
        proof = fleet.prove(order=order_of("lab-5", "borealis", devices), purpose="assign")
        return proof.allowed, proof.decisive.headroom

    allowed, headroom = answer(counts)
    allowed_with_more, more_headroom = answer([max(pair) for pair in zip(counts, more, strict=True)])
    assert headroom is not None
    assert more_headroom is not None
    assert more_headroom >= headroom
    assert allowed_with_more or not allowed


BENDS: dict[str, Any] = {
    "stale status": lambda f: f.organizations["aurora"]["status"]["quotaUsage"].update(lastUpdated="x"),
    "hard unreadable": lambda f: f.hrq("borealis", "0x8"),
    "no HRQ": lambda f: f.hrqs.pop("cumulus"),
    "annotation": lambda f: f.annotate("aurora", "{"),
    "no plans": lambda f: setattr(f, "without_plans", True),
    "no profiles": lambda f: setattr(f, "without_profiles", True),
    "record": lambda f: f.records["gpu-res-lab-0"]["spec"].update(devices="x"),
    "alerts": lambda f: f.alerts.update(readable=False),
    "quantity": lambda f: f.devices("gpu-01", "x"),
    "no lease": lambda f: f.leases.pop("gpu-02"),
    "server time": lambda f: setattr(f, "server_time", "x"),
    "lock": lambda f: setattr(f, "lock", {"x": 1}),
    "stray": lambda f: f.pod("stray", "p", "x"),
    "policy": lambda f: setattr(f, "policy", None),
}


@given(names=st.lists(st.sampled_from(sorted(BENDS)), min_size=1, max_size=4, unique=True))
def test_an_unknown_is_never_a_yes_whatever_else_is_wrong(names: list[str]) -> None:
    fleet = lab()
    for name in names:
        BENDS[name](fleet)
    proof = fleet.prove(order=LAB_1, purpose="assign")
    assert not proof.allowed
    assert proof.stops
    result = proof.equation.result()
    unknown = "unknown" in {
        result["healthy"],
        result["non_reserved"],
        result["spare"],
        *result["reserved"].values(),
    }
    if unknown or result["non_reserved"] == "unlimited":
        assert result["headroom"] == "unknown"
        assert result["holds"] is False
