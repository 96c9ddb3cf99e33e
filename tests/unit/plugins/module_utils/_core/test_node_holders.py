# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What keeps a device of a node, by which name, and what an operator is told to do about it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpuops.reservations.plugins.module_utils._core.cluster_objects import Pod
from ansible_collections.gpuops.reservations.plugins.module_utils._core.node_holders import (
    CLAIM,
    held_resources,
    node_holders,
)

GPU = {"nvidia.com/gpu": "1"}


def pod(
    name: str = "train-0",
    *,
    namespace: str = "org-a",
    node: str = "acc-7",
    phase: str = "Running",
    owner: tuple[str, str] | None = ("Job", "training"),
    terminating: bool = False,
    **spec: Any,
) -> Pod:
    metadata: dict[str, Any] = {"name": name, "namespace": namespace}
    if owner:
        metadata["ownerReferences"] = [{"kind": owner[0], "name": owner[1], "controller": True}]
    if terminating:
        metadata["deletionTimestamp"] = "2026-01-02T03:04:05Z"
    if not spec:
        spec = {"containers": [{"resources": {"limits": GPU}}]}
    return Pod.model_validate(
        {"metadata": metadata, "spec": {"nodeName": node, **spec}, "status": {"phase": phase}}
    )


def names(*pods: Pod) -> list[str]:
    return [f"{held.namespace}/{held.kind}/{held.name}" for held in node_holders("acc-7", pods)]


@pytest.mark.parametrize("phase", ["Pending", "Running", "Unknown", ""])
def test_a_pod_that_has_not_finished_holds(phase: str) -> None:
    assert names(pod(phase=phase)) == ["org-a/Job/training"]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
@pytest.mark.parametrize("terminating", [True, False])
def test_a_finished_pod_does_not(phase: str, terminating: bool) -> None:
    assert names(pod(phase=phase, terminating=terminating)) == []


def test_a_terminating_pod_holds_until_it_is_gone() -> None:
    (held,) = node_holders("acc-7", [pod(terminating=True)])
    assert held.terminating
    assert "Terminating" in held.sentence
    assert "wait until" in held.next_action


def test_pods_of_other_nodes_are_left_out() -> None:
    assert names(pod(node="acc-70"), pod("b", node="")) == []


@pytest.mark.parametrize("part", ["containers", "initContainers", "ephemeralContainers"])
@pytest.mark.parametrize("side", ["requests", "limits"])
@pytest.mark.parametrize(
    "resource",
    [
        "nvidia.com/gpu",
        "nvidia.com/GH100",
        "requests.nvidia.com/gpumem",
        "amd.com/gpu",
        "amd.com/gpu-vf",
        "gpu.intel.com/i915",
    ],
)
def test_every_kind_of_container_and_every_vendor_counts(part: str, side: str, resource: str) -> None:
    spec: dict[str, Any] = {part: [{"resources": {side: {resource: "1"}}}]}
    assert held_resources(pod(**spec)) == {resource}


def test_overhead_and_whole_pod_resources_count() -> None:
    assert held_resources(pod(overhead=GPU)) == {"nvidia.com/gpu"}
    assert held_resources(pod(resources={"limits": GPU})) == {"nvidia.com/gpu"}


@pytest.mark.parametrize(
    "resource",
    ["cpu", "example.com/nvidia.com", "nvidia.community/gpu", "amd.com/fpga", "limits.nvidia.com/x"],
)
def test_other_resources_do_not(resource: str) -> None:
    assert held_resources(pod(containers=[{"resources": {"limits": {resource: "1"}}}])) == frozenset()


@pytest.mark.parametrize(
    ("amount", "held"), [("0", False), ("0.0", False), ("1m", True), ("nonsense", True), ("-1", False)]
)
def test_only_a_positive_amount_counts_and_an_unreadable_one_does(amount: str, held: bool) -> None:
    assert (
        bool(held_resources(pod(containers=[{"resources": {"limits": {"nvidia.com/gpu": amount}}}]))) is held
    )


def test_any_resource_claim_counts() -> None:
    assert held_resources(pod(resourceClaims=[{"name": "gpu"}])) == {CLAIM}


def test_pods_of_one_controller_are_one_holder_with_merged_sorted_resources() -> None:
    found = node_holders(
        "acc-7",
        [
            pod("b", containers=[{"resources": {"limits": {"nvidia.com/z": "1"}}}], terminating=True),
            pod("a", containers=[{"resources": {"limits": {"amd.com/gpu": "1"}}}]),
            pod("c", namespace="org-0"),
        ],
    )
    assert [(held.namespace, held.name, held.resources) for held in found] == [
        ("org-0", "training", ("nvidia.com/gpu",)),
        ("org-a", "training", ("amd.com/gpu", "nvidia.com/z")),
    ]
    assert not found[1].terminating


def test_a_pod_without_controller_stands_for_itself() -> None:
    assert names(pod(owner=None)) == ["org-a/Pod/train-0"]


@pytest.mark.parametrize(
    ("namespace", "job", "told"),
    [
        (
            "gpu-operator",
            "hami-device-plugin-canary-29384710",
            "CronJob gpu-operator/hami-device-plugin-canary",
        ),
        ("org-a", "nightly-29384710", "CronJob org-a/nightly"),
        ("kube-dc", "gpu-check", "CronJob in namespace kube-dc"),
        ("org-a", "my-canary", "CronJob in namespace org-a"),
    ],
)
def test_the_cron_job_to_suspend_is_named(namespace: str, job: str, told: str) -> None:
    (held,) = node_holders("acc-7", [pod(namespace=namespace, owner=("Job", job))])
    assert told in held.next_action
    assert "suspend" in held.next_action


def test_an_ordinary_owner_is_asked() -> None:
    (held,) = node_holders("acc-7", [pod(owner=("VirtualMachineInstance", "gpu-vm"))])
    assert held.next_action == "ask the owner of org-a/VirtualMachineInstance/gpu-vm to stop it"


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["Job", "ReplicaSet"])), max_size=8),
    st.randoms(),
)
def test_the_order_of_pods_does_not_matter(owners: list[tuple[str, str]], random: Any) -> None:
    pods = [pod(f"p{i}", owner=(kind, name)) for i, (name, kind) in enumerate(owners)]
    shuffled = list(pods)
    random.shuffle(shuffled)
    assert node_holders("acc-7", pods) == node_holders("acc-7", shuffled)
