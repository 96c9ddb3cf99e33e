# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Other routes to the same ends: sub-resources, media types, controllers, borrowed identities, forged status.

As in the list of attacks: each is refused by the API server, or shown harmless.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.tests.integration.reservations.attack_stage import (
    BAR,
    FOO,
    OWN,
    POLICY,
    RBAC,
    VICTIMS,
    Attacker,
    allowed,
    binding_of,
    on,
    required,
    settled,
    tolerating,
)
from ansible_collections.gpuops.reservations.tests.integration.reservations.stage import (
    RESERVATIONS,
    Stage,
    bindings,
    pods,
    refusal,
    until,
)

Json = dict[str, Any]
THEFT = {"key": "reserved", "operator": "Equal", "value": FOO, "effect": "NoSchedule"}
APPLY = "application/apply-patch+yaml"
JSON, MERGE = "application/json-patch+json", "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


@pytest.fixture
def thief(attack: Stage) -> Attacker:
    return Attacker(attack.lab, BAR)


# Created in another way than by a plain POST


@pytest.mark.parametrize(
    "toleration",
    [
        {**THEFT, "effect": "NoExecute", "tolerationSeconds": 3600},
        {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1},
        {"key": "reserved", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0},
    ],
)
def test_a_toleration_for_some_time_is_one(attack: Stage, thief: Attacker, toleration: Json) -> None:
    answer = thief.send("POST", pods(BAR), attack.pod("thief", BAR, tolerations=[toleration]))
    assert answer.status == 403
    assert f"{POLICY}tolerations" in answer.said


@pytest.mark.parametrize("operator", ["Lt", "Gt"])
def test_a_toleration_by_comparison_is_refused(attack: Stage, thief: Attacker, operator: str) -> None:
    """Servers that know these operators leave them to the policy, the others do not accept them."""
    toleration = {"key": "reserved", "operator": operator, "value": "1", "effect": "NoSchedule"}
    answer = thief.send("POST", pods(BAR), attack.pod("thief", BAR, tolerations=[toleration]))
    assert answer.status in (403, 422)


def test_a_generated_name_changes_nothing(attack: Stage, thief: Attacker) -> None:
    document = attack.pod("x", BAR, tolerations=[THEFT])
    document["metadata"] = {"generateName": "thief-", "labels": {}}
    assert f"{POLICY}tolerations" in thief.send("POST", pods(BAR), document).said
    document["spec"].pop("tolerations")
    document["spec"]["nodeName"] = VICTIMS[0]
    assert f"{POLICY}node-names" in thief.send("POST", pods(BAR), document).said


@pytest.mark.parametrize(
    ("spec", "policy"),
    [({"tolerations": [THEFT]}, "tolerations"), ({"nodeName": VICTIMS[0]}, "node-names")],
    ids=["toleration", "node name"],
)
def test_server_side_apply_creates_nothing_that_a_post_does_not(
    attack: Stage, thief: Attacker, spec: Json, policy: str
) -> None:
    document = {"apiVersion": "v1", "kind": "Pod", **attack.pod("thief", BAR, **spec)}
    answer = thief.send("PATCH", f"{pods(BAR)}/thief?fieldManager=thief&force=true", document, APPLY)
    assert f"{POLICY}{policy}" in answer.said
    assert not attack.exists(f"{pods(BAR)}/thief")


CONTROLLERS = {
    "ReplicationController": ("v1", f"/api/v1/namespaces/{BAR}/replicationcontrollers"),
    "ReplicaSet": ("apps/v1", f"/apis/apps/v1/namespaces/{BAR}/replicasets"),
    "StatefulSet": ("apps/v1", f"/apis/apps/v1/namespaces/{BAR}/statefulsets"),
}


