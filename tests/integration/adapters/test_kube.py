# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The API server's adapter against a real API server: what it answers is told apart as it should be."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.api_resource import (
    CONFIGMAPS,
    HELM_RELEASES,
    NAMESPACES,
    NODES,
    ORGANIZATIONS,
    PODS,
    ApiResource,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.api_transport import ApiTransport
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.connection import (
    ConnectionOptions,
    connect,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.gate_objects import (
    read_gate_copies,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.kube import (
    KubeClient,
    Patch,
    PatchKind,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.cluster_objects import (
    ConfigMap,
    Namespace,
    Node,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import (
    ConflictError,
    ObservationError,
    PolicyBlocked,
)
from lab.certificates import Pki
from lab.directory import LabDirectory

pytestmark = pytest.mark.lab

BUDGETS = ApiResource("policy", "v1", "poddisruptionbudgets")
QUOTAS = ApiResource("", "v1", "resourcequotas")
POLICIES = ApiResource("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies")
BINDINGS = ApiResource("admissionregistration.k8s.io", "v1", "validatingadmissionpolicybindings")


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def eventually(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"did not become true within {seconds} s"
        time.sleep(0.05)


def read_of(client: KubeClient, path: str) -> object:
    return client.get(path, Namespace) if path.endswith("/o") else client.list(path, Namespace)


def test_every_page_of_a_list_arrives_once(control_plane: LabDirectory, admin: KubeClient) -> None:
    wanted = {f"page-{number:02}" for number in range(23)}
    for name in wanted:
        admin.create(CONFIGMAPS.path("default"), config_map(name))
    server = connect(ConnectionOptions(kubeconfig=str(control_plane.kubeconfig("admin"))))
    paging = KubeClient(ApiTransport(server), page_size=5)
    found = [one.metadata.name for one in paging.list(CONFIGMAPS.path("default"), ConfigMap)]
    assert sorted(name for name in found if name.startswith("page-")) == sorted(wanted)
    assert len(found) == len(set(found))


def test_a_list_has_what_was_written_a_moment_ago(admin: KubeClient) -> None:
    for number in range(20):
        admin.create(CONFIGMAPS.path("default"), config_map(f"fresh-{number}"))
        names = {one.metadata.name for one in admin.list(CONFIGMAPS.path("default"), ConfigMap)}
        assert f"fresh-{number}" in names


def test_absence_is_the_servers_word_about_the_object(admin: KubeClient) -> None:
    assert admin.get(CONFIGMAPS.path("default", "never"), ConfigMap) is None
    assert admin.get(CONFIGMAPS.path("no-such-namespace", "never"), ConfigMap) is None
    assert admin.get(NODES.path(name="never"), Node) is None


@pytest.mark.parametrize(
    "path", [ORGANIZATIONS.path(), ORGANIZATIONS.path("o", "o"), "/apis/apps/v0/deployments"]
)
def test_an_api_that_is_not_installed_is_no_absence(admin: KubeClient, path: str) -> None:
    with pytest.raises(ObservationError) as raised:
        read_of(admin, path)
    assert raised.value.code == "api-not-served"


def test_groups_tell_what_is_installed(admin: KubeClient) -> None:
    assert admin.serves_group("apps")
    assert not admin.serves_group(HELM_RELEASES.group)
    assert read_gate_copies(admin).helmrelease is None


def test_a_missing_permission_is_named(stranger: KubeClient) -> None:
    with pytest.raises(ObservationError) as raised:
        stranger.list(PODS.path(), Namespace)
    assert raised.value.code == "permission-missing"
    assert "list pods" in raised.value.next_action
    with pytest.raises(ObservationError) as raised:
        stranger.patch(NODES.path(name="n"), {"spec": {"unschedulable": True}})
    assert raised.value.code == "permission-missing"
    assert "patch nodes" in raised.value.next_action


def test_access_reviews(admin: KubeClient, stranger: KubeClient) -> None:
    assert admin.access_review("patch", "nodes")
    assert not stranger.access_review("patch", "nodes")
    assert stranger.access_review("create", "selfsubjectaccessreviews", group="authorization.k8s.io")


def test_an_unknown_token_is_said(control_plane: LabDirectory, admin: KubeClient) -> None:
    kubeconfig = str(control_plane.kubeconfig("admin"))
    unknown = KubeClient.connect(ConnectionOptions(kubeconfig=kubeconfig, api_key="wrong"))
    with pytest.raises(ObservationError) as raised:
        unknown.list(PODS.path(), Namespace)
    assert raised.value.code == "not-authenticated"


def test_an_authority_that_is_not_given_is_no_trust(control_plane: LabDirectory, admin: KubeClient) -> None:
    blind = KubeClient.connect(ConnectionOptions(host=admin.url, api_key="x"))
    with pytest.raises(ObservationError) as raised:
        blind.version()
    assert "certificate" in raised.value.message
    trusting = ConnectionOptions(host=admin.url, api_key="x", ca_cert=str(Pki(control_plane.pki).ca))
    with pytest.raises(ObservationError) as raised:
        KubeClient.connect(trusting).version()
    assert raised.value.code == "not-authenticated"


def test_the_servers_clock_and_version(admin: KubeClient) -> None:
    assert admin.version().startswith("v1.")
    told = datetime.fromisoformat(admin.server_time)
    assert abs((datetime.now(UTC) - told).total_seconds()) < 5


@pytest.mark.parametrize("kind", ["merge", "json"])
def test_a_version_that_was_not_read_is_a_conflict(admin: KubeClient, kind: PatchKind) -> None:
    path = CONFIGMAPS.path("default", f"conflict-{kind}")
    read = admin.create(CONFIGMAPS.path("default"), config_map(f"conflict-{kind}", a="1"))["metadata"][
        "resourceVersion"
    ]
    admin.patch(path, {"data": {"a": "2"}}, resource_version=read)
    operation = {"op": "replace", "path": "/data/a", "value": "3"}
    patches: dict[PatchKind, Patch] = {"merge": {"data": {"a": "3"}}, "json": [operation]}
    with pytest.raises(ConflictError) as raised:
        admin.patch(path, patches[kind], kind=kind, resource_version=read)
    assert raised.value.code == "object-changed"
    found = admin.get(path, ConfigMap)
    assert found is not None
    assert found.data == {"a": "2"}


def test_a_test_in_a_json_patch_that_fails_is_a_conflict(admin: KubeClient) -> None:
    admin.create(CONFIGMAPS.path("default"), config_map("tested", a="1"))
    operations = [{"op": "test", "path": "/data/a", "value": "2"}, {"op": "remove", "path": "/data/a"}]
    with pytest.raises(ConflictError):
        admin.patch(CONFIGMAPS.path("default", "tested"), operations, kind="json")


def test_creating_twice_and_replacing_what_moved(admin: KubeClient) -> None:
    made = admin.create(CONFIGMAPS.path("default"), config_map("twice", a="1"))
    with pytest.raises(ConflictError) as raised:
        admin.create(CONFIGMAPS.path("default"), config_map("twice"))
    assert raised.value.code == "already-exists"
    path = CONFIGMAPS.path("default", "twice")
    admin.replace(path, {**made, "data": {"a": "2"}})
    with pytest.raises(ConflictError):
        admin.replace(path, {**made, "data": {"a": "3"}})


def test_a_dry_run_changes_nothing_and_is_judged(admin: KubeClient) -> None:
    admin.create(CONFIGMAPS.path("default"), config_map("dry"), dry_run=True)
    assert admin.get(CONFIGMAPS.path("default", "dry"), ConfigMap) is None
    with pytest.raises(PolicyBlocked) as raised:
        admin.create(CONFIGMAPS.path("default"), config_map("Not A Name"), dry_run=True)
    assert raised.value.code == "request-refused"


def test_deleting_the_object_that_was_read_and_no_other(admin: KubeClient) -> None:
    made = admin.create(CONFIGMAPS.path("default"), config_map("gone"))
    path = CONFIGMAPS.path("default", "gone")
    with pytest.raises(ConflictError):
        admin.delete(path, uid="another")
    assert admin.delete(path, uid=made["metadata"]["uid"]) is True
    assert admin.delete(path) is False


def test_a_write_to_what_is_gone(admin: KubeClient) -> None:
    with pytest.raises(ObservationError) as raised:
        admin.patch(CONFIGMAPS.path("default", "never"), {"data": {"a": "1"}})
    assert raised.value.code == "object-gone"


def test_a_policy_and_a_quota_refuse_with_their_own_words(admin: KubeClient) -> None:
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "adapters"},
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["configmaps"],
                    }
                ]
            },
            "validations": [
                {"expression": "!object.metadata.name.startsWith('refused')", "message": "fence stands"}
            ],
        },
    }
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "adapters"},
        "spec": {"policyName": "adapters", "validationActions": ["Deny"]},
    }
    admin.create(POLICIES.path(), policy)
    admin.create(BINDINGS.path(), binding)

    def refused() -> bool:
        try:
            admin.create(CONFIGMAPS.path("default"), config_map("refused"), dry_run=True)
        except PolicyBlocked as error:
            return error.code == "request-refused" and "fence stands" in error.message
        return False

    eventually(refused)
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q"},
        "spec": {"hard": {"configmaps": "0"}},
    }
    admin.create(NAMESPACES.path(), {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "full"}})
    admin.create(QUOTAS.path("full"), quota)

    def exceeded() -> bool:
        try:
            admin.create(CONFIGMAPS.path("full"), config_map("one"))
        except PolicyBlocked as error:
            return error.code == "request-refused" and "exceeded quota" in error.message
        return False

    eventually(exceeded)


