# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every failure mode of the runbook, made on the lab: its name, the fact that shows it, the fix."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.tests.integration.reservations.stage import (
    NODES,
    Stage,
    bindings,
    example,
    pods,
    refusal,
    until,
)

Json = dict[str, Any]
FOO, BAR = "tenant-foo", "tenant-bar"
RBAC = "/apis/rbac.authorization.k8s.io/v1"


@pytest.fixture
def held(stage: Stage) -> Stage:
    stage.reserve("foo", FOO, ["train-01", "train-02"])
    stage.bind(FOO, "foo")
    stage.reconcile()
    stage.injected(FOO)
    return stage


def looked_at(stage: Stage, name: str, namespace: str = FOO) -> None:
    """Wait until the scheduler has given a Pod a node, or has said why not."""
    until(
        f"the scheduler has looked at {name}",
        lambda: stage.get(f"{pods(namespace)}/{name}").get("status", {}).get("conditions"),
    )


def ask(stage: Stage, name: str = "job", namespace: str = FOO) -> Json:
    looked_at(stage, name, namespace)
    return stage.diagnose(namespace=namespace, pod=name)


def facts(found: Json) -> str:
    return "; ".join(found["facts"])


def test_healthy(held: Stage) -> None:
    held.run_pod("job", FOO)
    assert ask(held)["diagnosis"] == "healthy"


def test_no_binding_in_the_namespace(held: Stage) -> None:
    held.tenants[FOO].delete(f"{bindings(FOO)}/{FOO}-binding")
    until(
        "nothing is injected",
        lambda: (
            "affinity" not in held.tenants[FOO].create(pods(FOO), held.pod("x", FOO), dry_run=True)["spec"]
        ),
    )
    held.tenants[FOO].create(pods(FOO), held.pod("job", FOO))
    found = ask(held)
    assert found["diagnosis"] == "no-binding"
    assert f"namespace {FOO}" in facts(found)


def test_selector_mismatch_names_the_label(held: Stage) -> None:
    labels = {"app.kubernetes.io/managed-by": "somebody"}
    held.tenants[FOO].create(pods(FOO), held.pod("job", FOO, labels=labels))
    found = ask(held)
    assert found["diagnosis"] == "selector-mismatch"
    assert "app.kubernetes.io/managed-by is somebody" in facts(found)


def test_pods_with_devices_that_no_binding_covers_are_listed(held: Stage) -> None:
    held.run_pod("job", FOO)
    for name, gpus in (("forgotten", 2), ("plain", 0)):
        held.tenants[FOO].create(pods(FOO), held.pod(name, FOO, gpus=gpus, labels={"app": name}))
    found = ask(held)
    assert found["diagnosis"] == "healthy"
    assert found["uncovered"] == ["forgotten: nvidia.com/gpu 2"]


def test_injection_that_is_switched_off(held: Stage) -> None:
    path = f"{bindings(FOO)}/{FOO}-binding"
    held.tenants[FOO].patch(path, {"spec": {"injectAffinity": False, "injectToleration": False}})
    until("nothing is injected", lambda: "affinity" not in dry(held)["spec"])
    held.tenants[FOO].create(pods(FOO), held.pod("job", FOO, nodeSelector={"reserved.tenant": FOO}))
    found = ask(held)
    assert found["diagnosis"] == "injection-switched-off"
    assert "injectAffinity is false: tenant-foo/tenant-foo-binding" in facts(found)


def test_no_reserved_node_of_the_tenant_exists(stage: Stage) -> None:
    stage.reserve("foo", FOO, ["train-98", "train-99"])
    stage.bind(FOO, "foo")
    stage.reconcile()
    stage.injected(FOO)
    stage.tenants[FOO].create(pods(FOO), stage.pod("job", FOO))
    found = ask(stage)
    assert found["diagnosis"] == "reserved-nodes-missing"
    assert "train-98" in facts(found)


def dry(stage: Stage) -> Json:
    return stage.tenants[FOO].create(pods(FOO), stage.pod("probe", FOO), dry_run=True)


def test_namespace_without_tenant(held: Stage) -> None:
    path = f"/api/v1/namespaces/{FOO}"
    held.admin.patch(path, {"metadata": {"labels": {"reserved.tenant": None}}})
    try:
        held.admin.create(pods(FOO), held.pod("job", FOO, gpus=9))
        found = ask(held)
        assert found["diagnosis"] == "namespace-without-tenant"
        assert "kubectl label namespace tenant-foo" in found["fix"]
    finally:
        held.admin.patch(path, {"metadata": {"labels": {"reserved.tenant": FOO}}})


def test_binding_not_accepted(stage: Stage) -> None:
    stage.bind(FOO, "nobody")
    stage.injected(FOO)
    stage.tenants[FOO].create(pods(FOO), stage.pod("job", FOO))
    found = ask(stage)
    assert found["diagnosis"] == "binding-not-accepted"
    assert "there is no Reservation nobody" in facts(found)


