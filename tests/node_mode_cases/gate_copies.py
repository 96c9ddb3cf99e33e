# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The gates' copies further down: HelmRelease and Deployment, where a case has them."""

from __future__ import annotations

import contextlib
from typing import Any

from ansible_collections.gpuops.reservations.tests.node_mode_cases.case_format import (
    NotUnderstood,
    Section,
    boolean,
)
from lab.api import Api, ApiError

_RELEASE = "/apis/helm.toolkit.fluxcd.io/v2/namespaces/kube-dc/helmreleases/kube-dc"
_DEPLOYMENT = "/apis/apps/v1/namespaces/kube-dc/deployments/kube-dc-backend"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_HELM = {"GPU_SHARED_CREATION_ENABLED": "sharedCreation", "GPU_VM_CREATION_ENABLED": "vmCreation"}


class Copies:
    """Whether and how HelmRelease and Deployment stand in the cluster."""

    def __init__(self) -> None:
        self.release: dict[str, Any] | None = None
        self.deployment: dict[str, Any] | None = None
        self.rolled_out = True
        self.changed = True

    def change(self, given: Section) -> None:
        """Take the keys of a case that say something about them. Raises NotUnderstood."""
        for names, attribute in (
            (("gates_helmrelease", "gates_helm", "helmrelease", "gates_release"), "release"),
            (("gates_deployment", "gates_backend", "deployment", "backend"), "deployment"),
        ):
            if not given.has(*names):
                continue
            value = given.take(*names)
            self.changed = True
            if value in (None, "missing", "absent"):
                setattr(self, attribute, None)
                continue
            if not isinstance(value, dict):
                raise NotUnderstood(f"{names[0]}: settings by key, or missing, not {value!r}")
            settings = dict(value)
            if "rolled_out" in settings:
                self.rolled_out = boolean(settings.pop("rolled_out"), names[0])
            odd = [key for key in settings if key not in _HELM]
            if odd:
                raise NotUnderstood(f"{names[0]}: does not know {', '.join(map(str, odd))}")
            setattr(self, attribute, settings)

    def apply(self, api: Api) -> None:
        """Make the cluster so."""
        self.changed = False
        for path in (_RELEASE, _DEPLOYMENT):
            with contextlib.suppress(ApiError):
                api.delete(path)
        if self.release is not None:
            gpu = {_HELM[key]: {"enabled": value} for key, value in self.release.items() if value is not None}
            api.apply(
                _RELEASE,
                {
                    "apiVersion": "helm.toolkit.fluxcd.io/v2",
                    "kind": "HelmRelease",
                    "metadata": {"name": "kube-dc", "namespace": "kube-dc"},
                    "spec": {"values": {"gpu": gpu}},
                },
            )
        if self.deployment is not None:
            self._apply_deployment(api, self.deployment)

    def _apply_deployment(self, api: Api, settings: dict[str, Any]) -> None:
        env = [
            {"name": key, "value": str(value).lower() if isinstance(value, bool) else str(value)}
            for key, value in settings.items()
            if value is not None
        ]
        labels = {"app": "kube-dc-backend"}
        made = api.apply(
            _DEPLOYMENT,
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": "kube-dc-backend", "namespace": "kube-dc"},
                "spec": {
                    "replicas": 1,
                    "selector": {"matchLabels": labels},
                    "template": {
                        "metadata": {"labels": labels},
                        "spec": {"containers": [{"name": "backend", "image": "backend", "env": env}]},
                    },
                },
            },
        )
        generation = made["metadata"]["generation"]
        counts = {"replicas": 1, "updatedReplicas": 1, "availableReplicas": 1, "readyReplicas": 1}
        if not self.rolled_out:
            counts = {"replicas": 2, "updatedReplicas": 1, "availableReplicas": 1, "readyReplicas": 1}
        api.apply(
            f"{_DEPLOYMENT}/status",
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": "kube-dc-backend", "namespace": "kube-dc"},
                "status": {"observedGeneration": generation, **counts},
            },
        )


def define_release(api: Api) -> None:
    """The definition of HelmRelease, which a bare API server lacks."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    api.apply(
        f"{_DEFINITIONS}/helmreleases.helm.toolkit.fluxcd.io",
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "helmreleases.helm.toolkit.fluxcd.io"},
            "spec": {
                "group": "helm.toolkit.fluxcd.io",
                "scope": "Namespaced",
                "names": {"kind": "HelmRelease", "plural": "helmreleases", "singular": "helmrelease"},
                "versions": [
                    {"name": "v2", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
                ],
            },
        },
    )
