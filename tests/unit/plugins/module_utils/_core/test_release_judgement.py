# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which doubts hold a release up, which do not, and what use it waits for."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.invariant import prove_in
from ansible_collections.gpuops.reservations.plugins.module_utils._core.proof import Proof
from ansible_collections.gpuops.reservations.plugins.module_utils._core.release_judgement import (
    ReleaseJudgement,
    judge_release,
    same_twice,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.fleet_builder import (
    SANDBOX,
    Fleet,
    lab,
    record,
    select,
)


def releasing(project: str = "") -> Fleet:
    """cumulus gives its eight devices back; its project reports its use."""
    fleet = lab().keep(record("lab-0", "cumulus", 8, "releasing", project=project)).held_by("lab-0")
    return fleet.project_status("cumulus", "lab", 8, 0)


def judge(fleet: Fleet) -> ReleaseJudgement:
    world = fleet.world()
    proof: Proof = prove_in(world, "h100-vm", select=select)
    assert world.ledger.records is not None
    return judge_release(proof, world.ledger.records["gpu-res-lab-0"], world)


def test_nothing_used_and_nothing_in_doubt_is_clear() -> None:
    judgement = judge(releasing())
    assert judgement.clear
    assert judgement.stays == 0
    assert judgement.uses == {"holders": 0, "Pods": 0, "quota": 0, "Organization": 0, "Project lab": 0}


@pytest.mark.parametrize(
    "bend",
    [
        lambda f: f.ready("gpu-01", "False"),
        lambda f: f.plugin("gpu-02", SANDBOX, "hami-device-plugin"),
        lambda f: f.label("gpu-03", "kube-dc.com/gpu.workload-mode", "pod-hami"),
        lambda f: f.alert("KubeDcX"),
        lambda f: setattr(f, "alerts", {"readable": False}),
        lambda f: f.annotate("aurora", {"gpu-h100-vm": 40}).quota("aurora", 40, 2),
        lambda f: f.hrq("aurora", 5, 2),
        lambda f: f.hrq("borealis", "0x8"),
        lambda f: f.organizations["aurora"]["status"]["quotaUsage"].update(lastUpdated="x"),
        lambda f: f.profiles[0].update(billingEligible=False),
        lambda f: f.freeze(),
        lambda f: f.plans["addons"]["gpu-h100-reserved"].update(selfService=True),
    ],
    ids=[
        "node not Ready",
        "plugin conflict",
        "mode drift",
        "alert",
        "alerts unreachable",
        "equation fails",
        "another's drift",
        "another's quota unreadable",
        "another's status stale",
        "profile unfit",
        "frozen",
        "add-on unfit",
    ],
)
def test_what_never_holds_a_release_up(bend: Any) -> None:
    fleet = releasing()
    bend(fleet)
    judgement = judge(fleet)
    assert judgement.clear
    if not fleet.freezes:
        assert judgement.reported, "it is still told"


@pytest.mark.parametrize(
    ("bend", "finding_id", "where"),
    [
        (lambda f: f.hrq("cumulus", "0x8"), "status-disagreement", "organization/cumulus"),
        (lambda f: f.hrq("cumulus", 9), "status-disagreement", "organization/cumulus"),
        (lambda f: f.hrqs.pop("cumulus"), "hard-quota-above-equation", "organization/cumulus"),
        (lambda f: f.annotate("cumulus", ""), "status-disagreement", "organization/cumulus"),
        (
            lambda f: f.organizations["cumulus"]["status"]["quotaUsage"].update(lastUpdated="x"),
            "stale-capacity",
            "organization/cumulus",
        ),
        (
            lambda f: f.annotate("borealis", {"gpu-h100-vm": 2, "gpu-h100-reserved": 1}).quota("borealis", 3),
            "missing-ledger-record",
            "organization/borealis",
        ),
        (
            lambda f: f.extra_files.update({"gpu-reservations/lab/records/x.yml": "x"}),
            "ledger-invalid",
            "file/gpu-reservations/lab/records/x.yml",
        ),
        (lambda f: f.pod("nowhere", "p"), "unattributed-holder", "holder/nowhere/Pod/p"),
        (lambda f: setattr(f, "plans_text", "["), "status-disagreement", "configmap/kube-dc/billing-plans"),
        (lambda f: setattr(f, "without_profiles", True), "profile-mode-mismatch", "profile/h100-vm"),
    ],
    ids=[
        "own quota unreadable",
        "own quota disagrees",
        "own quota unlimited",
        "own annotation unreadable",
        "own status stale",
        "a missing record anywhere",
        "an invalid ledger",
        "a holder of nobody",
        "catalogue unreadable",
        "resource unknown",
    ],
)
def test_which_doubts_hold_a_release_up(bend: Any, finding_id: str, where: str) -> None:
    fleet = releasing()
    bend(fleet)
    world = fleet.world()
    proof = prove_in(world, "h100-vm", select=select)
    held = fleet.world().ledger.records or releasing().world().ledger.records
    assert held is not None
    judgement = judge_release(proof, held["gpu-res-lab-0"], world)
    assert (finding_id, where) in {(item.id, item.object) for item in judgement.blockers}
    assert not judgement.clear


def busy(fleet: Fleet, *, terminating: bool = False) -> Fleet:
    fleet.machine("cumulus-lab", "train", node="gpu-03")
    if terminating:
        fleet.pods[-1]["metadata"] |= {
            "deletionTimestamp": "2026-11-10T11:00:00Z",
            "deletionGracePeriodSeconds": 30,
        }
    used = 0 if terminating else 1
    fleet.quota("cumulus", 8, used)
    return fleet


def test_a_running_machine_is_waited_for_and_named_by_its_owner() -> None:
    judgement = judge(busy(releasing()))
    assert not judgement.clear
    assert not judgement.blockers
    assert [holder.name for holder in judgement.holders] == ["cumulus-lab/VirtualMachine/train"]
    assert "holders counts 1 devices, 0 stay entitled" in judgement.waits_for
    assert "Project lab counts 1 devices, 0 stay entitled" in judgement.waits_for


def test_a_terminating_launcher_past_its_grace_is_out_of_quota_and_still_a_holder() -> None:
    judgement = judge(busy(releasing(), terminating=True))
    assert judgement.uses == {"holders": 1, "Pods": 0, "quota": 0, "Organization": 0, "Project lab": 0}
    assert not judgement.clear
    assert judgement.holders[0].terminating


def test_what_stays_entitled_may_stay_in_use() -> None:
    fleet = busy(releasing()).annotate("cumulus", {"gpu-h100-reserved": 8, "gpu-h100-vm": 1})
    judgement = judge(fleet.quota("cumulus", 9, 1))
    assert judgement.stays == 1
    assert judgement.clear


def test_another_record_of_the_organization_stays_unless_it_is_only_pending() -> None:
    fleet = releasing().keep(record("lab-5", "cumulus", 2)).keep(record("lab-6", "cumulus", 4, "pending"))
    fleet.annotate("cumulus", {"gpu-h100-reserved": 10}).quota("cumulus", 10)
    assert judge(fleet).stays == 2


def test_converging_is_waited_for_and_no_doubt() -> None:
    fleet = releasing().annotate("cumulus", {})
    judgement = judge(fleet)
    assert judgement.converging
    assert not judgement.blockers


def test_a_project_that_does_not_say_what_it_uses_is_waited_for() -> None:
    fleet = releasing(project="lab")
    fleet.projects["cumulus", "lab"]["status"]["quotaUsage"]["accelerators"].clear()
    assert "Project lab counts unknown devices, 0 stay entitled" in judge(fleet).waits_for


def test_a_record_whose_organization_is_gone_has_nothing_left_to_wait_for() -> None:
    fleet = lab().keep(record("lab-0", "ghost", 8, "releasing")).held_by("lab-0")
    fleet.annotate("cumulus", {}).quota("cumulus", 0)
    judgement = judge(fleet)
    assert judgement.clear
    assert judgement.uses == {"holders": 0}


def test_read_twice_wants_the_same_pods() -> None:
    one = judge(releasing())
    other = judge(busy(releasing().annotate("cumulus", {"gpu-h100-reserved": 8, "gpu-h100-vm": 1})))
    assert same_twice(one, one)
    assert not same_twice(one, other)