def test_overlap(held: Stage) -> None:
    held.reserve("bar", BAR, ["train-02", "train-03"])
    held.bind(BAR, "bar")
    held.injected(BAR)
    held.tenants[BAR].create(pods(BAR), held.pod("job", BAR))
    found = ask(held, namespace=BAR)
    assert found["diagnosis"] == "overlap"
    assert "train-02 is held by Reservation foo" in facts(found)


def test_a_pod_older_than_its_binding(stage: Stage) -> None:
    stage.reserve("foo", FOO, ["train-01"])
    stage.tenants[FOO].create(pods(FOO), stage.pod("job", FOO, nodeSelector={"reserved.tenant": FOO}))
    stage.bind(FOO, "foo")
    stage.reconcile()
    found = ask(stage)
    assert found["diagnosis"] == "pod-older-than-binding"
    assert "create the Pod again" in found["fix"]


def test_a_daemonset_older_than_its_binding(stage: Stage) -> None:
    stage.reserve("foo", FOO, ["train-01"])
    stage.reconcile()
    stage.tenants[FOO].create(f"/apis/apps/v1/namespaces/{FOO}/daemonsets", example("daemonset"))
    stage.bind(FOO, "foo")
    stage.reconcile()
    until("it makes Pods", lambda: stage.items(pods(FOO)))
    found = stage.diagnose(namespace=FOO, owner="daemonset/training-agent")
    assert found["diagnosis"] == "daemonset-template-not-injected"
    assert "rollout restart daemonset/training-agent" in found["fix"]


def test_all_reserved_nodes_cordoned(held: Stage) -> None:
    for name in ("train-01", "train-02"):
        held.admin.patch(f"{NODES}/{name}", {"spec": {"unschedulable": True}})
    held.tenants[FOO].create(pods(FOO), held.pod("job", FOO))
    found = ask(held)
    assert found["diagnosis"] == "all-reserved-nodes-cordoned"
    assert "train-01: cordoned (SchedulingDisabled)" in facts(found)
    assert "kubectl uncordon train-01 train-02" in found["fix"]


def test_resource_shortage_says_what_is_asked_and_free(held: Stage) -> None:
    held.run_pod("one", FOO, gpus=5)
    held.run_pod("two", FOO, gpus=5)
    held.tenants[FOO].create(pods(FOO), held.pod("job", FOO, gpus=4))
    found = ask(held)
    assert found["diagnosis"] == "resource-shortage"
    assert "asked: nvidia.com/gpu 4" in facts(found)
    assert "train-01: nvidia.com/gpu 3 free of 8" in facts(found)
    assert "train-02: nvidia.com/gpu 3 free of 8" in facts(found)


def test_another_taint(held: Stage) -> None:
    for name in ("train-01", "train-02"):
        there = held.node(name)["spec"]["taints"]
        taint = {"key": "example.com/broken", "value": "fan", "effect": "NoSchedule"}
        held.admin.patch(f"{NODES}/{name}", {"spec": {"taints": [*there, taint]}})
    held.tenants[FOO].create(pods(FOO), held.pod("job", FOO))
    found = ask(held)
    assert found["diagnosis"] == "another-taint"
    assert "train-01: example.com/broken=fan:NoSchedule" in facts(found)


def test_a_wish_of_its_own_that_contradicts(held: Stage) -> None:
    held.tenants[FOO].create(pods(FOO), held.pod("job", FOO, nodeSelector={"zone": "nowhere"}))
    found = ask(held)
    assert found["diagnosis"] == "contradictory-wishes"
    assert "zone In [nowhere]" in facts(found)


def test_a_scheduling_gate(held: Stage) -> None:
    gates = [{"name": "example.com/queue"}]
    held.tenants[FOO].create(pods(FOO), held.pod("job", FOO, schedulingGates=gates))
    found = ask(held)
    assert found["diagnosis"] == "scheduling-gate"
    assert "example.com/queue" in facts(found)


def test_another_scheduler(held: Stage) -> None:
    held.tenants[FOO].create(pods(FOO), held.pod("job", FOO, schedulerName="volcano"))
    found = held.diagnose(namespace=FOO, pod="job")
    assert found["diagnosis"] == "another-scheduler"


def test_no_reserved_node_yet(held: Stage) -> None:
    held.reserve("bar", BAR, ["train-03"])
    held.bind(BAR, "bar")
    held.injected(BAR)
    held.tenants[BAR].create(pods(BAR), held.pod("job", BAR))
    found = ask(held, namespace=BAR)
    assert found["diagnosis"] == "not-reconciled"
    assert "train-03" in facts(found)


def test_refused_by_a_policy(held: Stage) -> None:
    document = example("deployment")
    document["spec"]["template"]["spec"]["tolerations"] = [{"operator": "Exists"}]
    held.tenants[FOO].create(f"/apis/apps/v1/namespaces/{FOO}/deployments", document)

    def refused() -> Json | None:
        found = held.diagnose(namespace=FOO, owner="deployment/training")
        return found if found["diagnosis"] == "refused-by-policy" else None

    found = until("the refusal is the diagnosis", refused)
    assert "gpuops-reservation-tolerations" in facts(found)


