# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The runbook's examples, with train-01 to train-04 for its gpu-01 to gpu-04."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.tests.integration.reservations.stage import (
    NODES,
    RESERVATIONS,
    Stage,
    bindings,
    example,
    pods,
    shown_taints,
    until,
)

Json = dict[str, Any]
FOO, BAR = "tenant-foo", "tenant-bar"
NAME = "tenant-foo-reservation"
FOUR = ("train-01", "train-02", "train-03", "train-04")
COLLECTIONS = {
    "pod": pods(FOO),
    "deployment": f"/apis/apps/v1/namespaces/{FOO}/deployments",
    "job": f"/apis/batch/v1/namespaces/{FOO}/jobs",
    "daemonset": f"/apis/apps/v1/namespaces/{FOO}/daemonsets",
}
AFFINITY = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "reserved.tenant", "operator": "In", "values": [FOO]}]}
            ]
        }
    }
}
TOLERATION = {"key": "reserved", "operator": "Equal", "value": FOO, "effect": "NoSchedule"}


@pytest.fixture(scope="module")
def reconciled(whole_stage: Stage) -> Iterator[Stage]:
    """The runbook's Reservation and binding, reconciled by its playbook."""
    whole_stage.clear()
    whole_stage.admin.create(RESERVATIONS, example("reservation"))
    whole_stage.tenants[FOO].create(bindings(FOO), example("reservationbinding"))
    whole_stage.play("reservations")
    whole_stage.injected(FOO)
    yield whole_stage
    whole_stage.clear()


@pytest.fixture
def runbook(reconciled: Stage) -> Iterator[Stage]:
    yield reconciled
    reconciled.clear_workloads()


def test_reserved_nodes_carry_label_and_taint_and_the_others_nothing(runbook: Stage) -> None:
    for node in runbook.items(NODES):
        name = node["metadata"]["name"]
        reserved = name in FOUR
        assert (node["metadata"]["labels"].get("reserved.tenant") == FOO) is reserved, name
        assert (f"reserved={FOO}:NoSchedule" in shown_taints(node)) is reserved, name


def test_the_second_run_changes_nothing(runbook: Stage) -> None:
    before = {node["metadata"]["name"]: node["metadata"]["resourceVersion"] for node in runbook.items(NODES)}
    done = runbook.play("reservations")
    assert "changed=0" in done.stdout
    after = {node["metadata"]["name"]: node["metadata"]["resourceVersion"] for node in runbook.items(NODES)}
    assert {name for name in FOUR if before[name] != after[name]} == set()


