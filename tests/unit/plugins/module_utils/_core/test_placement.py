# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which failure mode is the diagnosis, with its facts, and in which order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.admission_installed import (
    DEFINITIONS,
    MUTATING,
    VALIDATING,
    Installation,
    PolicyBindingSpec,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.checks import Check
from ansible_collections.gpuops.reservations.plugins.module_utils._core.cluster_objects import Pod, Quota
from ansible_collections.gpuops.reservations.plugins.module_utils._core.placement import diagnose
from ansible_collections.gpuops.reservations.plugins.module_utils._core.placement_objects import (
    Event,
    Owner,
    PlacementPod,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.placement_world import (
    Finding,
    PlacementWorld,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.tenant_nodes import (
    BAR,
    FOO,
    binding,
    held_node,
    node,
    pod,
    reservation,
    taint,
    world,
)

POLICIES = (*MUTATING, *VALIDATING)
INSTALLED = Installation(
    managers=dict.fromkeys(DEFINITIONS, frozenset({"gpuops.reservations"})),
    policies=frozenset(POLICIES),
    bindings=tuple(
        PolicyBindingSpec.model_validate({"policyName": name, "validationActions": ["Deny"]})
        for name in POLICIES
    ),
    mutation_versions=frozenset({"v1"}),
)
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
INJECTED: dict[str, Any] = {"affinity": AFFINITY, "tolerations": [TOLERATION]}
CREATED = "2026-11-20T00:00:00Z"
MANY = {"containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": "8"}}}]}


def asked(
    namespace: str = FOO,
    *,
    labels: dict[str, str] | None = None,
    on: str = "",
    created: str = CREATED,
    phase: str = "Pending",
    managed: Any = (),
    scheduled: str = "",
    message: str = "",
    **spec: Any,
) -> PlacementPod:
    conditions = []
    if scheduled:
        conditions = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": scheduled}]
    elif message:
        conditions = [{"type": "PodScheduled", "status": "False", "message": message}]
    meta = {
        "name": "job",
        "namespace": namespace,
        "uid": "uid-job",
        "labels": {"app": "train"} if labels is None else labels,
        "creationTimestamp": created,
        "managedFields": list(managed),
    }
    return PlacementPod.model_validate(
        {
            "metadata": meta,
            "spec": {**MANY, "nodeName": on, **spec},
            "status": {"phase": phase, "conditions": conditions},
        }
    )


def seen(one: PlacementPod | None, **change: Any) -> PlacementWorld:
    whole: dict[str, Any] = {
        "pod": one,
        "created": one is not None,
        "owner": None,
        "target": "Pod tenant-foo/job",
        "namespace": one.metadata.namespace if one else FOO,
        "installation": INSTALLED,
        "permissions": (allowed("patch nodes"), allowed("create events")),
        "reservations": world([held_node("n1")], [held()], bindings=[binding()]),
        "quotas": (),
        "events": (),
        "node_marked": {},
    }
    return PlacementWorld(**{**whole, **change})


def allowed(what: str, *, may: bool = True) -> Check:
    return Check(id="permission", status="pass" if may else "fail", message=what, object=what)


def held(**more: Any) -> Any:
    return reservation(nodes=["n1"], phases={"n1": "Reserved"}, **more)


def first(given: PlacementWorld) -> Finding:
    return diagnose(given)[0]


def names(given: PlacementWorld) -> list[str]:
    return [one.diagnosis for one in diagnose(given)]


def test_policies_come_first_then_permission_then_the_rest() -> None:
    broken = replace(INSTALLED, policies=INSTALLED.policies - {"gpuops-reservation-injection"})
    given = seen(
        asked(labels={}, message="0/6 nodes"),
        installation=broken,
        permissions=(allowed("patch nodes", may=False), allowed("create events")),
    )
    assert names(given)[:3] == ["policies-missing", "permission-missing", "selector-mismatch"]
    assert "gpuops-reservation-injection is missing" in first(given).facts[0]