@pytest.mark.parametrize("kind", CONTROLLERS)
def test_other_controllers_lend_nothing_either(attack: Stage, thief: Attacker, kind: str) -> None:
    version, path = CONTROLLERS[kind]
    template = attack.pod("x", BAR, tolerations=[THEFT])["spec"]
    labels = {"app": "thief"}
    spec: Json = {
        "replicas": 1,
        "selector": labels if version == "v1" else {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": template},
        **({"serviceName": "thief"} if kind == "StatefulSet" else {}),
    }
    document = {"apiVersion": version, "kind": kind, "metadata": {"name": "thief"}, "spec": spec}
    assert thief.send("POST", path, document).status == 201
    _refused_for(attack, kind)


def test_a_job_of_a_cron_job_lends_nothing_either(attack: Stage, thief: Attacker) -> None:
    template = attack.pod("x", BAR, tolerations=[THEFT])["spec"]
    job = {"template": {"spec": {**template, "restartPolicy": "Never"}}}
    cron = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "thief"},
        "spec": {"schedule": "0 0 1 1 *", "suspend": True, "jobTemplate": {"spec": job}},
    }
    made = thief.send("POST", f"/apis/batch/v1/namespaces/{BAR}/cronjobs", cron)
    assert made.status == 201
    owner = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "name": "thief",
        "uid": made.body["metadata"]["uid"],
    }
    by_hand = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "thief-now",
            "ownerReferences": [{**owner, "controller": True}],
            "annotations": {"cronjob.kubernetes.io/instantiate": "manual"},
        },
        "spec": job,
    }
    assert thief.send("POST", f"/apis/batch/v1/namespaces/{BAR}/jobs", by_hand).status == 201
    _refused_for(attack, "Job")


def _refused_for(stage: Stage, kind: str) -> None:
    until(
        f"the Pod of a {kind} is refused",
        lambda: [
            event
            for event in stage.items(f"/api/v1/namespaces/{BAR}/events")
            if event["involvedObject"]["kind"] == kind
            and event["reason"] == "FailedCreate"
            and f"{POLICY}tolerations" in event["message"]
        ],
    )
    assert not [one for one in stage.items(pods(BAR)) if one["metadata"]["name"].startswith("thief")]


def test_one_among_hundreds_is_found(attack: Stage, thief: Attacker) -> None:
    harmless = [{"key": f"example.com/{number}", "operator": "Exists"} for number in range(300)]
    document = attack.pod("thief", BAR, tolerations=[*harmless, THEFT])
    assert f"{POLICY}tolerations" in thief.send("POST", pods(BAR), document).said


# Changed afterwards


PATCHES: dict[str, tuple[str, Any]] = {
    "JSON patch": (JSON, [{"op": "add", "path": "/spec/tolerations/-", "value": THEFT}]),
    "strategic merge": (STRATEGIC, {"spec": {"tolerations": [THEFT]}}),
    "server-side apply": (
        APPLY,
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "late"},
            "spec": {
                "containers": [{"name": "trainer", "image": "example.com/x"}],
                "tolerations": [THEFT],
            },
        },
    ),
}


@pytest.mark.parametrize("what", PATCHES)
def test_a_toleration_cannot_be_added_in_any_format(attack: Stage, thief: Attacker, what: str) -> None:
    thief.send("POST", pods(BAR), attack.pod("late", BAR, gpus=0, nodeSelector={"no": "such"}))
    kind, patch = PATCHES[what]
    before = attack.get(f"{pods(BAR)}/late")["spec"]["tolerations"]
    answer = thief.send("PATCH", f"{pods(BAR)}/late?fieldManager=thief&force=true", patch, kind)
    assert answer.status in (403, 409, 422), answer
    assert attack.get(f"{pods(BAR)}/late")["spec"]["tolerations"] == before


@pytest.mark.parametrize("part", ["status", "resize", "ephemeralcontainers"])
def test_no_part_of_a_pod_leads_to_its_placement(attack: Stage, thief: Attacker, part: str) -> None:
    """Even with every permission: these routes keep the rest of the Pod as it is."""
    thief.send("POST", pods(BAR), attack.pod("mine", BAR, gpus=0, nodeSelector={"reserved.tenant": FOO}))
    assert settled(attack, "mine") == "waits"
    stored = attack.get(f"{pods(BAR)}/mine")
    forged = copy.deepcopy(stored)
    forged["spec"]["tolerations"].append(THEFT)
    forged["spec"]["nodeName"] = VICTIMS[0]
    forged["spec"]["affinity"] = {}
    forged["status"]["nominatedNodeName"] = VICTIMS[0]
    forged["status"]["phase"] = "Running"
    rules = [{"apiGroups": [""], "resources": [f"pods/{part}"], "verbs": ["update", "patch"]}]
    with allowed(attack, BAR, rules):
        thief.send("PUT", f"{pods(BAR)}/mine/{part}", forged)
        patch = {"spec": {"tolerations": forged["spec"]["tolerations"], "nodeName": VICTIMS[0]}}
        thief.send("PATCH", f"{pods(BAR)}/mine/{part}", patch, MERGE)
    after = attack.get(f"{pods(BAR)}/mine")["spec"]
    assert after["tolerations"] == stored["spec"]["tolerations"]
    assert after["affinity"] == stored["spec"]["affinity"]
    assert "nodeName" not in after


