# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ways for a tenant's administrator to get a Pod onto another tenant's node, off its own, or to bind others.

Each one is refused by the API server, or shown harmless: where the Pod then is, or that it waits. tenant-bar
attacks; train-01 and train-02 are tenant-foo's, train-03 is tenant-bar's, the others are nobody's.
"""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.reservations.tests.integration.reservations.attack_stage import (
    BAR,
    FOO,
    OWN,
    POLICY,
    VICTIMS,
    allowed,
    binding_of,
    on,
    required,
    settled,
    tolerating,
)
from ansible_collections.gpuops.reservations.tests.integration.reservations.stage import (
    GROUP,
    RESERVATIONS,
    Stage,
    bindings,
    client_of,
    pods,
    refusal,
    until,
)

Json = dict[str, Any]


# Tolerations at creation: refused

TOLERATIONS = {
    "the victim's taint by value": tolerating(
        key="reserved", operator="Equal", value=FOO, effect="NoSchedule"
    ),
    "the victim's taint without operator": tolerating(key="reserved", value=FOO),
    "the victim's taint for every effect": tolerating(key="reserved", operator="Equal", value=FOO),
    "the victim's taint with NoExecute": tolerating(key="reserved", value=FOO, effect="NoExecute"),
    "the key with Exists": tolerating(key="reserved", operator="Exists"),
    "the key with Exists for one effect": tolerating(key="reserved", operator="Exists", effect="NoSchedule"),
    "every taint": tolerating(operator="Exists"),
    "every taint of one effect": tolerating(operator="Exists", effect="NoSchedule"),
    "every NoExecute taint": tolerating(operator="Exists", effect="NoExecute"),
    "a toleration behind an honest one": {
        "tolerations": [{"key": "reserved", "value": BAR}, {"key": "reserved", "value": FOO}]
    },
    "an empty value": tolerating(key="reserved", operator="Equal", value=""),
}


@pytest.mark.parametrize("what", TOLERATIONS)
def test_a_toleration_that_reaches_further_is_refused(attack: Stage, what: str) -> None:
    said = refusal(
        lambda: attack.tenants[BAR].create(pods(BAR), attack.pod("thief", BAR, **TOLERATIONS[what]))
    )
    assert f"{POLICY}tolerations" in said
    assert "remove it" in said


def test_forged_marks_of_a_node_s_own_pod_exempt_nobody(attack: Stage) -> None:
    thief = attack.pod("thief", BAR, nodeName=VICTIMS[0], **tolerating(operator="Exists"))
    thief["metadata"]["annotations"] = {
        "kubernetes.io/config.mirror": "abc",
        "kubernetes.io/config.source": "file",
    }
    assert POLICY in refusal(lambda: attack.tenants[BAR].create(pods(BAR), thief))


def test_a_toleration_that_is_added_later_is_refused(attack: Stage) -> None:
    attack.tenants[BAR].create(pods(BAR), attack.pod("late", BAR, nodeSelector={"no": "such"}))
    stored = attack.get(f"{pods(BAR)}/late")["spec"]["tolerations"]
    patch = {"spec": {"tolerations": [*stored, {"key": "reserved", "value": FOO}]}}
    assert f"{POLICY}tolerations" in refusal(lambda: attack.tenants[BAR].patch(f"{pods(BAR)}/late", patch))


def test_a_toleration_that_is_added_to_a_gated_pod_is_refused(attack: Stage) -> None:
    attack.tenants[BAR].create(
        pods(BAR), attack.pod("gated", BAR, schedulingGates=[{"name": "example.com/wait"}])
    )
    stored = attack.get(f"{pods(BAR)}/gated")["spec"]["tolerations"]
    patch = {"spec": {"tolerations": [*stored, {"operator": "Exists"}], "schedulingGates": []}}
    assert f"{POLICY}tolerations" in refusal(lambda: attack.tenants[BAR].patch(f"{pods(BAR)}/gated", patch))


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("Deployment", f"/apis/apps/v1/namespaces/{BAR}/deployments"),
        ("DaemonSet", f"/apis/apps/v1/namespaces/{BAR}/daemonsets"),
        ("Job", f"/apis/batch/v1/namespaces/{BAR}/jobs"),
    ],
)
def test_a_controller_s_identity_lends_nothing(attack: Stage, kind: str, path: str) -> None:
    """The template is accepted, its Pods are not: the controller writes what the tenant said."""
    template = attack.pod("x", BAR, labels={"app": "thief"}, **tolerating(operator="Exists"))
    spec: Json = {"template": {"metadata": {"labels": {"app": "thief"}}, "spec": template["spec"]}}
    if kind == "Job":
        spec["template"]["spec"]["restartPolicy"] = "Never"
    else:
        spec["selector"] = {"matchLabels": {"app": "thief"}}
    version = "batch/v1" if kind == "Job" else "apps/v1"
    document = {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": "thief", "namespace": BAR},
        "spec": spec,
    }
    attack.tenants[BAR].create(path, document)
    until(
        f"{kind}'s Pods are refused",
        lambda: [
            event
            for event in attack.items(f"/api/v1/namespaces/{BAR}/events")
            if event["reason"] == "FailedCreate" and f"{POLICY}tolerations" in event["message"]
        ],
    )
    assert attack.items(pods(BAR)) == []


def test_a_daemonset_that_names_a_node_in_its_template_gets_no_pod_there(attack: Stage) -> None:
    template = attack.pod("x", BAR, labels={"app": "thief"}, nodeName=VICTIMS[0])
    document = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "thief", "namespace": BAR},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "thief"}},
            "template": {"metadata": {"labels": {"app": "thief"}}, "spec": template["spec"]},
        },
    }
    attack.tenants[BAR].create(f"/apis/apps/v1/namespaces/{BAR}/replicasets", document)
    until(
        "its Pods are refused",
        lambda: [
            event
            for event in attack.items(f"/api/v1/namespaces/{BAR}/events")
            if event["reason"] == "FailedCreate" and f"{POLICY}node-names" in event["message"]
        ],
    )
    attack.admin.delete(f"/apis/apps/v1/namespaces/{BAR}/replicasets/thief")


# Round the scheduler: refused


def test_a_node_that_is_named_at_creation_is_refused(attack: Stage) -> None:
    thief = attack.pod("thief", BAR, nodeName=VICTIMS[0])
    assert f"{POLICY}node-names" in refusal(lambda: attack.tenants[BAR].create(pods(BAR), thief))


@pytest.mark.parametrize("route", ["pods/binding", "bindings"])
def test_binding_by_hand_is_refused_even_with_the_permission(attack: Stage, route: str) -> None:
    attack.tenants[BAR].create(pods(BAR), attack.pod("mine", BAR, schedulerName="my-own"))
    document = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "mine", "namespace": BAR},
        "target": {"apiVersion": "v1", "kind": "Node", "name": VICTIMS[0]},
    }
    path = f"{pods(BAR)}/mine/binding" if route == "pods/binding" else f"/api/v1/namespaces/{BAR}/bindings"
    rules = [{"apiGroups": [""], "resources": ["pods/binding", "bindings"], "verbs": ["create"]}]
    with allowed(attack, BAR, rules):
        said = refusal(lambda: attack.tenants[BAR].create(path, document))
    assert f"{POLICY}pod-bindings" in said
    assert attack.node_of("mine", BAR) == ""


# Who is whose: refused


@pytest.mark.parametrize("part", ["", "/status", "/finalize"])
def test_nobody_makes_itself_another_tenant(namespace_editor: Stage, part: str) -> None:
    path = f"/api/v1/namespaces/{BAR}"
    stolen = namespace_editor.get(path)
    stolen["metadata"]["labels"]["reserved.tenant"] = FOO
    said = refusal(lambda: namespace_editor.tenants[BAR].replace(f"{path}{part}", stolen))
    assert f"{POLICY}tenant-label" in said
    assert namespace_editor.get(path)["metadata"]["labels"]["reserved.tenant"] == BAR


def test_nobody_drops_its_tenant_or_creates_a_namespace_of_one(namespace_editor: Stage) -> None:
    bar = namespace_editor.tenants[BAR]
    drop = {"metadata": {"labels": {"reserved.tenant": None}}}
    assert f"{POLICY}tenant-label" in refusal(lambda: bar.patch(f"/api/v1/namespaces/{BAR}", drop))
    document = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "bar-two", "labels": {"reserved.tenant": FOO}},
    }
    assert f"{POLICY}tenant-label" in refusal(lambda: bar.create("/api/v1/namespaces", document))


def test_nobody_hides_as_a_namespace_of_the_platform(namespace_editor: Stage) -> None:
    """The name that exempts cannot be forged: the server sets that label from the name."""
    path = f"/api/v1/namespaces/{BAR}"
    patch = {"metadata": {"labels": {"kubernetes.io/metadata.name": "kube-system"}}}
    namespace_editor.tenants[BAR].patch(path, patch)
    assert namespace_editor.get(path)["metadata"]["labels"]["kubernetes.io/metadata.name"] == BAR


def test_an_administrator_may_not_make_a_tenant_of_the_platform_or_of_nobody(reserved: Stage) -> None:
    for name, tenant in (("kube-system", FOO), ("default", "")):
        patch = {"metadata": {"labels": {"reserved.tenant": tenant}}}
        said = refusal(lambda path=f"/api/v1/namespaces/{name}", p=patch: reserved.admin.patch(path, p))  # type: ignore[misc]
        assert f"{POLICY}tenant-label" in said


def test_a_foreign_reservation_cannot_be_bound(attack: Stage) -> None:
    document = binding_of("thief", BAR, "foo")
    assert f"{POLICY}bindings" in refusal(lambda: attack.tenants[BAR].create(bindings(BAR), document))


def test_a_binding_cannot_be_turned_to_a_foreign_reservation(attack: Stage) -> None:
    patch = {"spec": {"reservationName": "foo"}}
    said = refusal(lambda: attack.tenants[BAR].patch(f"{bindings(BAR)}/{BAR}-binding", patch))
    assert f"{POLICY}bindings" in said


def test_a_foreign_namespace_cannot_be_bound(attack: Stage) -> None:
    said = refusal(lambda: attack.tenants[BAR].create(bindings(FOO), binding_of("thief", FOO, "bar")))
    assert "cannot create resource" in said


def test_a_namespace_of_the_platform_cannot_be_bound_by_anybody(attack: Stage) -> None:
    document = binding_of("platform", "kube-system", "bar")
    said = refusal(lambda: attack.admin.create(bindings("kube-system"), document))
    assert f"{POLICY}platform-namespaces" in said


def test_the_reservations_themselves_are_not_a_tenant_s(attack: Stage) -> None:
    bar = attack.tenants[BAR]
    patch = {"spec": {"reservedNodes": [OWN, VICTIMS[0]]}}
    assert "cannot patch resource" in refusal(lambda: bar.patch(f"{RESERVATIONS}/bar", patch))
    status = {"status": {"tenant": FOO}}
    path = f"{bindings(BAR)}/{BAR}-binding/status"
    assert "cannot patch resource" in refusal(lambda: bar.patch(path, status))


def test_nodes_and_evictions_are_not_a_tenant_s(attack: Stage) -> None:
    bar = attack.tenants[BAR]
    patch = {"metadata": {"labels": {"reserved.tenant": BAR}}}
    assert "cannot patch resource" in refusal(lambda: bar.patch(f"/api/v1/nodes/{VICTIMS[0]}", patch))
    attack.run_pod("victim", FOO)
    assert "cannot create resource" in refusal(lambda: bar.evict(FOO, "victim"))


# Wishes about nodes: admitted, and harmless


WISHES = {
    "the victim's label beside": required({"matchExpressions": [on("reserved.tenant", "In", FOO)]}),
    "a second term": required(
        {"matchExpressions": [on("reserved.tenant", "In", FOO)]},
        {"matchFields": [on("metadata.name", "In", VICTIMS[0])]},
    ),
    "a field of the node": required({"matchFields": [on("metadata.name", "In", VICTIMS[0])]}),
    "a node selector": {"nodeSelector": {"reserved.tenant": FOO}},
    "a hostname": {"nodeSelector": {"kubernetes.io/hostname": VICTIMS[0]}},
    "the label in a list with the own": required(
        {
            "matchExpressions": [
                on("reserved.tenant", "In", FOO, BAR),
                on("kubernetes.io/hostname", "In", *VICTIMS),
            ]
        }
    ),
}


@pytest.mark.parametrize("labelled", [True, False], ids=["bound", "not bound"])
@pytest.mark.parametrize("what", WISHES)
def test_a_wish_for_a_foreign_node_waits_for_ever(attack: Stage, what: str, *, labelled: bool) -> None:
    labels: Json | None = None if labelled else {}
    attack.tenants[BAR].create(pods(BAR), attack.pod("wish", BAR, labels=labels, **WISHES[what]))
    assert settled(attack, "wish") == "waits"


ESCAPES = {
    "a term of one's own": required({"matchExpressions": [on("hardware-pool", "Exists")]}),
    "a term with fields only": required({"matchFields": [on("metadata.name", "In", "train-04")]}),
    "an empty term beside": required({}, {"matchFields": [on("metadata.name", "In", "train-04")]}),
    "not the own label": required({"matchExpressions": [on("reserved.tenant", "DoesNotExist")]}),
    "half the requirement": required({"matchExpressions": [on("reserved.tenant", "In", BAR, "nobody")]}),
}


@pytest.mark.parametrize("what", ESCAPES)
def test_a_bound_pod_stays_on_its_own_nodes(attack: Stage, what: str) -> None:
    """Terms are OR-ed: each of them gets the requirement, so that none is a way out."""
    made = attack.tenants[BAR].create(pods(BAR), attack.pod("escape", BAR, **ESCAPES[what]))
    terms = made["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    for term in terms["nodeSelectorTerms"]:
        assert on("reserved.tenant", "In", BAR) in term["matchExpressions"]
    assert settled(attack, "escape") in (OWN, "waits")


def test_preferences_and_pod_affinity_lead_nowhere(attack: Stage) -> None:
    attack.run_pod("victim", FOO)
    term = {"topologyKey": "kubernetes.io/hostname", "namespaces": [FOO], "labelSelector": {}}
    affinity = {
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]},
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 100, "preference": {"matchExpressions": [on("reserved.tenant", "In", FOO)]}}
            ]
        },
    }
    attack.tenants[BAR].create(pods(BAR), attack.pod("near", BAR, gpus=0, labels={}, affinity=affinity))
    assert settled(attack, "near") == "waits"


def test_a_preference_only_toleration_is_admitted_and_useless(attack: Stage) -> None:
    wish = tolerating(key="reserved", value=FOO, effect="PreferNoSchedule")
    spec = {**wish, "nodeSelector": {"reserved.tenant": FOO}}
    attack.tenants[BAR].create(pods(BAR), attack.pod("soft", BAR, gpus=0, labels={}, **spec))
    assert settled(attack, "soft") == "waits"


def test_priority_preempts_nobody_on_foreign_nodes(attack: Stage) -> None:
    for name in ("victim-1", "victim-2"):
        attack.run_pod(name, FOO)
    document = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "attack"},
        "value": 1000000,
    }
    path = "/apis/scheduling.k8s.io/v1/priorityclasses"
    attack.admin.create(path, document)
    try:
        attack.tenants[BAR].create(
            pods(BAR),
            attack.pod("bully", BAR, priorityClassName="attack", nodeSelector={"reserved.tenant": FOO}),
        )
        assert settled(attack, "bully") == "waits"
        assert len(attack.items(pods(FOO))) == 2
    finally:
        attack.admin.delete(f"{path}/attack")


def test_switching_injection_off_reaches_unreserved_nodes_only(attack: Stage) -> None:
    """A tenant may leave its own Pods out, as with its selector; the taint keeps them off foreign nodes."""
    path = f"{bindings(BAR)}/{BAR}-binding"
    attack.tenants[BAR].patch(path, {"spec": {"injectAffinity": False, "injectToleration": False}})
    try:
        until(
            "the switch is seen",
            lambda: (
                "affinity"
                not in attack.tenants[BAR].create(pods(BAR), attack.pod("x", BAR), dry_run=True)["spec"]
            ),
        )
        attack.tenants[BAR].create(
            pods(BAR), attack.pod("free", BAR, nodeSelector={"hardware-pool": "gpu-h100-rack-a"})
        )
        node = until("it is placed", lambda: attack.node_of("free", BAR))
        assert node not in VICTIMS
    finally:
        attack.tenants[BAR].patch(path, {"spec": {"injectAffinity": True, "injectToleration": True}})
        attack.injected(BAR)


def test_labels_that_are_changed_later_change_no_placement(attack: Stage) -> None:
    attack.tenants[BAR].create(pods(BAR), attack.pod("turncoat", BAR))
    patch = {"metadata": {"labels": {"app.kubernetes.io/managed-by": FOO}}}
    attack.tenants[BAR].patch(f"{pods(BAR)}/turncoat", patch)
    assert until("it is placed", lambda: attack.node_of("turncoat", BAR)) == OWN


def test_a_foreign_tenant_s_label_on_a_pod_gets_nothing(attack: Stage) -> None:
    labels = {"app.kubernetes.io/managed-by": FOO, "reserved.tenant": FOO}
    made = attack.tenants[BAR].create(pods(BAR), attack.pod("liar", BAR, labels=labels))
    assert "affinity" not in made["spec"]
    node = until("it is placed", lambda: attack.node_of("liar", BAR))
    assert node not in VICTIMS


def test_an_unlabelled_namespace_gets_nothing_from_abinding_of(attack: Stage) -> None:
    """Nothing that a tenant can write makes it a tenant: not the binding, not the namespace's name."""
    attack.admin.create(
        "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "tenant-foo-2"}}
    )
    try:
        attack.admin.create(bindings("tenant-foo-2"), binding_of("claim", "tenant-foo-2", "foo"))
        document = attack.pod("stray", FOO)
        document["metadata"]["namespace"] = "tenant-foo-2"
        until(
            "its service account",
            lambda: attack.exists("/api/v1/namespaces/tenant-foo-2/serviceaccounts/default"),
        )
        made = attack.admin.create(pods("tenant-foo-2"), document, dry_run=True)
        assert "affinity" not in made["spec"]
        assert not [one for one in made["spec"]["tolerations"] if one.get("key") == "reserved"]
    finally:
        attack.admin.delete("/api/v1/namespaces/tenant-foo-2")


