# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads everything that is judged of a cluster, in parallel, after making sure which cluster it is.

What may be absent, and what absent then means:

- KubeVirt's objects: no API group kubevirt.io at all means no guests and no permitted devices. A group
  that is served without one of its resources is a failure.
- The HelmRelease and the backend's Deployment: "where they exist"; see gate_objects.py.
- The four ConfigMaps: None where the API server says that they do not exist; it is judged elsewhere.
- Everything else (nodes, leases, Pods, quotas, organizations, projects) has to be served: without its
  definition a list answers 404, and that is a failure and never an empty list.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Any, Final, TypeVar

from .._core.cluster_objects import ConfigMap, Lease, Namespace, Node, Organization, Pod, Project, Quota
from .._core.errors import ObservationError
from .._core.snapshot import ClusterObserved
from .api_resource import (
    CONFIGMAPS,
    HIERARCHICAL_QUOTAS,
    KUBEVIRTS,
    LEASES,
    NAMESPACES,
    NODES,
    ORGANIZATIONS,
    PODS,
    PROJECTS,
    RESOURCE_QUOTAS,
    VIRTUAL_MACHINE_INSTANCES,
    VIRTUAL_MACHINES,
    ApiResource,
)
from .device_pods import PLUGIN_NAMESPACES, has_device
from .fence_objects import read_fences
from .gate_objects import read_gate_copies
from .guest_objects import RawInstance, RawKubeVirt, RawMachine
from .kube import KubeClient
from .pod_page import kept_pods

_WORKERS: Final = 8
_KUBE_SYSTEM: Final = NAMESPACES.path(name="kube-system")
_CLUSTER_CONFIG: Final = CONFIGMAPS.path("flux-system", "cluster-config")
_CONFIG_MAPS: Final = {
    "billing_plans": ("kube-dc", "billing-plans"),
    "gpu_profiles": ("kube-dc", "gpu-profiles"),
    "cluster_config": ("flux-system", "cluster-config"),
    "capacity_fence": ("gpuops-system", "capacity-fence"),
}

Result = TypeVar("Result")


def confirm_cluster(client: KubeClient, uid: str, cluster: str) -> None:
    """Makes sure that this is the cluster that is meant; to be called before anything else is read.

    Args:
        client: the API server.
        uid: the UID that namespace kube-system has to have.
        cluster: the CLUSTER_NAME that ConfigMap flux-system/cluster-config has to say.

    Raises:
        ObservationError: wrong-cluster-uid, wrong-cluster-name, or what reading raises.
    """
    namespace = client.get(_KUBE_SYSTEM, Namespace)
    found = namespace.metadata.uid if namespace else ""
    if not uid or found != uid:
        raise ObservationError(
            "wrong-cluster-uid",
            f"{client.url} is another cluster: namespace kube-system has UID {found or 'none'}, and the "
            f"policy of {cluster} names {uid or 'none'}",
            next_action="connect to the cluster that the policy names; nothing else was read",
            details={"expected": uid, "observed": found},
        )
    config = client.get(_CLUSTER_CONFIG, ConfigMap)
    name = config.data.get("CLUSTER_NAME", "") if config else ""
    if not cluster or name != cluster:
        raise ObservationError(
            "wrong-cluster-name",
            f"{client.url} calls itself {name or 'nothing'} (CLUSTER_NAME in ConfigMap "
            f"flux-system/cluster-config), and {cluster or 'nothing'} was asked for",
            next_action="set cluster to the folder below clusters/ of the cluster that you connect to",
            details={"expected": cluster, "observed": name},
        )


def observe_cluster(
    client: KubeClient, uid: str, cluster: str, *, parts: Collection[str] | None = None
) -> ClusterObserved:
    """Everything of a cluster that is judged, after :func:`confirm_cluster`.

    Args:
        client: the API server.
        uid: as for :func:`confirm_cluster`.
        cluster: as for :func:`confirm_cluster`.
        parts: fields of :class:`ClusterObserved` to read, where not all are needed; the others stay empty.
            Never judge a field that was not read. pods and plugin_pods are read together.

    Raises:
        ObservationError: whatever could not be read; nothing is left out silently.
    """
    confirm_cluster(client, uid, cluster)
    return read_confirmed(client, uid, parts)