def test_a_container_that_is_added_to_debug_stays_where_its_pod_is(attack: Stage, thief: Attacker) -> None:
    assert attack.run_pod("mine", BAR) == OWN
    patch = {"spec": {"ephemeralContainers": [{"name": "debug", "image": "example.com/debug"}]}}
    rules = [{"apiGroups": [""], "resources": ["pods/ephemeralcontainers"], "verbs": ["patch"]}]
    with allowed(attack, BAR, rules):
        answer = thief.send("PATCH", f"{pods(BAR)}/mine/ephemeralcontainers", patch, STRATEGIC)
    assert answer.status == 200, answer.said
    assert attack.node_of("mine", BAR) == OWN


def test_the_label_that_another_step_would_take_away_changes_nothing(attack: Stage, thief: Attacker) -> None:
    """A gated Pod may still narrow where it goes; what was injected cannot be taken off it."""
    gated = attack.pod("gated", BAR, schedulingGates=[{"name": "example.com/wait"}])
    assert thief.send("POST", pods(BAR), gated).status == 201
    patches: list[Json] = [
        {"spec": {"affinity": None}},
        {"spec": {"affinity": {"nodeAffinity": None}}},
        {"spec": {"schedulingGates": [], "affinity": None, "nodeSelector": {"reserved.tenant": FOO}}},
    ]
    for patch in patches:
        thief.send("PATCH", f"{pods(BAR)}/gated", patch, MERGE)
    terms = attack.get(f"{pods(BAR)}/gated")["spec"]["affinity"]["nodeAffinity"]
    [term] = terms["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert on("reserved.tenant", "In", BAR) in term["matchExpressions"]
    thief.send("PATCH", f"{pods(BAR)}/gated", {"spec": {"schedulingGates": []}}, MERGE)
    assert settled(attack, "gated") in (OWN, "waits")


# Bindings


@pytest.fixture
def spare_binding(attack: Stage) -> Iterator[str]:
    yield "spare"
    path = f"{bindings(BAR)}/spare"
    if attack.exists(path):
        attack.admin.patch(path, {"metadata": {"finalizers": None}})
        attack.admin.delete(path)


def test_a_binding_s_forged_status_is_not_stored(attack: Stage, thief: Attacker, spare_binding: str) -> None:
    document = {
        **binding_of(spare_binding, BAR, "bar"),
        "status": {"tenant": FOO, "tolerationEffects": ["NoSchedule", "NoExecute"]},
    }
    answer = thief.send("POST", bindings(BAR), document)
    assert answer.status == 201
    assert "status" not in answer.body
    for method, body, kind in (
        ("PUT", {**answer.body, "status": document["status"]}, "application/json"),
        ("PATCH", {"status": document["status"]}, MERGE),
    ):
        assert thief.send(method, f"{bindings(BAR)}/{spare_binding}/status", body, kind).status == 403
        stored = thief.send(method, f"{bindings(BAR)}/{spare_binding}", body, kind).body
        assert "status" not in stored


def test_a_binding_that_was_there_first_gets_nothing_of_a_later_reservation(
    attack: Stage, thief: Attacker, spare_binding: str
) -> None:
    """It names a Reservation that does not exist yet, and then is somebody else's."""
    assert thief.send("POST", bindings(BAR), binding_of(spare_binding, BAR, "to-come")).status == 201
    attack.reserve("to-come", FOO, ["train-04"])
    try:
        attack.reconcile()
        conditions = attack.get(f"{bindings(BAR)}/{spare_binding}")["status"]["conditions"]
        assert [(one["type"], one["status"]) for one in conditions] == [("Accepted", "False")]

        def injected() -> bool:
            made = thief.send("POST", f"{pods(BAR)}?dryRun=All", attack.pod("x", BAR, labels={}))
            return "affinity" in made.body.get("spec", {})

        until("the binding that selects everything is seen", injected)
        body = thief.send("POST", pods(BAR), attack.pod("hopeful", BAR, labels={})).body
        assert [one for one in body["spec"]["tolerations"] if one.get("key") == "reserved"] == [
            {**THEFT, "value": BAR}
        ]
        assert until("it is placed", lambda: attack.node_of("hopeful", BAR)) == OWN
    finally:
        attack.admin.delete(f"{RESERVATIONS}/to-come")
        attack.reconcile()


def test_a_selector_that_is_changed_later_moves_nobody(attack: Stage, thief: Attacker) -> None:
    gated = attack.pod("gated", BAR, schedulingGates=[{"name": "example.com/wait"}])
    thief.send("POST", pods(BAR), gated)
    path = f"{bindings(BAR)}/{BAR}-binding"
    stored = attack.get(path)["spec"]["podSelector"]
    attack.tenants[BAR].patch(path, {"spec": {"podSelector": {"matchLabels": {"app": "none"}}}})
    try:
        thief.send("PATCH", f"{pods(BAR)}/gated", {"spec": {"schedulingGates": []}}, MERGE)
        assert until("it is placed", lambda: attack.node_of("gated", BAR)) == OWN
    finally:
        now = attack.get(path)
        attack.tenants[BAR].replace(path, {**now, "spec": {**now["spec"], "podSelector": stored}})
        attack.injected(BAR)


def test_a_binding_that_is_deleted_while_its_pods_wait_frees_none_of_them(
    attack: Stage, thief: Attacker
) -> None:
    attack.run_pod("first", BAR)
    thief.send("POST", pods(BAR), attack.pod("second", BAR))
    assert settled(attack, "second") == "waits"
    path = f"{bindings(BAR)}/{BAR}-binding"
    attack.tenants[BAR].delete(path)
    try:
        until(
            "nothing is injected",
            lambda: (
                "affinity"
                not in attack.tenants[BAR].create(pods(BAR), attack.pod("x", BAR), dry_run=True)["spec"]
            ),
        )
        wish = attack.pod("third", BAR, nodeSelector={"reserved.tenant": FOO})
        thief.send("POST", pods(BAR), wish)
        assert settled(attack, "third") == "waits"
        attack.delete_pod("first", BAR)
        assert until("it is placed", lambda: attack.node_of("second", BAR)) == OWN
    finally:
        attack.bind(BAR, "bar")
        attack.reconcile()
        attack.injected(BAR)


def test_a_finalizer_on_a_binding_holds_nothing_up(
    attack: Stage, thief: Attacker, spare_binding: str
) -> None:
    document = binding_of(spare_binding, BAR, "bar")
    document["metadata"]["finalizers"] = ["example.com/for-ever"]
    assert thief.send("POST", bindings(BAR), document).status == 201
    thief.send("DELETE", f"{bindings(BAR)}/{spare_binding}")
    attack.reserve("more", BAR, ["train-05"])
    attack.reconcile()
    attack.admin.delete(f"{RESERVATIONS}/more")
    attack.reconcile()
    assert not attack.exists(f"{RESERVATIONS}/more")
    assert "reserved.tenant" not in attack.node("train-05")["metadata"]["labels"]


def test_a_finalizer_on_a_reservation_is_not_a_tenant_s(attack: Stage, thief: Attacker) -> None:
    for patch in ({"metadata": {"finalizers": None}}, {"metadata": {"labels": {"a": "b"}}}):
        assert thief.send("PATCH", f"{RESERVATIONS}/foo", patch, MERGE).status == 403
    assert thief.send("DELETE", f"{RESERVATIONS}/foo").status == 403
    assert thief.send("DELETE", RESERVATIONS).status == 403


# Namespaces


@pytest.mark.parametrize("part", ["", "/status", "/finalize"])
@pytest.mark.parametrize("kind", [JSON, MERGE, STRATEGIC, APPLY])
def test_the_tenant_s_label_goes_by_no_route(namespace_editor: Stage, part: str, kind: str) -> None:
    thief = Attacker(namespace_editor.lab, BAR)
    path = f"/api/v1/namespaces/{BAR}{part}"
    if kind == APPLY:
        patch: Any = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": BAR, "labels": {"reserved.tenant": FOO}},
        }
        path += "?fieldManager=thief&force=true"
    elif kind == JSON:
        patch = [{"op": "remove", "path": "/metadata/labels/reserved.tenant"}]
    else:
        patch = {"metadata": {"labels": {"reserved.tenant": None}}}
    answer = thief.send("PATCH", path, patch, kind)
    # A part that cannot be patched at all answers 405.
    assert f"{POLICY}tenant-label" in answer.said or answer.status in (404, 405, 415), answer
    stored = namespace_editor.get(f"/api/v1/namespaces/{BAR}")["metadata"]["labels"]
    assert stored["reserved.tenant"] == BAR