def test_a_missing_definition_is_a_missing_policy() -> None:
    given = seen(asked(), installation=replace(INSTALLED, managers={}), reservations=world([node("n1")]))
    assert first(given).diagnosis == "policies-missing"


def test_a_reader_lacks_nothing_that_matters_unless_nobody_has_reconciled() -> None:
    reader = (allowed("patch nodes", may=False), allowed("create events", may=False))
    assert "permission-missing" not in names(seen(asked(**INJECTED), permissions=reader))
    stale = world([held_node("n1")], [held(generation=2, observed=1)], bindings=[binding()])
    assert (
        first(seen(asked(**INJECTED), permissions=reader, reservations=stale)).diagnosis
        == "permission-missing"
    )


def test_namespace_without_tenant() -> None:
    given = seen(
        asked("default"),
        reservations=world([held_node("n1")], [held()], bindings=[binding(namespace="default")]),
    )
    assert first(given).diagnosis == "namespace-without-tenant"
    assert "kubectl label namespace default reserved.tenant=<tenant>" in first(given).fix


def test_no_binding() -> None:
    given = seen(asked(), reservations=world([held_node("n1")], [held()]))
    assert first(given).diagnosis == "no-binding"
    assert "Reservations of this tenant: foo" in first(given).facts


def test_binding_not_accepted_and_why() -> None:
    reservations = world([held_node("n1")], [held()], bindings=[binding(reservation_name="nobody")])
    found = first(seen(asked(**INJECTED), reservations=reservations))
    assert found.diagnosis == "binding-not-accepted"
    assert "ReservationNotFound" in found.facts[0]
    assert "correct reservationName" in found.fix


def test_overlap_names_node_and_holder() -> None:
    reservations = world(
        [held_node("n1", "bar", BAR)],
        [reservation(nodes=["n1"]), reservation("bar", BAR, nodes=["n1"], phases={"n1": "Reserved"})],
        bindings=[binding()],
    )
    found = first(seen(asked(**INJECTED), reservations=reservations))
    assert found.diagnosis == "overlap"
    assert "n1 is held by Reservation bar" in found.facts[0]


def test_selector_mismatch_says_which_label() -> None:
    found = first(seen(asked(labels={"app": "debug"})))
    assert found.diagnosis == "selector-mismatch"
    assert found.facts == (f"ReservationBinding {FOO}/binding selects app In [train], but app is debug",)


@pytest.mark.parametrize(
    ("created", "diagnosis"),
    [("2026-11-01T00:00:00Z", "pod-older-than-binding"), (CREATED, "labels-changed-later")],
)
def test_not_injected(created: str, diagnosis: str) -> None:
    found = first(seen(asked(created=created)))
    assert found.diagnosis == diagnosis
    assert "node affinity and the toleration" in found.facts[0]


def test_injection_switched_off() -> None:
    off = binding(injectAffinity=False, injectToleration=False)
    found = first(seen(asked(), reservations=world([held_node("n1")], [held()], bindings=[off])))
    assert found.diagnosis == "injection-switched-off"


def owner(kind: str, **spec: Any) -> Owner:
    template = {"metadata": {"labels": {"app": "train"}}, "spec": {**MANY, **spec}}
    meta = {"name": "training", "namespace": FOO, "uid": "uid-owner"}
    return Owner.model_validate({"kind": kind, "metadata": meta, "spec": {"template": template}})


def test_a_daemonset_is_judged_by_its_template() -> None:
    found = first(seen(asked(**INJECTED), owner=owner("DaemonSet")))
    assert found.diagnosis == "daemonset-template-not-injected"
    assert "rollout restart daemonset/training" in found.fix
    assert "daemonset-template-not-injected" not in names(
        seen(asked(**INJECTED), owner=owner("DaemonSet", **INJECTED))
    )


