# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Organizations and projects: namespaces, entitlement, projected quota, usage and status."""

from __future__ import annotations

import datetime
import logging
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from . import catalogue, entitlement, usage
from .api import (
    CONFIGMAPS,
    HIERARCHICAL_QUOTAS,
    NAMESPACES,
    ORGANIZATIONS,
    PODS,
    PROJECTS,
    RESOURCE_QUOTAS,
    ApiError,
    JsonObject,
    Kind,
)
from .installation import machine_policy
from .product import UNMANAGED, Product, each, stamp, utc_now
from .store import dig

LOG = logging.getLogger("lab.platform")
PLAN_QUOTA = "plan-quota"
PROJECTION = "hrq.hnc.x-k8s.io"
CAP = "project-quota"
REFRESH_SECONDS = 3.0
# With very many organizations their status is renewed less often, so that this stays a trickle.
REFRESHES_PER_SECOND = 20
STALE_HOURS = 1
WATCHED = (CONFIGMAPS, HIERARCHICAL_QUOTAS, NAMESPACES, ORGANIZATIONS, PODS, PROJECTS, RESOURCE_QUOTAS)


class Organizations:
    """The controllers that turn what was bought into quota, and quota and Pods into status."""

    def __init__(self, product: Product) -> None:
        self._product = product
        self._catalogue: catalogue.Catalogue | None = None
        self._rejected = ""
        self._policed = ""
        self._refresh = REFRESH_SECONDS
        self._book = usage.UsageBook()

    @property
    def catalogue_accepted(self) -> bool:
        """Whether the catalogue as it stands is in force."""
        return not self._rejected

    # ---- what there is

    def _managed(self) -> list[JsonObject]:
        return [
            item
            for item in self._product.store.list(ORGANIZATIONS)
            if item["metadata"]["name"] == item["metadata"]["namespace"]
            and UNMANAGED not in item["metadata"].get("annotations", {})
        ]

    def _projects(self, organization: str) -> list[JsonObject]:
        return self._product.store.list(PROJECTS, organization)

    def _namespaces(self, organization: str) -> list[str]:
        names = [backing_namespace(item) for item in self._projects(organization)]
        return [name for name in names if self._product.store.get(NAMESPACES, name)]

    def load_catalogue(self) -> None:
        """Read both ConfigMaps; what is not acceptable leaves the last good ones in force."""
        store = self._product.store
        plans = dig(store.get(CONFIGMAPS, "billing-plans", "kube-dc"), "data", "plans.yaml")
        profiles = dig(store.get(CONFIGMAPS, "gpu-profiles", "kube-dc"), "data", "profiles.yaml")
        try:
            if profiles is not None and profiles != self._policed:
                self._product.api.manager.apply(machine_policy(catalogue.load_profiles(profiles)))
                self._policed = profiles
            if plans is None:
                raise catalogue.CatalogueError("ConfigMap kube-dc/billing-plans is missing")
            self._catalogue = catalogue.load(plans, profiles)
            self._rejected = ""
        except (catalogue.CatalogueError, ValueError) as err:
            if str(err) != self._rejected:
                LOG.warning("the catalogue is not taken: %s", err)
            self._rejected = str(err)

    # ---- passes

    def tenants(self) -> None:
        """Backing namespaces of projects, and readiness of organizations and projects."""
        api = self._product.api.manager

        def project(item: JsonObject) -> None:
            name = backing_namespace(item)
            if self._product.store.get(NAMESPACES, name) is None and not item["metadata"].get(
                "deletionTimestamp"
            ):
                api.create(
                    NAMESPACES,
                    {
                        "apiVersion": "v1",
                        "kind": "Namespace",
                        "metadata": {"name": name, "labels": {"kube-dc.com/project": ""}},
                    },
                )
            if not dig(item, "status", "conditions") or dig(item, "status", "namespace") != name:
                self._status(PROJECTS, item, {"ready": True, "namespace": name, **_ready(item)})

        def organization(item: JsonObject) -> None:
            if not dig(item, "status", "conditions"):
                self._status(ORGANIZATIONS, item, {"ready": True, **_ready(item)})

        each("organizations", self._managed(), organization)
        names = {item["metadata"]["name"] for item in self._managed()}
        projects = self._product.store.list(PROJECTS)
        each("projects", [item for item in projects if item["metadata"]["namespace"] in names], project)

    def entitle(self) -> None:
        """Organization annotations and catalogue to HierarchicalResourceQuota plan-quota."""
        self.load_catalogue()
        if self._catalogue is not None:
            each("entitlement", self._managed(), self._entitle)

    def _entitle(self, organization: JsonObject) -> None:
        name = organization["metadata"]["name"]
        faults = self._product.faults()
        assert self._catalogue is not None
        annotations = organization["metadata"].get("annotations") or {}
        try:
            hard = entitlement.hard_quota(annotations, self._catalogue)
        except entitlement.UnreadableOrder as err:
            if self._product.lag.first(f"unreadable/{name}", str(err)):
                LOG.warning("organization %s: %s; its quota stays as it is", name, err)
            return
        present = self._product.store.get(HIERARCHICAL_QUOTAS, PLAN_QUOTA, name)
        if faults.hits("freeze-hrq", name) or organization["metadata"].get("deletionTimestamp"):
            return
        key = f"hrq/{name}"
        if dig(present, "spec", "hard") == hard:
            self._product.lag.forget(key)
        elif self._product.lag.due(key, hard, faults.seconds("delay-hrq")):
            self._write_quota(name, annotations, hard, present)

    def _write_quota(
        self,
        name: str,
        annotations: Mapping[str, str],
        hard: dict[str, str] | None,
        present: JsonObject | None,
    ) -> None:
        api, store = self._product.api.manager, self._product.store
        if hard is None:
            if present is not None and _auto_managed(present):
                api.delete(HIERARCHICAL_QUOTAS, PLAN_QUOTA, name)
            return
        labels = {entitlement.AUTO_MANAGED: "true", entitlement.PLAN: annotations[entitlement.PLAN]}
        document: JsonObject = {
            "apiVersion": HIERARCHICAL_QUOTAS.api_version,
            "kind": HIERARCHICAL_QUOTAS.kind,
            "metadata": {"name": PLAN_QUOTA, "namespace": name, "labels": labels},
            "spec": {"hard": hard},
        }
        if present is None:
            written = api.create(HIERARCHICAL_QUOTAS, document)
        else:
            document["metadata"] = {
                **present["metadata"],
                "labels": {**present["metadata"].get("labels", {}), **labels},
            }
            written = api.replace(HIERARCHICAL_QUOTAS, {**document, "status": present.get("status", {})})
        store.wrote(HIERARCHICAL_QUOTAS, written)
        LOG.info("organization %s: hard quota written", name)

    def project_quota(self) -> None:
        """HierarchicalResourceQuota to a ResourceQuota in every project namespace."""
        each("projection", self._managed(), self._project)

    def _project(self, organization: JsonObject) -> None:
        name = organization["metadata"]["name"]
        faults, store, api = self._product.faults(), self._product.store, self._product.api.hnc
        if faults.hits("freeze-projection", name):
            return
        hard = dig(store.get(HIERARCHICAL_QUOTAS, PLAN_QUOTA, name), "spec", "hard")

        def put(namespace: str) -> None:
            present = store.get(RESOURCE_QUOTAS, PROJECTION, namespace)
            key = f"projection/{namespace}"
            if dig(present, "spec", "hard") == hard:
                self._product.lag.forget(key)
                return
            if not self._product.lag.due(key, hard, faults.seconds("delay-projection")):
                return
            if hard is None:
                if present is not None:
                    api.delete(RESOURCE_QUOTAS, PROJECTION, namespace)
                return
            document: JsonObject = {
                "apiVersion": "v1",
                "kind": "ResourceQuota",
                "metadata": {
                    "name": PROJECTION,
                    "namespace": namespace,
                    "labels": {"hnc.x-k8s.io/inherited-from": name},
                },
                "spec": {"hard": hard},
            }
            if present is None:
                store.wrote(RESOURCE_QUOTAS, api.create(RESOURCE_QUOTAS, document))
            else:
                document["metadata"] = present["metadata"]
                store.wrote(RESOURCE_QUOTAS, api.replace(RESOURCE_QUOTAS, document))

        each("projection", self._namespaces(name), put)

    def account(self) -> None:
        """Pods to what is used; that and the quotas to the status of quota, organization and project."""
        if self._catalogue is None:
            self.load_catalogue()
        used = self._book.by_namespace(self._product.store.list(PODS), utc_now())

        def organization(item: JsonObject) -> None:
            name = item["metadata"]["name"]
            total: dict[str, Decimal] = {}
            for namespace in self._namespaces(name):
                for key, amount in used.get(namespace, {}).items():
                    total[key] = total.get(key, Decimal(0)) + amount
            self._quota_status(name, total)
            self._organization_status(item, total)
            each(
                "project status",
                self._projects(name),
                lambda project: self._project_status(name, project, used.get(backing_namespace(project), {})),
            )

        managed = self._managed()
        self._refresh = max(REFRESH_SECONDS, len(managed) / REFRESHES_PER_SECOND)
        each("status", managed, organization)

    def _quota_status(self, name: str, used: Mapping[str, Decimal]) -> None:
        present = self._product.store.get(HIERARCHICAL_QUOTAS, PLAN_QUOTA, name)
        faults = self._product.faults()
        if present is None or faults.hits("freeze-hrq-status", name):
            return
        hard = dig(present, "spec", "hard", default={})
        wanted = {"hard": hard, "used": usage.texts(used, hard)}
        key = f"hrq-status/{name}"
        if present.get("status") == wanted:
            self._product.lag.forget(key)
        elif self._product.lag.due(key, wanted, faults.seconds("delay-hrq-status")):
            document = {**present, "status": wanted}
            written = self._product.api.hnc.replace(HIERARCHICAL_QUOTAS, document, "status")
            self._product.store.wrote(HIERARCHICAL_QUOTAS, written)

    def _organization_status(self, item: JsonObject, used: Mapping[str, Decimal]) -> None:
        name = item["metadata"]["name"]
        faults = self._product.faults()
        if faults.hits("freeze-organization-status", name):
            return
        quota = self._product.store.get(HIERARCHICAL_QUOTAS, PLAN_QUOTA, name)
        hard = dig(quota, "spec", "hard", default={})
        status = {
            "quotaEnforced": quota is not None,
            "quotaPlanId": dig(quota, "metadata", "labels", default={}).get(entitlement.PLAN),
            "quotaUsage": {"accelerators": self._accelerators(hard, used)},
        }
        stale = faults.hits("stale-organization-status", name)
        key = f"organization-status/{name}"
        self._keep_status(
            ORGANIZATIONS,
            item,
            status,
            key=key,
            delay=faults.seconds("delay-organization-status"),
            stale=stale,
        )

    def _project_status(self, organization: str, item: JsonObject, used: Mapping[str, Decimal]) -> None:
        faults = self._product.faults()
        if faults.hits("freeze-project-status", organization, f"{organization}/{item['metadata']['name']}"):
            return
        cap = dig(self._product.store.get(RESOURCE_QUOTAS, CAP, backing_namespace(item)), "spec", "hard")
        quota = self._product.store.get(HIERARCHICAL_QUOTAS, PLAN_QUOTA, organization)
        hard = {**dig(quota, "spec", "hard", default={}), **(cap or {})}
        status = {
            "quotaUsage": {
                "accelerators": self._accelerators(hard, used),
                "perProjectQuotaSet": cap is not None,
            }
        }
        key = f"project-status/{organization}/{item['metadata']['name']}"
        delay = faults.seconds("delay-project-status")
        self._keep_status(PROJECTS, item, status, key=key, delay=delay, stale=False)

    def _accelerators(self, hard: Mapping[str, str], used: Mapping[str, Decimal]) -> dict[str, Any]:
        """Usage by profile and dimension. A profile whose keys no quota has is left out."""
        result: dict[str, Any] = {}
        profiles = self._catalogue.profiles.values() if self._catalogue else ()
        for profile in profiles:
            entry = {
                dimension: {"hard": str(hard[key]), "used": usage.texts(used, [key])[key]}
                for dimension, key in profile.quota_keys().items()
                if key in hard
            }
            if entry:
                result[profile.id] = entry
        return result

    def _keep_status(
        self,
        kind: Kind,
        item: JsonObject,
        wanted: JsonObject,
        *,
        key: str,
        delay: float,
        stale: bool,
    ) -> None:
        """Write a status that changed, and renew its time every few seconds while all is well."""
        now = utc_now()
        present = dig(item, "status", "quotaUsage", default={})
        last = present.get("lastUpdated")
        age = (now - datetime.datetime.fromisoformat(last)).total_seconds() if last else None
        changed = any(
            dig(item, "status", name) != value for name, value in wanted.items() if name != "quotaUsage"
        )
        changed = changed or any(present.get(name) != value for name, value in wanted["quotaUsage"].items())
        if changed and not self._product.lag.due(key, wanted, delay):
            return
        if stale:
            if not changed and age is not None and age > STALE_HOURS * 3600 - 60:
                return
            now -= datetime.timedelta(hours=STALE_HOURS)
        elif not changed and age is not None and 0 <= age < self._refresh:
            return
        if changed:
            self._product.lag.forget(key)
        usage_now = {**wanted["quotaUsage"], "lastUpdated": stamp(now)}
        status = {**(item.get("status") or {"ready": True}), **wanted, "quotaUsage": usage_now}
        self._status(kind, item, {name: value for name, value in status.items() if value is not None})

    def _status(self, kind: Kind, item: JsonObject, status: JsonObject) -> None:
        document = {**item, "status": {**(item.get("status") or {}), **status}}
        document["status"] = {name: value for name, value in document["status"].items() if value is not None}
        try:
            self._product.store.wrote(kind, self._product.api.manager.replace(kind, document, "status"))
        except ApiError as err:
            if err.status != 409:
                raise


def backing_namespace(project: JsonObject) -> str:
    """The namespace in which a project's workloads run."""
    return f"{project['metadata']['namespace']}-{project['metadata']['name']}"


def _auto_managed(quota: JsonObject) -> bool:
    labels: dict[str, str] = dig(quota, "metadata", "labels", default={})
    return labels.get(entitlement.AUTO_MANAGED) == "true"


def _ready(item: JsonObject) -> JsonObject:
    return {
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "reason": "Reconciled",
                "message": "",
                "lastTransitionTime": stamp(utc_now()),
                "observedGeneration": item["metadata"].get("generation", 1),
            }
        ]
    }