def test_an_owner_reference_to_a_reservation_deletes_nothing(attack: Stage) -> None:
    uid = attack.get(f"{RESERVATIONS}/foo")["metadata"]["uid"]
    document = binding_of("leech", BAR, "bar")
    reference = {"apiVersion": GROUP.removeprefix("/apis/"), "kind": "Reservation", "name": "foo", "uid": uid}
    document["metadata"]["ownerReferences"] = [reference]
    attack.tenants[BAR].create(bindings(BAR), document)
    attack.tenants[BAR].delete(f"{bindings(BAR)}/leech")
    assert attack.exists(f"{RESERVATIONS}/foo")


# What must go on working


def test_the_operator_may_neither_bind_nor_place(reserved: Stage) -> None:
    operator = client_of(reserved.lab, "gpuops")
    group = "scheduling.coreweave.cloud"
    assert not operator.access_review("bind", "reservations", group=group)
    assert not operator.access_review("place", "reservations", group=group)
    assert not operator.access_review("create", "pods", namespace=BAR)
    assert not operator.access_review("delete", "pods", namespace=BAR)
    assert not operator.access_review("patch", "namespaces")


def test_an_existing_pod_with_such_a_toleration_can_be_finished(attack: Stage) -> None:
    """The removal of a finalizer is an update: only what is added counts."""
    old = attack.pod("old", BAR, gpus=0, labels={}, **tolerating(operator="Exists"))
    old["metadata"]["finalizers"] = ["example.com/held"]
    attack.admin.create(pods(BAR), old)  # the administrator may place Pods, so that this one is admitted
    attack.tenants[BAR].patch(f"{pods(BAR)}/old", {"metadata": {"labels": {"touched": "yes"}}})
    attack.tenants[BAR].delete(f"{pods(BAR)}/old")
    attack.tenants[BAR].patch(f"{pods(BAR)}/old", {"metadata": {"finalizers": None}})
    until("it is gone", lambda: not attack.exists(f"{pods(BAR)}/old"))