@pytest.mark.parametrize(
    ("nodes", "diagnosis", "fact"),
    [
        ([held_node("n1", unschedulable=True)], "all-reserved-nodes-cordoned", "SchedulingDisabled"),
        ([held_node("n1", ready=False)], "reserved-nodes-not-ready", "not Ready"),
        (
            [held_node("n1", unschedulable=True), held_node("n2", ready=False)],
            "reserved-nodes-unusable",
            "n2: not Ready",
        ),
        ([node("n1")], "not-reconciled", "n1"),
        ([], "reserved-nodes-missing", "n1"),
        (
            [held_node("n1", taints=[taint("fan", key="broken")])],
            "another-taint",
            "n1: broken=fan:NoSchedule",
        ),
        ([held_node("n1", gpus=4)], "resource-shortage", "n1: nvidia.com/gpu 4 free of 4"),
    ],
)
def test_nodes(nodes: list[Any], diagnosis: str, fact: str) -> None:
    phases = {one.name: "Reserved" for one in nodes} or {"n1": "Missing"}
    made = reservation(nodes=list(phases), phases=phases)
    found = first(seen(asked(**INJECTED), reservations=world(nodes, [made], bindings=[binding()])))
    assert found.diagnosis == diagnosis
    assert any(fact in one for one in found.facts), found.facts


def test_no_reservation_at_all() -> None:
    foreign = reservation("bar", BAR, nodes=["n1"], phases={"n1": "Reserved"})
    reservations = world([held_node("n1", "bar", BAR)], [foreign], bindings=[binding()])
    assert "no-reserved-nodes" in names(seen(asked(**INJECTED), reservations=reservations))


def test_a_shortage_counts_what_is_there() -> None:
    busy: list[Pod] = [
        pod("a", "n1", gpus=3),
        pod("b", "n1", gpus=2),
        pod("done", "n1", gpus=3, phase="Succeeded"),
    ]
    reservations = world([held_node("n1")], [held()], bindings=[binding()], pods=busy)
    found = first(seen(asked(**INJECTED), reservations=reservations))
    assert found.diagnosis == "resource-shortage"
    assert found.facts == ("asked: nvidia.com/gpu 8", "n1: nvidia.com/gpu 3 free of 8")


def test_a_contradictory_wish() -> None:
    found = first(seen(asked(nodeSelector={"zone": "b"}, **INJECTED)))
    assert found.diagnosis == "contradictory-wishes"
    assert found.facts == ("n1 does not meet: zone In [b], but there is no label zone",)


def test_what_keeps_the_scheduler_away_comes_after_everything_else() -> None:
    given = asked(
        schedulingGates=[{"name": "queue"}], schedulerName="other", nodeSelector={"zone": "b"}, **INJECTED
    )
    assert names(seen(given)) == ["contradictory-wishes", "scheduling-gate", "another-scheduler"]


def test_nothing_known_says_what_the_scheduler_says() -> None:
    found = first(seen(asked(message="0/1 nodes are available", **INJECTED)))
    assert (found.diagnosis, found.facts) == ("unexplained", ("the scheduler says: 0/1 nodes are available",))


# Placed


def test_on_a_node_of_its_own_it_is_healthy() -> None:
    assert names(seen(asked(on="n1", phase="Running", **INJECTED))) == ["healthy"]


def test_one_that_has_ended_is_healthy() -> None:
    assert names(seen(asked(on="n1", phase="Succeeded"))) == ["healthy"]


def test_on_nobody_s_node_its_binding_is_looked_at() -> None:
    reservations = world([held_node("n1"), node("n2")], [held()], bindings=[binding()])
    stray = seen(asked(on="n2", phase="Running", labels={}), reservations=reservations)
    assert names(stray) == ["selector-mismatch"]
    elsewhere = seen(asked("default", on="n2", phase="Running"), reservations=reservations)
    assert names(elsewhere) == ["healthy"]


def test_on_a_node_that_is_gone() -> None:
    assert names(seen(asked(on="n9", phase="Running"))) == ["node-missing"]


NAMED = {"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": {"f:nodeName": {}}}}
SCHEDULED = Event.model_validate(
    {
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "name": "job", "uid": "uid-job"},
        "reason": "Scheduled",
        "lastTimestamp": "2026-11-21T00:00:00Z",
    }
)
OTHER = {"key": "reserved", "operator": "Exists"}


