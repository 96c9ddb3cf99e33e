# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""playbooks/transition.yml as an operator runs it: gates, node, capacity, smoke cycle, audit."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.gpuops.reservations.tests.integration.node_mode.lab_stage import (
    CONFIG,
    NODE,
    RULES,
    LabStage,
    eventually,
)
from lab.platform.api import Api as PlatformApi
from lab.platform.faults import clear_faults, set_fault

pytestmark = [pytest.mark.lab, pytest.mark.slow]

TO_VM: dict[str, Any] = {
    "node": NODE,
    "from_mode": "pod-hami",
    "to_mode": "vm-passthrough",
    "poll_interval": 1,
}
TO_POD: dict[str, Any] = {**TO_VM, "from_mode": "vm-passthrough", "to_mode": "pod-hami"}


def recap(output: str) -> dict[str, int]:
    """The counts of a playbook's last line."""
    return {name: int(count) for name, count in re.findall(r"(\w+)=(\d+)", output.rsplit("PLAY RECAP", 1)[1])}


def test_there_and_back_with_the_gates_closed_and_reopened(stage: LabStage) -> None:
    rules, config = stage.file(RULES), stage.file(CONFIG)
    preview = stage.playbook("transition", "--check", **TO_VM, close_gates=True)
    assert preview.code == 0, preview.output
    assert "close both creation gates" in preview.output
    assert (stage.file(RULES), stage.file(CONFIG)) == (rules, config)
    assert stage.locked_by() == {}
    there = stage.playbook("transition", **TO_VM, close_gates=True)
    assert there.code == 0, there.output
    stage.at_rest("vm-passthrough")
    assert "2 healthy schedulable devices" in there.output
    assert stage.gates() == {"false"}, "reopen was not asked for"
    assert "playbooks/creation_gate.yml" in there.output
    head = stage.remote.tip()
    again = stage.playbook("transition", **TO_VM, close_gates=True)
    assert again.code == 0, again.output
    assert recap(again.output)["changed"] == 0
    assert stage.remote.tip() == head
    assert stage.gates() == {"false"}
    back = stage.playbook("transition", **TO_POD)
    assert back.code == 0, back.output
    stage.at_rest("pod-hami")
    assert stage.file(RULES) == rules
    closed = config.replace(b"_CREATION_ENABLED=true", b"_CREATION_ENABLED=false")
    assert stage.file(CONFIG) == closed


def test_reopened_gates_are_as_they_were(stage: LabStage) -> None:
    rules, config = stage.file(RULES), stage.file(CONFIG)
    there = stage.playbook("transition", **TO_VM, close_gates=True, reopen=True)
    assert there.code == 0, there.output
    head = stage.remote.tip()
    for asked_for in ({}, {"reopen": True}):
        again = stage.playbook("transition", **TO_VM, close_gates=True, **asked_for)
        assert again.code == 0, again.output
        assert recap(again.output)["changed"] == 0
    assert stage.remote.tip() == head, "a healthy node is left alone, and so are the gates of production"
    back = stage.playbook("transition", **TO_POD, close_gates=True, reopen=True)
    assert back.code == 0, back.output
    assert (stage.file(RULES), stage.file(CONFIG)) == (rules, config)
    eventually("both gates to be open again", lambda: stage.gates() == {"true"})


def test_a_no_touches_no_gate(stage: LabStage) -> None:
    head = stage.remote.tip()
    pod = holder(stage)
    try:
        refused = stage.playbook("transition", **TO_VM, close_gates=True)
    finally:
        stage.admin.delete(pod)
    assert refused.code != 0
    assert f"{pod.split('/')[4]}/Pod/trains" in refused.output
    assert not stage.cordoned()
    assert stage.lock() == {}
    assert stage.remote.tip() == head
    assert stage.gates() == {"true"}


def test_a_no_after_the_gates_were_closed_puts_them_back(stage: LabStage) -> None:
    """The holder comes while the gates are being closed."""
    config = stage.file(CONFIG)
    process = stage.start(*stage.playbook_command("transition", **TO_VM, close_gates=True))
    eventually("a gate to be closed in the fleet", lambda: stage.file(CONFIG) != config)
    pod = holder(stage)
    try:
        output, _ = process.communicate(timeout=300)
    finally:
        stage.admin.delete(pod)
    assert process.returncode != 0
    assert f"{pod.split('/')[4]}/Pod/trains" in output
    assert not stage.cordoned()
    assert stage.locked_by() == {}
    assert stage.file(CONFIG) == config
    assert stage.gates() == {"true"}


