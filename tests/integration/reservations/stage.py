# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab's tenants, nodes and Reservations: what the tests do with them, in a line each."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import yaml

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.connection import (
    ConnectionOptions,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.kube import KubeClient
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import GpuopsError
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.argument_spec import ArgumentSpec
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.outcome import Outcome
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.placement_info import (
    inspect_placement,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.reservation import (
    reconcile_reservations,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._shell.run import Invocation
from ansible_collections.gpuops.reservations.plugins.modules import gpu_placement_info, gpu_reservation
from lab.directory import CHECKOUT, LabDirectory
from lab.environment import exports

Json = dict[str, Any]
Answer = TypeVar("Answer")

GROUP = "/apis/scheduling.coreweave.cloud/v1alpha1"
RESERVATIONS = f"{GROUP}/reservations"
NODES = "/api/v1/nodes"
EXAMPLES = CHECKOUT / "lab" / "fixture" / "examples"
TRAINING = tuple(f"train-0{number}" for number in range(1, 7))
TENANTS = ("tenant-foo", "tenant-bar")
WORKLOADS = (  # owners before what they own, which they would make again
    "/apis/batch/v1/namespaces/{tenant}/cronjobs",
    "/apis/batch/v1/namespaces/{tenant}/jobs",
    "/apis/apps/v1/namespaces/{tenant}/deployments",
    "/apis/apps/v1/namespaces/{tenant}/daemonsets",
    "/apis/apps/v1/namespaces/{tenant}/statefulsets",
    "/apis/apps/v1/namespaces/{tenant}/replicasets",
    "/api/v1/namespaces/{tenant}/replicationcontrollers",
    "/apis/policy/v1/namespaces/{tenant}/poddisruptionbudgets",
    "/api/v1/namespaces/{tenant}/resourcequotas",
    "/api/v1/namespaces/{tenant}/pods",
)


def example(name: str) -> Json:
    """One of the runbook's example objects, as the lab keeps it."""
    content: Json = yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text())
    return content


def pods(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


def bindings(namespace: str) -> str:
    return f"{GROUP}/namespaces/{namespace}/reservationbindings"


def until(what: str, look: Callable[[], Answer | None], seconds: float = 30.0) -> Answer:
    """What ``look`` answers once it answers something true; fails with what was waited for."""
    deadline = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < deadline, f"{what}: not within {seconds:.0f} s"
        time.sleep(0.05)


def client_of(lab: LabDirectory, identity: str) -> KubeClient:
    return KubeClient.connect(ConnectionOptions(kubeconfig=str(lab.kubeconfig(identity))))


def refusal(action: Callable[[], Any]) -> str:
    """The server's words where it refuses; empty where it does not."""
    try:
        action()
    except GpuopsError as error:
        return error.message
    return ""


@dataclass
class Stage:
    """One lab, with a client for everybody who plays a part."""

    lab: LabDirectory
    admin: KubeClient
    operator: KubeClient
    tenants: Mapping[str, KubeClient]
    warnings: list[str] = field(default_factory=list)

    # Objects

    def get(self, path: str) -> Json:
        found: Json = json.loads(self.admin.get_bytes(path))
        return found

    def exists(self, path: str) -> bool:
        return self.admin.get(path, dict[str, Any]) is not None

    def items(self, path: str) -> list[Json]:
        found: list[Json] = self.get(path)["items"]
        return found

    def node(self, name: str) -> Json:
        return self.get(f"{NODES}/{name}")

    def reserve(self, name: str, tenant: str, nodes: list[str], **spec: Any) -> Json:
        """Create a Reservation by names."""
        return self.create_reservation(name, {"tenant": tenant, "reservedNodes": nodes, **spec})

    def create_reservation(self, name: str, spec: Json) -> Json:
        document = {
            "apiVersion": "scheduling.coreweave.cloud/v1alpha1",
            "kind": "Reservation",
            "metadata": {"name": name},
            "spec": spec,
        }
        return self.admin.create(RESERVATIONS, document)

    def edit_reservation(self, name: str, **spec: Any) -> Json:
        return self.admin.patch(f"{RESERVATIONS}/{name}", {"spec": spec})

    def bind(self, tenant: str, reservation: str, **spec: Any) -> Json:
        """Create the tenant's binding, as the tenant's administrator."""
        document = example("reservationbinding")
        document["metadata"] = {"name": f"{tenant}-binding", "namespace": tenant}
        document["spec"]["reservationName"] = reservation
        document["spec"]["podSelector"] = {"matchLabels": {"app.kubernetes.io/managed-by": tenant}}
        document["spec"].update(spec)
        return self.tenants[tenant].create(bindings(tenant), document)

    def pod(self, name: str, tenant: str, *, gpus: int = 8, labels: Json | None = None, **spec: Any) -> Json:
        """An ordinary Pod of a tenant, not created."""
        document = copy.deepcopy(example("pod"))
        chosen = {"app.kubernetes.io/managed-by": tenant} if labels is None else labels
        document["metadata"] = {"name": name, "namespace": tenant, "labels": chosen}
        limits = {"nvidia.com/gpu": str(gpus)} if gpus else {}
        document["spec"]["containers"][0]["resources"] = {"limits": limits}
        document["spec"].update(spec)
        return document

    def run_pod(self, name: str, tenant: str, **spec: Any) -> str:
        """Create a Pod as the tenant and wait for its node."""
        self.tenants[tenant].create(pods(tenant), self.pod(name, tenant, **spec))
        return until(f"{name} has a node", lambda: self.node_of(name, tenant))

    def node_of(self, name: str, tenant: str) -> str:
        found = self.get(f"{pods(tenant)}/{name}")["spec"].get("nodeName", "")
        return str(found)

    def delete_pod(self, name: str, tenant: str) -> None:
        path = f"{pods(tenant)}/{name}"
        self.admin.delete(path)
        until(f"{name} is gone", lambda: not self.exists(path))

    def no_pods(self, namespace: str) -> None:
        until(f"no Pods in {namespace}", lambda: not self.items(pods(namespace)))

    def injected(self, tenant: str) -> None:
        """Wait until admission has seen the tenant's binding: policy and parameter caches lag by moments."""

        def look() -> bool:
            made = self.tenants[tenant].create(pods(tenant), self.pod("probe", tenant, gpus=0), dry_run=True)
            return "affinity" in made["spec"]

        until(f"Pods of {tenant} are injected", lambda: not refusal(look) and look())

    # The modules, as the operator

    def _call(self, work: Callable[[Invocation], Outcome], spec: ArgumentSpec, given: Json) -> Outcome:
        values = exports(self.lab)
        defaults = {name: option.get("default") for name, option in spec.options.items()}
        params = {
            **defaults,
            "kubeconfig": values["KUBECONFIG"],
            "cluster": values["GPUOPS_CLUSTER"],
            "fleet_repo": values["GPUOPS_FLEET_REPO"],
            **given,
        }
        check_mode = bool(params.pop("check_mode", False))
        return work(Invocation(params, check_mode, self.warnings.append))

    def reconcile(self, **given: Any) -> Outcome:
        """One run of gpu_reservation in this process."""
        return self._call(reconcile_reservations, gpu_reservation.SPEC, given)

    def diagnose(self, **given: Any) -> Json:
        """The result of gpu_placement_info in this process."""
        return dict(self._call(inspect_placement, gpu_placement_info.SPEC, given).result)

    def play(
        self, playbook: str, *arguments: str, identity: str = "gpuops", check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """One of the collection's playbooks, as an operator runs it from the checkout."""
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("GPUOPS_", "KUBE", "K8S_"))}
        done = subprocess.run(
            [str(Path(sys.executable).parent / "ansible-playbook"), f"playbooks/{playbook}.yml", *arguments],
            cwd=CHECKOUT,
            env={
                **inherited,
                **exports(self.lab),
                "KUBECONFIG": str(self.lab.kubeconfig(identity)),
                "ANSIBLE_CONFIG": str(CHECKOUT / "ansible.cfg"),
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    # Back to the beginning

    def clear(self) -> None:
        """No Pods, bindings or Reservations, and nodes as the fixture has them."""
        for tenant in TENANTS:
            self.admin.delete(bindings(tenant))
        self.clear_workloads(wait=False)
        for reservation in self.items(RESERVATIONS):
            name = reservation["metadata"]["name"]
            self.admin.patch(f"{RESERVATIONS}/{name}", {"metadata": {"finalizers": None}})
            self.admin.delete(f"{RESERVATIONS}/{name}")
        for name in TRAINING:
            self.wipe(name)
        for tenant in TENANTS:
            self.no_pods(tenant)
        until("no Reservations", lambda: not self.items(RESERVATIONS))

    def clear_workloads(self, *, wait: bool = True) -> None:
        """Whatever tenants run goes, with its quotas and budgets; bindings and Reservations stay."""
        for tenant in TENANTS:
            for path in WORKLOADS:
                self.admin.delete(path.format(tenant=tenant))
        for tenant in TENANTS if wait else ():
            self.no_pods(tenant)

    def wipe(self, name: str) -> None:
        """Whatever tests left on a node goes."""
        node = self.node(name)
        ours = [key for key in node["metadata"].get("annotations", {}) if key.startswith("gpuops.")]
        self.admin.patch(
            f"{NODES}/{name}",
            {
                "metadata": {"labels": {"reserved.tenant": None}, "annotations": dict.fromkeys(ours)},
                "spec": {"taints": None, "unschedulable": None},
            },
        )


def stage_of(lab: LabDirectory) -> Stage:
    return Stage(
        lab,
        client_of(lab, "admin"),
        client_of(lab, "gpuops"),
        {tenant: client_of(lab, tenant) for tenant in TENANTS},
    )


def shown_taints(node: Json) -> list[str]:
    """The taints of a node that people or Reservations set, as kubectl writes them."""
    return [
        f"{one['key']}={one.get('value', '')}:{one['effect']}"
        for one in node["spec"].get("taints", [])
        if not one["key"].startswith("node.kubernetes.io/")
    ]
