# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Everything that one run observed, at one moment, as plain values that save to JSON and load again."""

from __future__ import annotations

from typing import Final, Literal

from .cluster_objects import (
    Alert,
    ConfigMap,
    GateCopies,
    KubeVirt,
    Lease,
    Namespace,
    Node,
    Organization,
    Pod,
    Project,
    Quota,
    VirtualMachine,
    VirtualMachineInstance,
)
from .errors import ObservationError
from .fence_objects import FencesInstalled
from .fleet_files import FleetTree
from .strict_model import ObservedModel, ValidationError

FORMAT: Final = "gpuops.reservations/snapshot/v1"


class AlertsObserved(ObservedModel):
    """What the alert source said.

    Attributes:
        readable: whether alerts and rules were read at all.
        error: why not, where not.
        rules: how often each alerting rule's name is loaded.
        alerts: the active ones (pending or firing), unfiltered.
    """

    readable: bool = False
    error: str = ""
    rules: dict[str, int] = {}
    alerts: tuple[Alert, ...] = ()


class ClusterObserved(ObservedModel):
    """Objects of the API server; lists are whole, in the server's order.

    Attributes:
        uid: UID of namespace kube-system.
        server_time: the API server's Date header when reading ended, RFC 3339 UTC.
        server_version: its gitVersion.
        pods: only Pods with a device resource or a resource claim, in any phase.
        plugin_pods: Pods of the device-plugin namespaces gpu-operator and hami-system.
        earlier_leases: leases as they were before, where some looked old or ahead and were read again.
        earlier_server_time: the Date header of that earlier reading.
    """

    uid: str = ""
    server_time: str = ""
    server_version: str = ""
    namespaces: tuple[Namespace, ...] = ()
    nodes: tuple[Node, ...] = ()
    leases: tuple[Lease, ...] = ()
    earlier_leases: tuple[Lease, ...] = ()
    earlier_server_time: str = ""
    pods: tuple[Pod, ...] = ()
    plugin_pods: tuple[Pod, ...] = ()
    organizations: tuple[Organization, ...] = ()
    projects: tuple[Project, ...] = ()
    hrqs: tuple[Quota, ...] = ()
    resource_quotas: tuple[Quota, ...] = ()
    vms: tuple[VirtualMachine, ...] = ()
    vmis: tuple[VirtualMachineInstance, ...] = ()
    kubevirts: tuple[KubeVirt, ...] = ()
    billing_plans: ConfigMap | None = None
    gpu_profiles: ConfigMap | None = None
    cluster_config: ConfigMap | None = None
    capacity_fence: ConfigMap | None = None
    gate_copies: GateCopies = GateCopies()
    fences: FencesInstalled = FencesInstalled()


class Snapshot(ObservedModel):
    """One observation of cluster, fleet and alerts.

    Attributes:
        format: always FORMAT; a file of another format is refused.
        cluster: the folder below clusters/ that the run named.
        fleet: the fleet branch: gpu-reservations/ (all clusters) and clusters/<cluster>/.
        lock: the lock branch: lock.yaml.
    """

    format: Literal["gpuops.reservations/snapshot/v1"]
    cluster: str
    observed: ClusterObserved
    fleet: FleetTree
    lock: FleetTree
    alerts: AlertsObserved

    def to_json(self) -> str:
        """The snapshot as indented JSON text."""
        return self.model_dump_json(indent=1, by_alias=True, exclude_defaults=True)


def load_snapshot(text: bytes | str, source: str) -> Snapshot:
    """A snapshot from the JSON that :meth:`Snapshot.to_json` wrote.

    Args:
        text: the JSON.
        source: the file's name, for messages.

    Raises:
        ObservationError: not JSON, or not a snapshot of this format.
    """
    try:
        return Snapshot.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ObservationError(
            "snapshot-unreadable",
            f"{source} is no snapshot of format {FORMAT}: {where or 'the document'}: {first['msg']}",
            next_action="save a snapshot again with gpu_invariant and its option save_snapshot",
        ) from error
