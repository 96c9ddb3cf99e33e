# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Resources of the API server that we use, their paths, and what a path means in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


@dataclass(frozen=True)
class ApiResource:
    """One resource: API group (empty for the core group), version and plural name."""

    group: str
    version: str
    plural: str

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The path of a list (of all namespaces, or of one), of an object, or of its subresource."""
        parts = ["apis", self.group, self.version] if self.group else ["api", self.version]
        if namespace:
            parts += ["namespaces", namespace]
        parts += [self.plural, *(part for part in (name, subresource) if part)]
        return "/" + "/".join(parts)


NAMESPACES: Final = ApiResource("", "v1", "namespaces")
NODES: Final = ApiResource("", "v1", "nodes")
PODS: Final = ApiResource("", "v1", "pods")
CONFIGMAPS: Final = ApiResource("", "v1", "configmaps")
RESOURCE_QUOTAS: Final = ApiResource("", "v1", "resourcequotas")
EVENTS: Final = ApiResource("events.k8s.io", "v1", "events")
LEASES: Final = ApiResource("coordination.k8s.io", "v1", "leases")
DEPLOYMENTS: Final = ApiResource("apps", "v1", "deployments")
DAEMONSETS: Final = ApiResource("apps", "v1", "daemonsets")
ORGANIZATIONS: Final = ApiResource("kube-dc.com", "v1", "organizations")
PROJECTS: Final = ApiResource("kube-dc.com", "v1", "projects")
HIERARCHICAL_QUOTAS: Final = ApiResource("hnc.x-k8s.io", "v1alpha2", "hierarchicalresourcequotas")
KUBEVIRTS: Final = ApiResource("kubevirt.io", "v1", "kubevirts")
VIRTUAL_MACHINES: Final = ApiResource("kubevirt.io", "v1", "virtualmachines")
VIRTUAL_MACHINE_INSTANCES: Final = ApiResource("kubevirt.io", "v1", "virtualmachineinstances")
HELM_RELEASES: Final = ApiResource("helm.toolkit.fluxcd.io", "v2", "helmreleases")
RESERVATIONS: Final = ApiResource("scheduling.coreweave.cloud", "v1alpha1", "reservations")
RESERVATION_BINDINGS: Final = ApiResource("scheduling.coreweave.cloud", "v1alpha1", "reservationbindings")
CUSTOM_RESOURCE_DEFINITIONS: Final = ApiResource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
ADMISSION_POLICIES: Final = ApiResource("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies")
ADMISSION_BINDINGS: Final = ApiResource(
    "admissionregistration.k8s.io", "v1", "validatingadmissionpolicybindings"
)


@dataclass(frozen=True)
class ApiPath:
    """A path's parts, for messages; parts that it lacks are empty."""

    group: str = ""
    version: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    def permission(self, method: str) -> str:
        """The permission that a request needs, as RBAC has it: ``list pods``, ``patch nodes``."""
        verb = _VERBS.get(method) or ("get" if self.name else "list")
        resource = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{verb} {resource}{'.' + self.group if self.group else ''}{where}"

    @property
    def api(self) -> str:
        """Group and version, and plural name: ``kubevirt.io/v1 virtualmachines``."""
        return f"{self.group + '/' if self.group else ''}{self.version} {self.resource}"


def parse_path(path: str) -> ApiPath:
    """The parts of a path that :meth:`ApiResource.path` could have made."""
    parts = path.split("?", 1)[0].strip("/").split("/")
    if parts[:1] == ["api"] and len(parts) >= 3:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[:1] == ["apis"] and len(parts) >= 4:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return ApiPath(resource=path)
    namespace = ""
    if rest[0] == "namespaces" and len(rest) >= 3 and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    padded = [*rest, "", ""]
    return ApiPath(
        group, version, padded[0], namespace, padded[1], "/".join(part for part in rest[2:] if part)
    )