def test_a_node_that_somebody_cordoned_is_no_reason_to_page(stage: LabStage) -> None:
    """The module's refusal tells no event, and the hooks are not called for it."""
    told = stage.folder / "told.json"
    page = note_the_page(stage, told)
    node = stage.node()
    node["spec"]["unschedulable"] = True
    stage.admin.replace(f"/api/v1/nodes/{NODE}", node)
    refused = stage.playbook("transition", **TO_VM, close_gates=True, page_tasks=[str(page)])
    assert refused.code != 0
    assert "already cordoned" in refused.output
    assert not told.exists()
    assert stage.gates() == {"true"}
    assert stage.cordoned()


def holder(stage: LabStage) -> str:
    """A Pod that holds a shared device of the node; answers its path."""
    node = stage.node()
    resource = next(name for name in node["status"]["allocatable"] if name.startswith("nvidia.com/"))
    namespace = "/api/v1/namespaces/borealis-ml/pods"
    for quota in stage.admin.get("/api/v1/namespaces/borealis-ml/resourcequotas")["items"]:
        hard = quota["spec"]["hard"].get(f"requests.{resource}")
        if hard == "0":
            namespace = "/api/v1/namespaces/default/pods"
    content = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "trains"},
        "spec": {
            "nodeName": NODE,
            "containers": [
                {"name": "main", "image": "main", "resources": {"limits": {resource: "1"}}},
            ],
        },
    }
    stage.admin.create(namespace, content)
    return f"{namespace}/trains"


def test_open_gates_are_refused_without_close_gates(stage: LabStage) -> None:
    refused = stage.playbook("transition", **TO_VM)
    assert refused.code != 0
    assert "GPU_VM_CREATION_ENABLED" in refused.output
    assert "close_gates=true" in refused.output
    assert not stage.cordoned()


def test_stopped_cordoned_paged_and_resumed(stage: LabStage) -> None:
    told = stage.folder / "told.json"
    page = note_the_page(stage, told)
    failing = stage.folder / "failing.yml"
    fail = {"msg": "pager is out of order"}
    failing.write_text(yaml.safe_dump([{"name": "Fail", "ansible.builtin.fail": fail}]))
    platform = PlatformApi(stage.lab.kubeconfig("admin"))
    set_fault(platform, freeze_labels="*")
    head = stage.remote.tip()
    try:
        # Gates and node share one limit; the gates need some seconds of it.
        stopped = stage.playbook(
            "transition", **TO_VM, close_gates=True, wait_timeout=25, page_tasks=[str(page), str(failing)]
        )
    finally:
        clear_faults(platform)
    assert stopped.code != 0
    assert "pager is out of order" in stopped.output
    last_words = stopped.output.rindex("Stop with the reason and the way on")
    assert "resume_cordoned=true" in stopped.output[last_words:], "told last, whatever the hooks do"
    assert stage.cordoned()
    assert json.loads(stage.mark() or "{}")["by"] == "transition"
    assert stage.locked_by() == {"v100-vm": f"transition:{NODE}"}
    assert "false" in stage.gates()
    event = json.loads(told.read_text())
    assert event["kind"] == "transition-stopped"
    assert event["profile"] == "v100-vm"
    assert "resume_cordoned=true" in event["next_action"]
    without_consent = stage.playbook("transition", **TO_VM)
    assert without_consent.code != 0
    assert stage.cordoned()
    resumed = stage.playbook("transition", **TO_VM, resume_cordoned=True, close_gates=True, reopen=True)
    assert resumed.code == 0, resumed.output
    stage.at_rest("vm-passthrough")
    moves = [commit for commit in stage.remote.commits(head) if moved(stage, commit)]
    assert len(moves) == 1


def note_the_page(stage: LabStage, told: Path) -> Path:
    """A hook that writes its event into a file."""
    page = stage.folder / "page.yml"
    copy = {"content": "{{ gpuops_event | to_json }}", "dest": str(told), "mode": "0600"}
    page.write_text(yaml.safe_dump([{"name": "Note the page", "ansible.builtin.copy": copy}]))
    return page


def moved(stage: LabStage, commit: str) -> bool:
    """Whether a commit changed the rule file."""
    return stage.remote.file(RULES, commit) != stage.remote.file(RULES, f"{commit}^")


def test_no_quota_for_the_smoke_cycle_is_found_before_anything_begins(stage: LabStage) -> None:
    head = stage.remote.tip()
    config = stage.file(CONFIG)
    refused = stage.playbook(
        "transition", **TO_VM, close_gates=True, smoke_organization="borealis", smoke_project="ml"
    )
    assert refused.code != 0
    assert "quota" in refused.output
    assert "borealis/ml" in refused.output
    assert not stage.cordoned()
    assert stage.file(CONFIG) == config
    assert not [commit for commit in stage.remote.commits(head) if moved(stage, commit)]


