# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A release on the lab: what it leaves, what it waits for, what it names, and what does not hold it up."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.times import moment
from ansible_collections.gpuops.reservations.tests.integration.capacity import drifts
from ansible_collections.gpuops.reservations.tests.integration.capacity.assigned import (
    require_assigned,
    require_equation_always,
    survey,
)
from ansible_collections.gpuops.reservations.tests.integration.capacity.auditing import LiveModules, found
from ansible_collections.gpuops.reservations.tests.integration.capacity.capacity_lab import (
    KEY,
    LEDGER,
    CapacityLab,
    Run,
    eventually,
)
from ansible_collections.gpuops.reservations.tests.integration.capacity.put_back import (
    launchers,
    put_back,
    require_clean,
    set_cap,
    start_machine,
    stop_machine,
)
from ansible_collections.gpuops.reservations.tests.integration.capacity.stepwise import (
    assigned_here,
    recorded_here,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.assignment import Refused
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.returning import release

pytestmark = [pytest.mark.lab, pytest.mark.slow]

POLLING: dict[str, Any] = {"poll_interval": 0.5, "health_interval": 0.2}
NOTIFY = """- name: Note whom to ask
  ansible.builtin.copy:
    content: "{{ gpuops_event | to_json }}"
    dest: "{{ noted_folder }}/notified.json"
    mode: "0600"
"""


@pytest.fixture(scope="module")
def lab(told_lab: CapacityLab) -> CapacityLab:
    return told_lab


@pytest.fixture(scope="module")
def modules(lab: CapacityLab) -> LiveModules:
    return LiveModules(lab)


@pytest.fixture
def stage(lab: CapacityLab) -> Iterator[CapacityLab]:
    """The lab with LAB-0 active, which is put back afterwards."""
    with put_back(lab):
        yield lab


def released(lab: CapacityLab, ticket: str, *arguments: str, identity: str = "gpuops", **more: Any) -> Run:
    return lab.playbook("release", *arguments, identity=identity, ticket=ticket, **POLLING, **more)


# LAB-1, assigned and released


@dataclass(frozen=True)
class Story:
    """LAB-1 from its order to its end: how things were, and what each run said."""

    annotation: str
    hard: str
    assigned: dict[str, Any]
    commits: int
    checked: Run
    check_wrote: list[dict[str, Any]]
    released: Run
    wrote: list[dict[str, Any]]
    again: Run
    again_wrote: list[dict[str, Any]]


def add_on_text(lab: CapacityLab, name: str) -> str:
    text: str = lab.organization(name)["metadata"]["annotations"]["billing.kube-dc.com/addons"]
    return text


@pytest.fixture(scope="module")
def story(lab: CapacityLab) -> Story:
    annotation, hard = add_on_text(lab, "borealis"), lab.hard("borealis")
    assert lab.cap("borealis-ml") is None
    assigned = lab.assign("LAB-1", reopen=True)
    assert assigned.code == 0, assigned.output
    require_assigned(lab, "LAB-1", gate="true")
    record = lab.record("lab-1")
    assert record is not None
    with lab.mutations() as check_wrote:
        refs = lab.refs()
        checked = released(lab, "LAB-1", "--check", "--diff", identity="reader")
        assert lab.refs() == refs
    commits = len(lab.history())
    with lab.mutations() as wrote:
        run = released(lab, "LAB-1", "--diff", reopen=True)
    assert run.code == 0, run.output
    with lab.mutations() as again_wrote:
        refs = lab.refs()
        again = released(lab, "LAB-1")
        assert lab.refs() == refs
    return Story(annotation, hard, record, commits, checked, check_wrote, run, wrote, again, again_wrote)


def test_lab_1_is_released_and_everything_is_what_it_was_before(lab: CapacityLab, story: Story) -> None:
    assert story.released.code == 0, story.released.output
    assert lab.states("LAB-1") == ["pending", "active", "releasing", "released"]
    assert add_on_text(lab, "borealis") == story.annotation
    assert lab.hard("borealis") == story.hard
    assert lab.organization("borealis")["status"]["quotaUsage"]["accelerators"]["h100-vm"]["devices"] == {
        "hard": story.hard,
        "used": "0",
    }
    assert lab.cap("borealis-ml") is None, "a cap that was there for the reservation alone is gone"
    lock = lab.lock()
    assert (lock["pools"], lock["projectCaps"], lock["gate"]["vm"]["closedFor"]) == ({}, {}, [])
    require_equation_always(lab)
    require_clean(lab)


def test_billing_begins_at_the_activation_and_ends_at_the_release(lab: CapacityLab, story: Story) -> None:
    record = lab.record("lab-1")
    assert record is not None
    before, after = story.assigned["status"], record["status"]
    assert after["activatedAt"] == before["activatedAt"]
    assert moment(after["releasedAt"]) > moment(after["activatedAt"])
    committed = lab.git("log", "-1", "--format=%ct", "main", "--", f"{LEDGER}/records/gpu-res-lab-1.yaml")
    assert abs(moment(after["releasedAt"]).timestamp() - int(committed)) < 30
    assert (
        f"first billable instant {after['activatedAt']}, last {after['releasedAt']}" in story.released.output
    )
    assert after["reason"] == "released"
    changed = {"state": "released"}
    assert record["spec"] == {**story.assigned["spec"], **changed}


def test_its_evidence_is_of_its_own_and_the_chain_verifies(modules: LiveModules, story: Story) -> None:
    ran = modules.run("gpu_evidence", state="verified", ticket="LAB-1")
    assert not ran.failed, ran.msg
    assert ran.result["verified"] is True
    record = modules.lab.record("lab-1")
    assert record is not None
    revision = record["status"]["evidenceRevision"]
    assert revision == ran.result["evidence_revision"]
    assert revision != story.assigned["status"]["evidenceRevision"]


def test_the_gate_is_closed_first_and_opened_last_and_no_holder_is_touched(
    lab: CapacityLab, story: Story
) -> None:
    log = lab.git("log", "--reverse", "--format=%s", "main").splitlines()[story.commits :]
    assert log == [
        "Close gate vm for LAB-1",
        "gpu-res-lab-1: releasing",
        "gpu-res-lab-1: released",
        "Open gate vm for LAB-1",
    ]
    assert lab.gate() == "true"
    kinds = {(event["verb"], event["objectRef"]["resource"]) for event in story.wrote}
    assert kinds == {("patch", "organizations"), ("patch", "configmaps")}, "an add-on, and the fences"


def test_check_mode_as_the_reader_shows_the_plan_and_writes_nothing(story: Story) -> None:
    assert story.checked.code == 0, story.checked.output
    assert story.check_wrote == []
    assert story.checked.recap["changed"] == 0
    for phase in ("close", "releasing", "holders", "reduce", "cap", "released", "let_go"):
        assert f"next  {phase}" in story.checked.output or f"later {phase}" in story.checked.output, phase


def test_a_second_run_changes_nothing(lab: CapacityLab, story: Story) -> None:
    assert story.again.code == 0, story.again.output
    assert story.again.recap["changed"] == 0
    assert story.again_wrote == []
    assert "nothing to do" in story.again.output
    assert lab.gate() == "true"


# A machine that keeps running


@pytest.fixture
def hooks(tmp_path: Path) -> dict[str, Any]:
    """Task files that note what they are told, for both kinds of hook."""
    (tmp_path / "notify.yml").write_text(NOTIFY, encoding="utf-8")
    (tmp_path / "page.yml").write_text(NOTIFY.replace("notified", "paged"), encoding="utf-8")
    return {
        "notify_tasks": [str(tmp_path / "notify.yml")],
        "page_tasks": [str(tmp_path / "page.yml")],
        "noted_folder": str(tmp_path),
    }


def require_waiting(lab: CapacityLab, entitlements: dict[str, Any]) -> None:
    """The record stays releasing and nothing of it is freed: entitlement, lock and gate as during the run."""
    record = lab.record("lab-0")
    assert record is not None
    assert (record["spec"]["state"], record["status"]["reason"]) == ("releasing", "waiting-for-holders")
    assert record["status"]["releasedAt"] == ""
    assert lab.entitlements() == entitlements
    assert lab.lock()["pools"]["h100-vm"]["ticket"] == "lab-0"
    assert lab.lock()["gate"]["vm"]["closedFor"] == ["lab-0"]
    assert lab.gate() == "false"


def test_a_machine_that_keeps_running_is_named_asked_and_waited_for(
    stage: CapacityLab, modules: LiveModules, hooks: dict[str, Any], tmp_path: Path
) -> None:
    lab = stage
    start_machine(lab, "cumulus-lab", "training")
    [launcher] = launchers(lab, "cumulus-lab", "training")
    entitlements = lab.entitlements()
    with lab.mutations() as wrote:
        run = released(lab, "LAB-0", wait_timeout=2, **hooks)
    assert run.code != 0
    require_waiting(lab, entitlements)
    assert "cumulus-lab/VirtualMachine/training" in run.output
    assert "stop their VMs normally" in run.output
    assert {event["objectRef"]["resource"] for event in wrote} == {"configmaps"}, "the fences, nothing else"
    asked = json.loads((tmp_path / "notified.json").read_text(encoding="utf-8"))
    assert (asked["kind"], asked["organization"]) == ("release-requested", "cumulus")
    assert "cumulus-lab/VirtualMachine/training" in asked["owners"]
    paged = json.loads((tmp_path / "paged.json").read_text(encoding="utf-8"))
    assert (paged["kind"], paged["severity"], paged["ticket"]) == ("release-failed", "error", "lab-0")
    assert "training" in paged["message"]
    assert "playbooks/release.yml -e ticket=lab-0" in paged["next_action"]
    assert found(modules.audit()) == set(), "a release that waits is no drift"
    [still] = launchers(lab, "cumulus-lab", "training")
    assert still["metadata"]["uid"] == launcher["metadata"]["uid"]
    stop_machine(lab, "cumulus-lab", "training")
    again = released(lab, "LAB-0", **hooks)
    assert again.code == 0, again.output
    record = lab.record("lab-0")
    assert record is not None
    assert record["spec"]["state"] == "released"
    assert lab.add_ons("cumulus") == {}
    assert lab.hard("cumulus") == "0"


def test_a_launcher_that_is_terminating_still_counts(stage: CapacityLab, modules: LiveModules) -> None:
    lab = stage
    start_machine(lab, "cumulus-lab", "stuck")
    entitlements = lab.entitlements()
    with drifts.fault(device_stuck="cumulus-lab/stuck")(lab):
        stop_machine(lab, "cumulus-lab", "stuck")
        eventually(
            "its launcher is Terminating, and quota counts it no more",
            lambda: bool(
                launchers(lab, "cumulus-lab", "stuck")[0]["metadata"].get("deletionTimestamp")
                and modules.run("gpu_holders_info", profile_id="h100-vm").result["holders"]
                and lab.organization("cumulus")["status"]["quotaUsage"]["accelerators"]["h100-vm"]["devices"][
                    "used"
                ]
                == "0"
            ),
            60,
        )
        with pytest.raises(Refused, match="Terminating"):
            release(modules, "LAB-0", wait_timeout=1)
        require_waiting(lab, entitlements)
    release(modules, "LAB-0", wait_timeout=60)
    record = lab.record("lab-0")
    assert record is not None
    assert record["spec"]["state"] == "released"


def test_a_node_that_is_not_ready_and_a_failing_equation_hold_nothing_up_but_the_end_is_told(
    stage: CapacityLab, modules: LiveModules
) -> None:
    lab = stage
    with drifts.both(drifts.fault(node_not_ready="gpu-02"), drifts.add_ons("aurora", {"gpu-h100-vm": 22}))(
        lab
    ):
        wanted = {("degraded-capacity", "node/gpu-02"), ("hard-quota-above-equation", "pool/h100-vm")}
        eventually("both findings", lambda: found(modules.audit()) == wanted, 60)
        run = released(lab, "LAB-0", reopen=True)
        assert run.code != 0
        assert "gpu-res-lab-0 is released (released), and that stands" in run.output.replace("\n", " ")
        assert "degraded-capacity" in run.output
        record = lab.record("lab-0")
        assert record is not None
        assert record["spec"]["state"] == "released"
        assert lab.add_ons("cumulus") == {}
        assert lab.lock()["pools"] == {}
        assert lab.gate() == "false", "a gate does not open on a service that has not recovered"
        again = released(lab, "LAB-0")
        assert (again.code, again.recap["changed"]) == (0, 0), "the ticket is done"


def test_a_cap_that_was_there_before_is_put_back_and_its_other_keys_stay(
    stage: CapacityLab, modules: LiveModules
) -> None:
    lab = stage
    set_cap(lab, "aurora-vision", {KEY: "3", "pods": "40"})
    require_clean(lab)
    assigned_here(modules, "CAP-1", **survey("aurora", 2, project="vision"))
    assert lab.cap("aurora-vision") == "2"
    release(modules, "CAP-1", wait_timeout=20)
    assert lab.cap("aurora-vision") == "3"
    quota = lab.admin.get("/api/v1/namespaces/aurora-vision/resourcequotas/project-quota")
    assert quota["spec"]["hard"] == {KEY: "3", "pods": "40"}


def test_a_pending_record_is_refused_and_nothing_is_touched(stage: CapacityLab, modules: LiveModules) -> None:
    lab = stage
    recorded_here(modules, "PEND-1", **survey("aurora", 2))
    refs, entitlements = lab.refs(), lab.entitlements()
    with lab.mutations() as wrote:
        run = released(lab, "PEND-1")
    assert run.code != 0
    assert "gpu-res-pend-1 is pending; only an active record is released" in run.output
    assert "playbooks/cancel.yml -e ticket=pend-1" in run.output
    assert (lab.refs(), lab.entitlements(), wrote) == (refs, entitlements, [])
