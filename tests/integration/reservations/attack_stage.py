# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where tenant-bar attacks: train-01 and train-02 are tenant-foo's, train-03 is its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import urllib3

from ansible_collections.gpuops.reservations.tests.integration.reservations.stage import (
    Stage,
    pods,
    until,
)
from lab.api import Api
from lab.directory import LabDirectory

Json = dict[str, Any]

FOO, BAR = "tenant-foo", "tenant-bar"
VICTIMS = ("train-01", "train-02")
OWN = "train-03"
POLICY = "gpuops-reservation-"
RBAC = "/apis/rbac.authorization.k8s.io/v1"


def set_up(stage: Stage) -> None:
    """Both tenants have nodes and a binding, and admission has seen them."""
    stage.clear()
    stage.reserve("foo", FOO, list(VICTIMS))
    stage.reserve("bar", BAR, [OWN])
    stage.bind(FOO, "foo")
    stage.bind(BAR, "bar")
    stage.reconcile()
    stage.injected(FOO)
    stage.injected(BAR)


@dataclass(frozen=True)
class Answer:
    """What the API server answers an attacker."""

    status: int
    body: Json

    @property
    def said(self) -> str:
        return str(self.body.get("message", ""))


class Attacker:
    """Raw requests as one identity, with any method, media type and headers."""

    def __init__(self, lab: LabDirectory, identity: str, token: str = "") -> None:
        self._api = Api(lab.kubeconfig(identity))
        self._headers = {"Authorization": f"Bearer {token}"} if token else self._api._headers

    def send(
        self, method: str, path: str, body: Any = None, kind: str = "application/json", **headers: str
    ) -> Answer:
        written = {name.replace("_", "-"): value for name, value in headers.items()}
        reply: urllib3.BaseHTTPResponse = self._api._http.request(
            method,
            self._api.server + path,
            headers={**self._headers, "Accept": "application/json", "Content-Type": kind, **written},
            body=None if body is None else json.dumps(body),
        )
        try:
            content = json.loads(reply.data)
        except ValueError:
            content = {"message": reply.data.decode("utf-8", "replace")}
        return Answer(reply.status, content)


def tolerating(**toleration: str) -> Json:
    return {"tolerations": [toleration]}


def required(*terms: Json) -> Json:
    affinity = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    }
    return {"affinity": affinity}


def on(key: str, operator: str, *values: str) -> Json:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def settled(stage: Stage, name: str) -> str:
    """The node of a Pod once the scheduler has looked at it; "waits" where it found none."""

    def look() -> str:
        pod = stage.get(f"{pods(BAR)}/{name}")
        conditions = pod.get("status", {}).get("conditions", [])
        looked = any(one.get("reason") == "Unschedulable" for one in conditions)
        return str(pod["spec"].get("nodeName") or ("waits" if looked else ""))

    return until(f"the scheduler has looked at {name}", look)


def binding_of(name: str, namespace: str, reservation: str) -> Json:
    return {
        "apiVersion": "scheduling.coreweave.cloud/v1alpha1",
        "kind": "ReservationBinding",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"reservationName": reservation, "podSelector": {}},
    }


@contextmanager
def allowed(stage: Stage, namespace: str, rules: list[Json], subject: Json | None = None) -> Iterator[None]:
    """What a careless administrator might give a tenant, or another subject in its namespace."""
    made = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "attack"}}
    user = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "attack"}
    stage.admin.create(f"{RBAC}/namespaces/{namespace}/roles", {**made, "kind": "Role", "rules": rules})
    try:
        stage.admin.create(
            f"{RBAC}/namespaces/{namespace}/rolebindings",
            {**made, "kind": "RoleBinding", "roleRef": role, "subjects": [subject or user]},
        )
        rule = rules[0]
        resource, _, part = rule["resources"][0].partition("/")
        until(
            "RBAC allows it",
            lambda: stage.tenants[namespace].access_review(
                rule["verbs"][0],
                resource,
                group=rule["apiGroups"][0],
                subresource=part,
                namespace=namespace,
            ),
        )
        yield
    finally:
        for kind in ("rolebindings", "roles"):
            stage.admin.delete(f"{RBAC}/namespaces/{namespace}/{kind}/attack")


@contextmanager
def editing_namespaces(reserved: Stage) -> Iterator[Stage]:
    """tenant-bar may create and change Namespaces, as on platforms where tenants do so themselves."""
    rules = [
        {
            "apiGroups": [""],
            "resources": ["namespaces", "namespaces/status", "namespaces/finalize"],
            "verbs": ["*"],
        }
    ]
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "attack-ns"},
    }
    reserved.admin.create(f"{RBAC}/clusterroles", {**role, "rules": rules})
    reserved.admin.create(
        f"{RBAC}/clusterrolebindings",
        {
            **role,
            "kind": "ClusterRoleBinding",
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "attack-ns"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": BAR}],
        },
    )
    until("it may", lambda: reserved.tenants[BAR].access_review("update", "namespaces"))
    try:
        yield reserved
    finally:
        _take_back(reserved)


def _take_back(reserved: Stage) -> None:
    for kind in ("clusterroles", "clusterrolebindings"):
        reserved.admin.delete(f"{RBAC}/{kind}/attack-ns")