def read_confirmed(client: KubeClient, uid: str, parts: Collection[str] | None = None) -> ClusterObserved:
    """As :func:`observe_cluster`, where :func:`confirm_cluster` has just been called."""
    wanted = set(ClusterObserved.model_fields if parts is None else parts)
    if unknown := wanted - set(ClusterObserved.model_fields):
        raise ValueError(f"no parts of an observation: {sorted(unknown)}")
    readers = {name: read for name, read in _readers(client).items() if name in wanted}
    if "plugin_pods" in wanted:
        readers["pods"] = _readers(client)["pods"]
    leases = readers.pop("leases", None)
    found = in_parallel(readers)
    pods: tuple[Pod, ...] = found.pop("pods", ())
    if leases is not None:
        found["leases"] = leases()  # last, so that heartbeats are as new as the time they are compared with
    return ClusterObserved(
        uid=uid,
        server_time=client.server_time,
        pods=tuple(pod for pod in pods if has_device(pod)) if "pods" in wanted else (),
        plugin_pods=tuple(pod for pod in pods if pod.metadata.namespace in PLUGIN_NAMESPACES),
        **found,
    )


def in_parallel(readers: dict[str, Callable[[], Result]]) -> dict[str, Result]:
    """Runs all readers in threads; the first one that fails ends the waiting and is raised."""
    pool = ThreadPoolExecutor(_WORKERS, thread_name_prefix="observe")
    try:
        futures: dict[str, Future[Result]] = {name: pool.submit(read) for name, read in readers.items()}
        wait(futures.values(), return_when=FIRST_EXCEPTION)
        return {name: future.result() for name, future in _failed_first(futures)}
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _failed_first(futures: dict[str, Future[Result]]) -> list[tuple[str, Future[Result]]]:
    """Failed ones first, so that asking for results does not wait for those that still run."""
    return sorted(futures.items(), key=lambda pair: not (pair[1].done() and pair[1].exception() is not None))


def _readers(client: KubeClient) -> dict[str, Callable[[], Any]]:
    def lists(resource: ApiResource, model: type[Any], namespace: str = "") -> Callable[[], tuple[Any, ...]]:
        return lambda: client.list(resource.path(namespace), model)

    def config_map(namespace: str, name: str) -> Callable[[], ConfigMap | None]:
        return lambda: client.get(CONFIGMAPS.path(namespace, name), ConfigMap)

    # The longest list first.
    return {
        "pods": lambda: client.list_parsed(PODS.path(), kept_pods),
        "hrqs": lists(HIERARCHICAL_QUOTAS, Quota),
        "resource_quotas": lists(RESOURCE_QUOTAS, Quota),
        "organizations": lists(ORGANIZATIONS, Organization),
        "projects": lists(PROJECTS, Project),
        "nodes": lists(NODES, Node),
        "namespaces": lists(NAMESPACES, Namespace),
        "vms": lambda: _guests(client, VIRTUAL_MACHINES, RawMachine),
        "vmis": lambda: _guests(client, VIRTUAL_MACHINE_INSTANCES, RawInstance),
        "kubevirts": lambda: _guests(client, KUBEVIRTS, RawKubeVirt),
        "gate_copies": lambda: read_gate_copies(client),
        "fences": lambda: read_fences(client),
        **{name: config_map(*where) for name, where in _CONFIG_MAPS.items()},
        "server_version": client.version,
        "leases": lists(LEASES, Lease, "kube-node-lease"),
    }


def _guests(client: KubeClient, resource: ApiResource, model: type[Any]) -> tuple[Any, ...]:
    try:
        return tuple(raw.observed() for raw in client.list(resource.path(), model))
    except ObservationError as error:
        if error.code == "api-not-served" and not client.serves_group(resource.group):
            return ()
        raise