@pytest.mark.parametrize("name", ["tenant-qux", "gpuops-reservation-canary-2", "kube-system-2"])
def test_a_namespace_s_name_is_no_claim(namespace_editor: Stage, name: str) -> None:
    """Named like a tenant that has nodes, or nearly like one that no policy looks at."""
    stage, thief = namespace_editor, Attacker(namespace_editor.lab, BAR)
    stage.reserve("qux", "tenant-qux", ["train-05"])
    document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    assert thief.send("POST", "/api/v1/namespaces", document).status == 201
    try:
        stage.reconcile()
        until("its account", lambda: stage.exists(f"/api/v1/namespaces/{name}/serviceaccounts/default"))
        admin = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "admin"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": BAR}],
        }
        stage.admin.create(f"{RBAC}/namespaces/{name}/rolebindings", admin)
        until("it may", lambda: stage.tenants[BAR].access_review("create", "pods", namespace=name))
        assert thief.send("POST", bindings(name), binding_of("claim", name, "qux")).status == 201
        body = stage.pod("stray", name)
        made = thief.send("POST", f"{pods(name)}?dryRun=All", body).body["spec"]
        assert "affinity" not in made
        stolen = stage.pod("stray", name, tolerations=[{**THEFT, "value": "tenant-qux"}])
        assert f"{POLICY}tolerations" in thief.send("POST", pods(name), stolen).said
    finally:
        stage.admin.delete(f"/api/v1/namespaces/{name}")
        stage.admin.delete(f"{RESERVATIONS}/qux")
        stage.reconcile()