def test_columns_look_like_the_runbook_s(runbook: Stage) -> None:
    def kubectl(*arguments: str) -> list[list[str]]:
        command = ["kubectl", "--kubeconfig", str(runbook.lab.kubeconfig("gpuops")), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        return [line.split() for line in done.stdout.splitlines()]

    header, row = kubectl("get", "reservations")
    assert header == ["NAME", "TENANT", "RESERVED", "AGE"]
    assert row[:3] == [NAME, FOO, "4"]
    header, row = kubectl("get", "reservationbindings", "-n", FOO)
    assert header == ["NAME", "RESERVATION", "ACCEPTED", "AGE"]
    assert row[:3] == ["tenant-foo-binding", NAME, "True"]
    found = kubectl("get", "nodes", "-l", f"reserved.tenant={FOO}", "--no-headers")
    assert [line[0] for line in found] == list(FOUR)


@pytest.mark.parametrize("kind", COLLECTIONS)
def test_an_ordinary_workload_is_injected_and_lands_on_a_reserved_node(runbook: Stage, kind: str) -> None:
    runbook.tenants[FOO].create(COLLECTIONS[kind], example(kind))

    def placed() -> list[Json]:
        return [pod for pod in runbook.items(pods(FOO)) if pod["spec"].get("nodeName")]

    for pod in until(f"a Pod of the {kind} has a node", placed):
        assert pod["spec"]["nodeName"] in FOUR
        assert TOLERATION in pod["spec"]["tolerations"]
        if (
            kind != "daemonset"
        ):  # its controller replaces the terms by the node's name, which is injected again
            assert pod["spec"]["affinity"] == AFFINITY


def test_a_daemonset_gets_one_pod_on_each_reserved_node_and_on_no_other(runbook: Stage) -> None:
    runbook.tenants[FOO].create(COLLECTIONS["daemonset"], example("daemonset"))
    path = f"{COLLECTIONS['daemonset']}/training-agent"
    until("four are wanted", lambda: runbook.get(path)["status"].get("numberReady") == 4)
    assert runbook.get(path)["status"]["desiredNumberScheduled"] == 4
    assert sorted(pod["spec"]["nodeName"] for pod in runbook.items(pods(FOO))) == list(FOUR)


def test_others_never_land_on_reserved_nodes(runbook: Stage) -> None:
    """Whole nodes are free elsewhere, and not enough of them: whoever finds none waits."""
    for number in range(2):
        runbook.tenants[BAR].create(pods(BAR), runbook.pod(f"bar-{number}", BAR))
        runbook.tenants[FOO].create(pods(FOO), runbook.pod(f"unlabelled-{number}", FOO, labels={}))

    def settled() -> bool:
        found = [*runbook.items(pods(BAR)), *runbook.items(pods(FOO))]
        return len(found) == 4 and all(
            pod["spec"].get("nodeName") or pod.get("status", {}).get("conditions") for pod in found
        )

    until("the scheduler has looked at all of them", settled)
    nodes = {pod["spec"].get("nodeName") for path in (pods(BAR), pods(FOO)) for pod in runbook.items(path)}
    assert not nodes & set(FOUR)


def test_reapplying_a_bare_pod_is_accepted_and_changes_nothing(runbook: Stage) -> None:
    """Also of one with terms and tolerations of its own, whose lists a re-application replaces."""
    bare = runbook.pod("again", FOO, gpus=0)
    term = {"matchExpressions": [{"key": "hardware-pool", "operator": "Exists"}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    bare["spec"]["affinity"] = {"nodeAffinity": required}
    bare["spec"]["tolerations"] = [{"key": "example.com/mine", "operator": "Exists"}]
    kubectl = ["kubectl", "--kubeconfig", str(runbook.lab.kubeconfig(FOO)), "apply", "-f", "-"]
    for _ in range(2):
        done = subprocess.run(
            kubectl, input=json.dumps(bare), capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stderr
    stored = runbook.get(f"{pods(FOO)}/again")
    assert TOLERATION in stored["spec"]["tolerations"]
    terms = stored["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    keys = [one["key"] for one in terms["nodeSelectorTerms"][0]["matchExpressions"]]
    assert keys == ["hardware-pool", "reserved.tenant"]


def test_a_quota_bounds_a_tenant_inside_its_reservation(runbook: Stage) -> None:
    document = example("resourcequota")
    document["spec"]["hard"] = {"requests.nvidia.com/gpu": "8"}
    runbook.admin.create(f"/api/v1/namespaces/{FOO}/resourcequotas", document)
    path = f"/api/v1/namespaces/{FOO}/resourcequotas/{document['metadata']['name']}"
    # A quota binds nobody before its controller has taken it up.
    until("the quota is in force", lambda: runbook.get(path).get("status", {}).get("hard"))
    runbook.run_pod("one", FOO)
    until(
        "the Pod is counted",
        lambda: runbook.get(path)["status"].get("used", {}).get("requests.nvidia.com/gpu") == "8",
    )
    document = example("deployment")
    runbook.tenants[FOO].create(COLLECTIONS["deployment"], document)

    def refused() -> Json | None:
        found = runbook.diagnose(namespace=FOO, owner="deployment/training")
        return found if found["diagnosis"] == "quota-exhausted" else None

    found = until("the quota is the diagnosis", refused)
    assert any("requests.nvidia.com/gpu 8 used of 8" in fact for fact in found["facts"])
