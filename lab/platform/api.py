# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The API server as plain JSON, under the identity of one of the product's parts.

Controllers here need a dozen verbs on a dozen kinds, all of them as plain JSON: paths are built from
`Kind`, bodies are dictionaries, and a refusal is an `ApiError` that carries the server's own words.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlencode

import urllib3
from kubernetes import config as kube_config

JsonObject: TypeAlias = dict[str, Any]

MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
FIELD_MANAGER = "kube-dc-lab"


class ApiError(Exception):
    """The API server's answer to a request that it did not carry out.

    `status` is the HTTP status, 0 when no answer came at all.
    """

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message


@dataclass(frozen=True)
class Kind:
    """One resource of the API: where its objects live."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """The text of `apiVersion` in an object of this kind."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(
        self, namespace: str | None = None, name: str | None = None, subresource: str | None = None
    ) -> str:
        """The URL path of a collection, an object, or one of an object's sub-resources."""
        parts = ["apis", self.group, self.version] if self.group else ["api", self.version]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        parts += [part for part in (name, subresource) if part]
        return "/" + "/".join(parts)


NODES = Kind("", "v1", "nodes", "Node", namespaced=False)
NAMESPACES = Kind("", "v1", "namespaces", "Namespace", namespaced=False)
PODS = Kind("", "v1", "pods", "Pod")
CONFIGMAPS = Kind("", "v1", "configmaps", "ConfigMap")
SERVICE_ACCOUNTS = Kind("", "v1", "serviceaccounts", "ServiceAccount")
RESOURCE_QUOTAS = Kind("", "v1", "resourcequotas", "ResourceQuota")
DEPLOYMENTS = Kind("apps", "v1", "deployments", "Deployment")
DAEMONSETS = Kind("apps", "v1", "daemonsets", "DaemonSet")
LEASES = Kind("coordination.k8s.io", "v1", "leases", "Lease")
DEFINITIONS = Kind(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
CLUSTER_ROLES = Kind("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False)
CLUSTER_ROLE_BINDINGS = Kind(
    "rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False
)
ROLE_BINDINGS = Kind("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")
VALIDATING_POLICIES = Kind(
    "admissionregistration.k8s.io",
    "v1",
    "validatingadmissionpolicies",
    "ValidatingAdmissionPolicy",
    namespaced=False,
)
VALIDATING_BINDINGS = Kind(
    "admissionregistration.k8s.io",
    "v1",
    "validatingadmissionpolicybindings",
    "ValidatingAdmissionPolicyBinding",
    namespaced=False,
)
ORGANIZATIONS = Kind("kube-dc.com", "v1", "organizations", "Organization")
PROJECTS = Kind("kube-dc.com", "v1", "projects", "Project")
HIERARCHICAL_QUOTAS = Kind(
    "hnc.x-k8s.io", "v1alpha2", "hierarchicalresourcequotas", "HierarchicalResourceQuota"
)
NODE_FEATURE_RULES = Kind(
    "nfd.k8s-sigs.io", "v1alpha1", "nodefeaturerules", "NodeFeatureRule", namespaced=False
)
HELM_RELEASES = Kind("helm.toolkit.fluxcd.io", "v2", "helmreleases", "HelmRelease")
KUBEVIRTS = Kind("kubevirt.io", "v1", "kubevirts", "KubeVirt")
MACHINES = Kind("kubevirt.io", "v1", "virtualmachines", "VirtualMachine")
INSTANCES = Kind("kubevirt.io", "v1", "virtualmachineinstances", "VirtualMachineInstance")

KINDS = {kind.kind: kind for kind in list(globals().values()) if isinstance(kind, Kind)}


def kind_of(document: Mapping[str, Any]) -> Kind:
    """The kind of a manifest; KeyError when the lab knows none of that name."""
    return KINDS[document["kind"]]


def authorization(settings: Any) -> str:
    """The value of the Authorization header that a client's configuration stands for, empty without one."""
    return next((str(item["value"]) for item in settings.auth_settings().values() if item["value"]), "")


class Api:
    """Requests to one API server under one identity.

    Args:
        kubeconfig: how to reach the server, and as whom.
        user: another identity to act as (an administrator may impersonate), or None.
    """

    def __init__(self, kubeconfig: Path, user: str | None = None) -> None:
        client = kube_config.new_client_from_config(  # type: ignore[no-untyped-call]
            config_file=str(kubeconfig)
        )
        self.server: str = client.configuration.host.rstrip("/")
        self._pool: urllib3.PoolManager = client.rest_client.pool_manager
        self._pool.connection_pool_kw["maxsize"] = 16
        self._headers: dict[str, str] = {"Accept": "application/json"}
        credential = authorization(client.configuration)
        if credential:
            self._headers["Authorization"] = credential
        self._impersonation: list[tuple[str, str]] = []
        if user is not None:
            groups = ["system:authenticated"]
            if user.startswith("system:serviceaccount:"):
                groups += ["system:serviceaccounts", f"system:serviceaccounts:{user.split(':')[2]}"]
            self._impersonation = [("Impersonate-User", user)] + [("Impersonate-Group", g) for g in groups]

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        content_type: str = "application/json",
        query: Mapping[str, str] | None = None,
    ) -> JsonObject:
        """One request; the answer's JSON. Raises ApiError."""
        headers = urllib3.HTTPHeaderDict(self._headers)
        for key, value in self._impersonation:
            headers.add(key, value)
        data = None
        if body is not None:
            headers["Content-Type"] = content_type
            data = json.dumps(body).encode()
        url = self.server + path + (f"?{urlencode(query)}" if query else "")
        try:
            answer = self._pool.request(
                method,
                url,
                body=data,
                headers=headers,
                retries=False,
                timeout=urllib3.Timeout(connect=5, read=30),
            )
        except urllib3.exceptions.HTTPError as err:
            raise ApiError(0, "NoAnswer", f"{method} {path}: {err}") from err
        if answer.status >= 400:
            raise _refusal(answer.status, answer.data, f"{method} {path}")
        try:
            parsed = json.loads(answer.data or b"{}")
        except ValueError:
            return {"text": answer.data.decode(errors="replace")}
        return parsed if isinstance(parsed, dict) else {"items": parsed}

    def get(self, kind: Kind, name: str, namespace: str | None = None) -> JsonObject | None:
        """One object, or None when the server says that there is none."""
        try:
            return self.request("GET", kind.path(namespace, name))
        except ApiError as err:
            if err.status == 404:
                return None
            raise

    def list(self, kind: Kind, namespace: str | None = None, **query: str) -> list[JsonObject]:
        """All objects of a kind, read in pages."""
        return list(self.pages(kind, namespace, **query))

    def pages(self, kind: Kind, namespace: str | None = None, **query: str) -> Iterator[JsonObject]:
        """All objects of a kind, one after the other."""
        more = {"limit": "500", **query}
        while True:
            answer = self.request("GET", kind.path(namespace), query=more)
            for item in answer.get("items") or []:
                item.setdefault("kind", kind.kind)
                item.setdefault("apiVersion", kind.api_version)
                yield item
            token = answer.get("metadata", {}).get("continue")
            if not token:
                return
            more["continue"] = token

    def create(self, kind: Kind, document: JsonObject) -> JsonObject:
        """Create an object."""
        return self.request("POST", kind.path(document["metadata"].get("namespace")), document)

    def replace(self, kind: Kind, document: JsonObject, subresource: str | None = None) -> JsonObject:
        """Put an object in place of its namesake; a resourceVersion in it must still be the latest."""
        meta = document["metadata"]
        return self.request("PUT", kind.path(meta.get("namespace"), meta["name"], subresource), document)

    def patch(
        self,
        kind: Kind,
        name: str,
        patch: object,
        namespace: str | None = None,
        subresource: str | None = None,
    ) -> JsonObject:
        """Merge patch, or JSON patch when a list is given."""
        content_type = JSON_PATCH if isinstance(patch, list) else MERGE_PATCH
        return self.request("PATCH", kind.path(namespace, name, subresource), patch, content_type)

    def apply(self, document: JsonObject, kind: Kind | None = None) -> JsonObject:
        """Server-side apply: the manifest's fields become ours, whoever wrote them before."""
        kind = kind or kind_of(document)
        meta = document["metadata"]
        return self.request(
            "PATCH",
            kind.path(meta.get("namespace"), meta["name"]),
            document,
            APPLY_PATCH,
            {"fieldManager": FIELD_MANAGER, "force": "true"},
        )

    def delete(
        self, kind: Kind, name: str, namespace: str | None = None, options: JsonObject | None = None
    ) -> bool:
        """Ask for an object's deletion; False when there is none."""
        try:
            self.request("DELETE", kind.path(namespace, name), options)
        except ApiError as err:
            if err.status == 404:
                return False
            raise
        return True

    def delete_all(self, kind: Kind, namespace: str, options: JsonObject | None = None) -> None:
        """Ask for the deletion of every object of a kind in a namespace."""
        self.request("DELETE", kind.path(namespace), options)


def _refusal(status: int, data: bytes, what: str) -> ApiError:
    try:
        document = json.loads(data)
        return ApiError(status, str(document.get("reason") or ""), str(document.get("message") or what))
    except (ValueError, AttributeError):
        return ApiError(status, "", f"{what}: {data[:300].decode(errors='replace')}")
