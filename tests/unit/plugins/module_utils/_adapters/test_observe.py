# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The right cluster first; then everything, or an error."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.kube import KubeClient
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.observe import (
    confirm_cluster,
    in_parallel,
    observe_cluster,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import ObservationError

from .cluster_script import H100, UID, config_map, listed, named, script_cluster
from .scripted_server import Answer, ScriptedServer, status


@pytest.fixture(autouse=True)
def cluster(server: ScriptedServer) -> None:
    script_cluster(server)


def test_everything_is_read(client: KubeClient) -> None:
    observed = observe_cluster(client, UID, "lab")
    assert (observed.uid, observed.server_version) == (UID, "v1.36.3")
    assert observed.server_time.endswith("Z")
    assert [pod.metadata.name for pod in observed.pods] == ["holder"]
    assert [pod.metadata.namespace for pod in observed.plugin_pods] == ["gpu-operator"]
    single = [
        observed.namespaces, observed.nodes, observed.leases, observed.organizations, observed.projects,
        observed.hrqs, observed.resource_quotas, observed.vms, observed.vmis, observed.kubevirts,
    ]  # fmt: skip
    assert [len(one) for one in single] == [1] * len(single)
    assert observed.vms[0].devices == observed.vmis[0].devices == (H100,)
    assert observed.cluster_config is not None
    assert observed.cluster_config.data == {"CLUSTER_NAME": "lab"}
    assert observed.billing_plans is not None
    assert observed.gpu_profiles is not None
    assert observed.capacity_fence is None
    assert observed.gate_copies.helmrelease is None


def test_only_reads_are_made(server: ScriptedServer, client: KubeClient) -> None:
    observe_cluster(client, UID, "lab")
    assert {asked.method for asked in server.asked} == {"GET"}


def test_heartbeats_are_read_last(server: ScriptedServer, client: KubeClient) -> None:
    observe_cluster(client, UID, "lab")
    assert server.asked[-1].path.endswith("/leases")


@pytest.mark.parametrize("uid", ["another", ""])
def test_another_cluster_is_left_after_one_read(server: ScriptedServer, client: KubeClient, uid: str) -> None:
    with pytest.raises(ObservationError) as raised:
        observe_cluster(client, uid, "lab")
    assert raised.value.code == "wrong-cluster-uid"
    assert [asked.path for asked in server.asked] == ["/api/v1/namespaces/kube-system"]


@pytest.mark.parametrize("data", [{"CLUSTER_NAME": "production"}, {"CLUSTER_NAME": "LAB"}, {}, None])
def test_a_cluster_of_another_name_is_left_before_anything_is_listed(
    server: ScriptedServer, client: KubeClient, data: dict[str, str] | None
) -> None:
    config_map(server, "flux-system", "cluster-config", data)
    with pytest.raises(ObservationError) as raised:
        observe_cluster(client, UID, "lab")
    assert raised.value.code == "wrong-cluster-name"
    assert len(server.asked) == 2


def test_no_name_asked_for_fits_no_cluster(server: ScriptedServer, client: KubeClient) -> None:
    config_map(server, "flux-system", "cluster-config", {"CLUSTER_NAME": ""})
    with pytest.raises(ObservationError):
        confirm_cluster(client, UID, "")


def test_a_namespace_that_cannot_be_read_is_not_another_cluster(
    server: ScriptedServer, client: KubeClient
) -> None:
    server.on("GET", "/api/v1/namespaces/kube-system", status(403, "Forbidden", "no"))
    with pytest.raises(ObservationError) as raised:
        confirm_cluster(client, UID, "lab")
    assert raised.value.code == "permission-missing"


LISTS = [
    "/api/v1/pods",
    "/api/v1/nodes",
    "/api/v1/namespaces",
    "/api/v1/resourcequotas",
    "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
    "/apis/kube-dc.com/v1/organizations",
    "/apis/kube-dc.com/v1/projects",
    "/apis/hnc.x-k8s.io/v1alpha2/hierarchicalresourcequotas",
    "/apis/kubevirt.io/v1/kubevirts",
    "/apis/kubevirt.io/v1/virtualmachines",
    "/apis/kubevirt.io/v1/virtualmachineinstances",
]
OBJECTS = [
    "/version",
    "/api/v1/namespaces/kube-dc/configmaps/billing-plans",
    "/api/v1/namespaces/kube-dc/configmaps/gpu-profiles",
    "/api/v1/namespaces/gpuops-system/configmaps/capacity-fence",
    "/apis/apps/v1/namespaces/kube-dc/deployments/kube-dc-backend",
    "/apis/helm.toolkit.fluxcd.io/v2/namespaces/kube-dc/helmreleases/kube-dc",
]


@pytest.mark.parametrize("path", LISTS + OBJECTS)
@pytest.mark.parametrize(
    "answer",
    [
        Answer(404, b"404 page not found"),
        status(403, "Forbidden", 'User "x" cannot list'),
        Answer(500, b"etcd"),
        Answer(body=b'{"kind":"PodList","metadata":{},'),
        Answer(fault="reset"),
    ],
)
def test_whatever_cannot_be_read_stops(
    server: ScriptedServer, client: KubeClient, path: str, answer: Answer
) -> None:
    server.on("GET", path, answer)
    with pytest.raises(ObservationError) as raised:
        observe_cluster(client, UID, "lab")
    assert path in raised.value.message or raised.value.details["path"] == path


def test_without_kubevirt_there_are_no_guests(server: ScriptedServer, client: KubeClient) -> None:
    server.on_json("/apis", {"groups": [{"name": "apps"}]})
    for resource in ("kubevirts", "virtualmachines", "virtualmachineinstances"):
        server.on("GET", f"/apis/kubevirt.io/v1/{resource}", Answer(404, b"404 page not found"))
    observed = observe_cluster(client, UID, "lab")
    assert (observed.vms, observed.vmis, observed.kubevirts) == ((), (), ())


def test_only_the_parts_asked_for_are_read(server: ScriptedServer, client: KubeClient) -> None:
    observed = observe_cluster(client, UID, "lab", parts={"nodes", "plugin_pods"})
    assert {asked.path for asked in server.asked[2:]} == {"/api/v1/nodes", "/api/v1/pods"}
    assert len(observed.plugin_pods) == len(observed.nodes) == 1
    assert observed.pods == ()


def test_a_part_that_does_not_exist_is_a_mistake(client: KubeClient) -> None:
    with pytest.raises(ValueError, match="lease"):
        observe_cluster(client, UID, "lab", parts={"lease"})


def test_pods_are_kept_from_every_page(server: ScriptedServer, client: KubeClient) -> None:
    first = listed("Pod", named("a", "hami-system"))
    first["metadata"]["continue"] = "t"
    server.on_json("/api/v1/pods", first, listed("Pod", named("b", "hami-system"), named("c", "ns")))
    observed = observe_cluster(client, UID, "lab", parts={"pods", "plugin_pods"})
    assert [pod.metadata.name for pod in observed.plugin_pods] == ["a", "b"]


def test_the_first_failure_does_not_wait_for_the_others() -> None:
    release = threading.Event()

    def fails() -> int:
        raise ObservationError("x", "x", next_action="x")

    readers: dict[str, Callable[[], int]] = {"slow": lambda: int(release.wait(30)), "fails": fails}
    try:
        with pytest.raises(ObservationError):
            in_parallel(readers)
        assert not release.is_set()
    finally:
        release.set()