@pytest.mark.parametrize(
    ("given", "change", "way"),
    [
        ({"managed": [NAMED]}, {}, "spec.nodeName was set at its creation, by kubectl"),
        (
            {"scheduled": "2026-11-21T00:00:00Z"},
            {"node_marked": {"n1": "2026-11-22T00:00:00Z"}, "events": (SCHEDULED,)},
            "it was there before",
        ),
        ({"scheduled": "2026-11-21T00:00:00Z"}, {}, "bound by hand"),
        ({"tolerations": [OTHER]}, {"events": (SCHEDULED,)}, "it tolerates the taint"),
        ({}, {"events": (SCHEDULED,)}, "the scheduler placed it at 2026-11-21T00:00:00Z"),
    ],
)
def test_how_it_came_to_a_foreign_node(given: dict[str, Any], change: dict[str, Any], way: str) -> None:
    found = first(seen(asked(BAR, on="n1", phase="Running", **given), **change))
    assert found.diagnosis == "foreign-tenants-node"
    assert way in found.facts[1]
    assert f"of {BAR}" in found.message


def test_a_foreign_node_without_its_taint() -> None:
    bare = node("n1", labels={"reserved.tenant": FOO}, annotations={"gpuops.reservations/reserved-by": "foo"})
    reservations = world([bare], [held(applyTaint=False)])
    found = first(seen(asked(BAR, on="n1", phase="Running"), reservations=reservations, events=(SCHEDULED,)))
    assert "has no taint reserved=tenant-foo" in found.facts[1]


# Not created


def refused(message: str, at: str = "2026-11-21T00:00:00Z") -> Event:
    return Event.model_validate(
        {
            "metadata": {"name": "e"},
            "involvedObject": {"kind": "ReplicaSet", "name": "training-1", "uid": "uid-owner"},
            "reason": "FailedCreate",
            "message": message,
            "lastTimestamp": at,
        }
    )


QUOTA = Quota.model_validate(
    {
        "metadata": {"name": "q", "namespace": FOO},
        "spec": {"hard": {"requests.nvidia.com/gpu": "8"}},
        "status": {"hard": {"requests.nvidia.com/gpu": "8"}, "used": {"requests.nvidia.com/gpu": "8"}},
    }
)


def test_a_quota_says_what_is_used_of_what() -> None:
    given = seen(None, events=(refused('pods "x" is forbidden: exceeded quota: q'),), quotas=(QUOTA,))
    found = first(given)
    assert found.diagnosis == "quota-exhausted"
    assert found.facts[1] == "ResourceQuota q: requests.nvidia.com/gpu 8 used of 8"


def test_a_refusal_of_ours_and_of_others() -> None:
    ours = "ValidatingAdmissionPolicy 'gpuops-reservation-tolerations' denied request: remove it"
    assert first(seen(None, events=(refused(ours),))).diagnosis == "refused-by-policy"
    assert first(seen(None, events=(refused("violates PodSecurity"),))).diagnosis == "refused"


def test_quota_comes_before_shortage_and_after_nodes() -> None:
    template = asked(labels={"app": "train"})
    quota = refused("exceeded quota: q")
    short = world([held_node("n1", gpus=4)], [held()], bindings=[binding()])
    given = seen(template, created=False, owner=owner("Deployment"), events=(quota,), reservations=short)
    assert names(given) == ["quota-exhausted", "resource-shortage"]
    cordoned = world([held_node("n1", unschedulable=True)], [held()], bindings=[binding()])
    assert names(replace(given, reservations=cordoned)) == ["all-reserved-nodes-cordoned", "quota-exhausted"]


def test_not_found_points_to_the_owner() -> None:
    found = first(seen(None))
    assert found.diagnosis == "not-found"
    assert "-e owner=kind/name" in found.fix


def test_an_owner_without_pods_and_without_a_cause() -> None:
    given = seen(asked(), created=False, owner=owner("Deployment"))
    assert first(given).diagnosis == "not-found"
    assert "asks for replicas" in first(given).fix