def test_a_namespace_of_the_platform_cannot_be_made_anew(namespace_editor: Stage) -> None:
    thief = Attacker(namespace_editor.lab, BAR)
    for name in ("kube-system", "kube-public", "kube-node-lease", "gpuops-system", "reservation-operator"):
        document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        assert thief.send("POST", "/api/v1/namespaces", document).status == 409, name


# Borrowed identities


@pytest.mark.parametrize(
    "headers",
    [
        {"Impersonate_User": FOO},
        {"Impersonate_User": "system:kube-scheduler"},
        {"Impersonate_User": "system:node:train-01", "Impersonate_Group": "system:nodes"},
        {"Impersonate_User": BAR, "Impersonate_Group": "system:masters"},
        {"Impersonate_User": "system:serviceaccount:kube-system:daemon-set-controller"},
    ],
    ids=lambda headers: "+".join(headers.values()),
)
def test_nobody_else_can_be_played(attack: Stage, thief: Attacker, headers: dict[str, str]) -> None:
    document = attack.pod("thief", BAR, nodeName=VICTIMS[0])
    answer = thief.send("POST", pods(BAR), document, **headers)
    assert answer.status == 403
    assert "cannot impersonate" in answer.said


def test_an_account_of_its_own_is_no_more_than_the_tenant(attack: Stage, thief: Attacker) -> None:
    """A namespace's administrator may make accounts, tokens of them, and play them."""
    accounts = f"/api/v1/namespaces/{BAR}/serviceaccounts"
    roles = f"{RBAC}/namespaces/{BAR}/rolebindings"
    subject = {"kind": "ServiceAccount", "name": "helper", "namespace": BAR}
    grant = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "helper"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"},
        "subjects": [subject],
    }
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "helper"}}
    try:
        assert thief.send("POST", accounts, account).status == 201
        assert thief.send("POST", roles, grant).status == 201
        asked = thief.send("POST", f"{accounts}/helper/token", {"spec": {"expirationSeconds": 600}})
        helper = Attacker(attack.lab, BAR, token=asked.body["status"]["token"])
        plain = attack.pod("plain", BAR, gpus=0)
        until("it may", lambda: helper.send("POST", f"{pods(BAR)}?dryRun=All", plain).status == 201)
        play = {"Impersonate_User": f"system:serviceaccount:{BAR}:helper"}
        for spec, policy in (
            ({"tolerations": [THEFT]}, "tolerations"),
            ({"nodeName": VICTIMS[0]}, "node-names"),
        ):
            document = attack.pod("thief", BAR, **spec)
            assert f"{POLICY}{policy}" in helper.send("POST", pods(BAR), document).said
            assert f"{POLICY}{policy}" in thief.send("POST", pods(BAR), document, **play).said
    finally:
        attack.admin.delete(f"{roles}/helper")
        attack.admin.delete(f"{accounts}/helper")