def test_status_is_written_and_spec_is_not(admin: KubeClient) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "status-only"}}
    made = admin.create(NODES.path(), node)
    capacity = {"example.com/device": "2"}
    path = NODES.path(name="status-only")
    for _ in range(10):
        try:
            version = admin.get(path, dict[str, Any]) or made
            written = admin.update_status(
                path, {"capacity": capacity}, resource_version=version["metadata"]["resourceVersion"]
            )
            break
        except ConflictError:  # the node controller writes to new nodes too
            continue
    else:
        pytest.fail("never undisturbed")
    assert written["status"]["capacity"] == capacity


def test_evictions_obey_budgets(admin: KubeClient) -> None:
    namespace = "evictions"
    admin.create(
        NAMESPACES.path(), {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    )
    resources = {"cpu": "8", "memory": "8Gi", "pods": "10"}
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "played", "annotations": {"kwok.x-k8s.io/node": "fake"}},
        "status": {"capacity": resources, "allocatable": resources},
    }
    admin.create(NODES.path(), node)
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "kept"}}},
    }
    admin.create(BUDGETS.path(namespace), budget)
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts/default"
    eventually(lambda: admin.get(accounts, Namespace) is not None)
    uids = {}
    for name in ("kept", "free"):
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "labels": {"app": name}},
            "spec": {"nodeName": "played", "containers": [{"name": "c", "image": "i"}]},
        }
        uids[name] = admin.create(PODS.path(namespace), pod)["metadata"]["uid"]

    def phases() -> set[str]:
        found = (admin.get(PODS.path(namespace, name), dict[str, Any]) for name in uids)
        return {pod["status"].get("phase", "") for pod in found if pod}

    eventually(lambda: phases() == {"Running"})
    eventually(
        lambda: (
            (admin.get(BUDGETS.path(namespace, "b"), dict[str, Any]) or {})
            .get("status", {})
            .get("expectedPods")
            == 1
        )
    )
    assert admin.evict(namespace, "kept", uid=uids["kept"]) == "budget"
    with pytest.raises(ConflictError):
        admin.evict(namespace, "free", uid="another")
    assert admin.evict(namespace, "free", uid=uids["free"], dry_run=True) == "evicted"
    assert admin.get(PODS.path(namespace, "free"), Namespace) is not None
    assert admin.evict(namespace, "free", uid=uids["free"]) == "evicted"
    eventually(lambda: admin.get(PODS.path(namespace, "free"), Namespace) is None)
    assert admin.evict(namespace, "free") == "gone"