def stray(stage: Stage, **spec: Any) -> None:
    stage.admin.create(pods(BAR), stage.pod("stray", BAR, **spec))


def test_on_a_foreign_node_by_node_name(held: Stage) -> None:
    stray(held, nodeName="train-01")
    found = held.diagnose(namespace=BAR, pod="stray")
    assert found["diagnosis"] == "foreign-tenants-node"
    assert "spec.nodeName was set at its creation" in facts(found)


def test_on_a_foreign_node_by_hand(held: Stage) -> None:
    stray(held, schedulerName="nobody")
    target = {"apiVersion": "v1", "kind": "Node", "name": "train-01"}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "stray"}, "target": target}
    held.admin.create(f"{pods(BAR)}/stray/binding", binding)
    found = held.diagnose(namespace=BAR, pod="stray")
    assert found["diagnosis"] == "foreign-tenants-node"
    assert "bound by hand" in facts(found)


def test_on_a_foreign_node_because_it_was_there_before(stage: Stage) -> None:
    stage.run_pod("stray", BAR, nodeSelector={"kubernetes.io/hostname": "train-01"})
    scheduled = _scheduled(stage)
    until("a second has passed", lambda: stage.operator.version() and stage.operator.server_time > scheduled)
    stage.reserve("foo", FOO, ["train-01"])
    stage.reconcile()
    found = stage.diagnose(namespace=BAR, pod="stray")
    assert found["diagnosis"] == "foreign-tenants-node"
    assert "it was there before" in facts(found)


def _scheduled(stage: Stage) -> str:
    conditions = stage.get(f"{pods(BAR)}/stray")["status"]["conditions"]
    return next(str(one["lastTransitionTime"]) for one in conditions if one["type"] == "PodScheduled")


def test_not_found(held: Stage) -> None:
    found = held.diagnose(namespace=FOO, pod="nobody")
    assert found["diagnosis"] == "not-found"
    assert "owner=kind/name" in found["fix"]


@pytest.fixture
def without_policy_binding(held: Stage) -> Iterator[Stage]:
    path = (
        "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings/gpuops-reservation-injection"
    )
    there = held.get(path)
    held.admin.delete(path)
    yield held
    metadata = {"name": there["metadata"]["name"], "labels": there["metadata"].get("labels", {})}
    held.admin.create(path.rpartition("/")[0], {**there, "metadata": metadata})
    # In force a moment later: until then Pods that should be injected are refused.
    until("the binding is in force", lambda: not refusal(lambda: held.reconcile(check_mode=True)))


def test_a_policy_that_is_not_bound_comes_first(without_policy_binding: Stage) -> None:
    stage = without_policy_binding
    stage.admin.create(pods(FOO), stage.pod("job", FOO, labels={}, gpus=9))
    found = ask(stage)
    assert found["diagnosis"] == "policies-missing"
    assert "gpuops-reservation-injection is not bound" in facts(found)
    assert "selector-mismatch" in [one["diagnosis"] for one in found["others"]]


@pytest.fixture
def without_permission(held: Stage) -> Iterator[Stage]:
    path = f"{RBAC}/clusterroles/gpuops-reservations-operator"
    role = held.get(path)
    rules = json.loads(json.dumps(role["rules"]))
    for rule in rules:
        if rule["resources"] == ["nodes"]:
            rule["verbs"] = ["get"]
    held.admin.patch(path, {"rules": rules})
    capacity = f"{RBAC}/clusterroles/gpuops-capacity-operator"
    other = held.get(capacity)
    held.admin.patch(capacity, {"rules": [one for one in other["rules"] if one["resources"] != ["nodes"]]})
    until("it may not any more", lambda: not held.operator.access_review("patch", "nodes"))
    yield held
    held.admin.patch(path, {"rules": role["rules"]})
    held.admin.patch(capacity, {"rules": other["rules"]})
    until("it may again", lambda: held.operator.access_review("patch", "nodes"))


def test_a_missing_permission_is_named(without_permission: Stage) -> None:
    stage = without_permission
    stage.tenants[FOO].create(pods(FOO), stage.pod("job", FOO, gpus=9))
    found = ask(stage)
    assert found["diagnosis"] == "permission-missing"
    assert "patch nodes" in facts(found)
    assert [one["diagnosis"] for one in found["others"]] == ["resource-shortage"]


def test_the_playbook_prints_diagnosis_fact_and_fix(held: Stage) -> None:
    held.tenants[FOO].create(pods(FOO), held.pod("job", FOO, labels={}))
    looked_at(held, "job")
    done = held.play("diagnose", "-e", f"namespace={FOO}", "-e", "pod=job")
    for part in ("diagnosis: selector-mismatch", "there is no label app.kubernetes.io/managed-by", "fix:"):
        assert part in " ".join(done.stdout.split())