def test_a_node_s_own_pods_are_exempt_by_its_identity(attack: Stage) -> None:
    """What a kubelet mirrors tolerates everything and names its node; forged marks do not count."""
    spec = {"nodeName": OWN, "tolerations": [{"operator": "Exists"}]}
    document = attack.pod("static", BAR, gpus=0, labels={}, **spec)
    document["metadata"]["annotations"] = {
        "kubernetes.io/config.mirror": "abc",
        "kubernetes.io/config.source": "file",
    }
    uid = attack.node(OWN)["metadata"]["uid"]
    document["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "Node", "name": OWN, "uid": uid, "controller": True}
    ]
    admin, path = Attacker(attack.lab, "admin"), f"{pods(BAR)}?dryRun=All"
    node = {"Impersonate_User": f"system:node:{OWN}", "Impersonate_Group": "system:nodes"}
    group = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:nodes"}
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["create"]}]
    with allowed(attack, BAR, rules, group):
        answer = until(
            "nodes may create Pods",
            lambda: (
                found
                if "cannot create resource" not in (found := admin.send("POST", path, document, **node)).said
                else None
            ),
        )
        assert answer.status == 201, answer.said
        assert POLICY in admin.send("POST", path, document, Impersonate_User=BAR).said


def test_tokens_of_the_platform_s_accounts_are_not_given(thief: Attacker) -> None:
    for namespace, name in (
        ("kube-system", "daemon-set-controller"),
        ("reservation-operator", "reservation-operator"),
        (FOO, "default"),
    ):
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        assert thief.send("POST", path, {"spec": {}}).status == 403


def test_nobody_becomes_a_node_by_asking_for_a_certificate(thief: Attacker) -> None:
    request = {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": "thief"},
        "spec": {
            "request": "",
            "signerName": "kubernetes.io/kube-apiserver-client-kubelet",
            "usages": ["client auth"],
        },
    }
    answer = thief.send("POST", "/apis/certificates.k8s.io/v1/certificatesigningrequests", request)
    assert answer.status == 403


VERBS = [
    {"apiGroups": ["scheduling.coreweave.cloud"], "resources": ["reservations"], "verbs": ["place", "bind"]}
]


def test_the_verbs_that_exempt_cannot_be_taken(thief: Attacker) -> None:
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "mine"},
        "rules": VERBS,
    }
    answer = thief.send("POST", f"{RBAC}/namespaces/{BAR}/roles", role)
    assert answer.status == 403
    assert "attempting to grant RBAC permissions not currently held" in answer.said


def test_the_verbs_that_exempt_count_in_no_namespace(attack: Stage, thief: Attacker) -> None:
    """Reservations are the cluster's: a Role that names the verbs for one namespace exempts nobody."""
    with allowed(attack, BAR, VERBS):
        document = attack.pod("thief", BAR, nodeName=VICTIMS[0])
        assert f"{POLICY}node-names" in thief.send("POST", pods(BAR), document).said
        document = attack.pod("thief", BAR, tolerations=[THEFT])
        assert f"{POLICY}tolerations" in thief.send("POST", pods(BAR), document).said