def test_a_transition_against_an_assign_of_the_pool(stage: LabStage) -> None:
    there = stage.playbook("transition", **TO_VM, close_gates=True, reopen=True)
    assert there.code == 0, there.output
    with ThreadPoolExecutor(2) as pool:
        assigning = pool.submit(stage.playbook, "assign", ticket="LAB-3")
        moving = pool.submit(stage.playbook, "transition", **TO_POD, close_gates=True)
        assigned, moved_back = assigning.result(), moving.result()
    assert (assigned.code == 0) != (moved_back.code == 0), assigned.output + moved_back.output
    if assigned.code == 0:
        assert stage.mode() == "vm-passthrough"
        assert not stage.cordoned()
    else:
        stage.at_rest("pod-hami")


def test_a_sequential_pool_is_sold_in_one_mode_at_a_time(stage: LabStage) -> None:
    """LAB-3: refused with the command to run, assigned after it, and no way back before the release."""
    refused = stage.playbook("assign", ticket="LAB-3")
    assert refused.code != 0
    told = " ".join(refused.output.split())
    assert (
        "playbooks/transition.yml -e node=acc-01 -e from_mode=pod-hami -e to_mode=vm-passthrough "
        "-e close_gates=true" in told
    )
    assert stage.locked_by() == {}
    there = stage.playbook("transition", **TO_VM, close_gates=True, reopen=True)
    assert there.code == 0, there.output
    assigned = stage.playbook("assign", ticket="LAB-3", reopen=True, poll_interval=1)
    assert assigned.code == 0, assigned.output
    back = stage.playbook("transition", **TO_POD, close_gates=True)
    assert back.code != 0
    assert "gpu-res-lab-3" in back.output
    assert stage.mode() == "vm-passthrough"
    assert not stage.cordoned()
    eventually("the gates to be put back", lambda: stage.gates() == {"true"})
    released = stage.playbook("release", ticket="LAB-3", reopen=True, poll_interval=1)
    assert released.code == 0, released.output
    free = stage.playbook("transition", **TO_POD, close_gates=True, reopen=True)
    assert free.code == 0, free.output
    stage.at_rest("pod-hami")


def test_the_smoke_cycle_runs_where_there_is_quota(stage: LabStage) -> None:
    grant_ordinary_devices(stage)
    moved_there = stage.playbook(
        "transition",
        **TO_VM,
        close_gates=True,
        reopen=True,
        smoke_organization="borealis",
        smoke_project="ml",
        smoke_poll_interval=1,
    )
    assert moved_there.code == 0, moved_there.output
    assert "gpuops.reservations.smoke" in moved_there.output
    stage.at_rest("vm-passthrough")
    machines = stage.admin.get("/apis/kubevirt.io/v1/namespaces/borealis-ml/virtualmachines")["items"]
    assert [each["metadata"]["name"] for each in machines if "smoke" in each["metadata"]["name"]] == []


def grant_ordinary_devices(stage: LabStage) -> None:
    """An ordinary add-on for one V100, and borealis has it: quota without any reservation."""
    plans = "/api/v1/namespaces/kube-dc/configmaps/billing-plans"
    found = stage.admin.get(plans)
    document = yaml.safe_load(found["data"]["plans.yaml"])
    document["addons"]["gpu-v100-vm"] = {
        **{key: value for key, value in document["addons"]["gpu-h100-vm"].items() if key != "gpu"},
        "gpu": {"v100-vm": {"devices": 1}},
    }
    found["data"]["plans.yaml"] = yaml.safe_dump(document)
    stage.admin.replace(plans, found)
    path = "/apis/kube-dc.com/v1/namespaces/borealis/organizations/borealis"
    organization = stage.admin.get(path)
    entries = json.loads(organization["metadata"]["annotations"]["billing.kube-dc.com/addons"])
    entries.append({"addonId": "gpu-v100-vm", "quantity": 1})
    organization["metadata"]["annotations"]["billing.kube-dc.com/addons"] = json.dumps(entries)
    stage.admin.replace(path, organization)
    quota = "/api/v1/namespaces/borealis-ml/resourcequotas/hrq.hnc.x-k8s.io"
    key = "requests.nvidia.com/GV100GL_V100_PCIE_16GB"
    eventually(
        "one V100 in the project's quota", lambda: stage.admin.get(quota)["spec"]["hard"].get(key) == "1"
    )