# The machinery itself


ADMISSION = "/apis/admissionregistration.k8s.io/v1"
MACHINERY = {
    "a policy": (
        "DELETE",
        f"{ADMISSION}/validatingadmissionpolicies/{POLICY}tolerations",
    ),
    "its binding": (
        "DELETE",
        f"{ADMISSION}/validatingadmissionpolicybindings/{POLICY}tolerations",
    ),
    "the injection": (
        "DELETE",
        f"{ADMISSION}/mutatingadmissionpolicies/{POLICY}injection",
    ),
    "a webhook": ("POST", f"{ADMISSION}/mutatingwebhookconfigurations"),
    "a definition": (
        "DELETE",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/reservations.scheduling.coreweave.cloud",
    ),
    "a priority": ("POST", "/apis/scheduling.k8s.io/v1/priorityclasses"),
    "a node": ("DELETE", "/api/v1/nodes/train-01"),
    "a node's taints": ("PATCH", "/api/v1/nodes/train-01"),
    "a node's status": ("PATCH", "/api/v1/nodes/train-01/status"),
    "a node made anew": ("POST", "/api/v1/nodes"),
    "a kubelet's Pods": ("GET", "/api/v1/nodes/train-01/proxy/pods"),
    "a kubelet's containers": ("POST", "/api/v1/nodes/train-01/proxy/run/tenant-foo/job/trainer"),
    "a kubelet by its port": ("GET", "/api/v1/nodes/https:train-01:10250/proxy/pods"),
    "the victim's Pods": ("DELETE", "/api/v1/namespaces/tenant-foo/pods"),
    "the victim's binding": (
        "DELETE",
        "/apis/scheduling.coreweave.cloud/v1alpha1/namespaces/tenant-foo/reservationbindings",
    ),
    "the canary": ("DELETE", "/api/v1/namespaces/gpuops-reservation-canary"),
}


@pytest.mark.parametrize("what", MACHINERY)
def test_what_keeps_tenants_apart_is_out_of_reach(reserved: Stage, what: str) -> None:
    method, path = MACHINERY[what]
    kind = MERGE if method == "PATCH" else "application/json"
    body: Json | None = (
        {} if method == "PATCH" else {"metadata": {"name": "thief"}} if method == "POST" else None
    )
    answer = Attacker(reserved.lab, BAR).send(method, path, body, kind)
    assert answer.status == 403, answer
    assert "forbidden" in answer.said


# Wishes


def test_a_priority_that_never_waits_still_finds_no_foreign_node(attack: Stage, thief: Attacker) -> None:
    """With a term for the node's name beside the injected label, and every built-in priority refused."""
    attack.run_pod("victim", FOO)
    spec = required({"matchFields": [on("metadata.name", "In", *VICTIMS)]})
    for priority in ("system-node-critical", "system-cluster-critical"):
        document = attack.pod("bully", BAR, priorityClassName=priority, **spec)
        answer = thief.send("POST", pods(BAR), document)
        if answer.status == 201:
            assert settled(attack, "bully") == "waits"
            attack.delete_pod("bully", BAR)
    assert attack.exists(f"{pods(FOO)}/victim")


def test_an_honest_toleration_beside_is_no_cover(attack: Stage, thief: Attacker) -> None:
    for name, toleration in (
        ("upper", {**THEFT, "key": "Reserved"}),
        ("longer", {**THEFT, "key": "reserved.tenant"}),
        ("other", {"key": "example.com/reserved", "operator": "Exists"}),
    ):
        spec = {**tolerating(**toleration), "nodeSelector": {"reserved.tenant": FOO}}
        document = attack.pod(name, BAR, gpus=0, labels={}, **spec)
        assert thief.send("POST", pods(BAR), document).status == 201
        assert settled(attack, name) == "waits"


def test_a_pod_that_claims_another_namespace_is_refused(attack: Stage, thief: Attacker) -> None:
    document = attack.pod("thief", FOO)
    assert thief.send("POST", pods(BAR), document).status == 400
    assert refusal(lambda: attack.tenants[BAR].create(pods(FOO), document))
