# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the product sells: GPU profiles, plans and add-ons, as its two ConfigMaps say.

A document is taken as a whole or not at all: one grant for a profile that is missing or not eligible for
billing rejects it, and the last good one stays in force.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

DIMENSIONS = ("devices", "shares", "memoryMiB", "corePercent")


class CatalogueError(Exception):
    """The document is not one that the product accepts."""


@dataclass(frozen=True)
class Profile:
    """One GPU profile."""

    id: str
    workload: str
    allocation: str
    resource_name: str
    billing_eligible: bool
    request: Mapping[str, Any]

    def quota_keys(self) -> dict[str, str]:
        """Which quota key holds which dimension of an entitlement."""
        if self.workload == "vm":
            return {"devices": f"requests.{self.resource_name}"}
        keys = {
            "shares": self.request.get("countResource", self.resource_name),
            "memoryMiB": self.request.get("memoryResource"),
            "corePercent": self.request.get("coreResource"),
        }
        return {dimension: f"requests.{name}" for dimension, name in keys.items() if name}


@dataclass(frozen=True)
class Catalogue:
    """A document that was accepted."""

    profiles: Mapping[str, Profile]
    plans: Mapping[str, Mapping[str, Any]]
    suspended: Mapping[str, Any]
    addons: Mapping[str, Mapping[str, Any]]


def load_profiles(text: str) -> dict[str, Profile]:
    """The enabled profiles of `profiles.yaml`, by id. Raises CatalogueError."""
    document = _mapping(text, "profiles.yaml")
    profiles = {}
    for entry in document.get("profiles") or []:
        if not entry.get("enabled", False):
            continue
        profiles[entry["id"]] = Profile(
            id=entry["id"],
            workload=entry.get("workload", "pod"),
            allocation=entry.get("allocation", ""),
            resource_name=entry.get("resourceName", ""),
            billing_eligible=bool(entry.get("billingEligible", False)),
            request=entry.get("request") or {},
        )
    return profiles


def load(plans_text: str, profiles_text: str | None) -> Catalogue:
    """The catalogue of both documents. Raises CatalogueError, saying what is wrong."""
    profiles = load_profiles(profiles_text) if profiles_text else {}
    document = _mapping(plans_text, "plans.yaml")
    catalogue = Catalogue(
        profiles=profiles,
        plans=document.get("plans") or {},
        suspended=document.get("suspendedPlan") or {},
        addons=document.get("addons") or {},
    )
    for section, entries in (("plans", catalogue.plans), ("addons", catalogue.addons)):
        for name, entry in entries.items():
            if not isinstance(entry, dict):
                raise CatalogueError(f"plans.yaml: {section}.{name} is no mapping")
            # What is disabled grants nothing, so what it would grant need not be for sale.
            if not entry.get("disabled", False):
                _check_grants(f"{section}.{name}", entry.get("gpu") or {}, profiles)
    return catalogue


def _check_grants(where: str, grants: Mapping[str, Any], profiles: Mapping[str, Profile]) -> None:
    for profile_id, amounts in grants.items():
        profile = profiles.get(profile_id)
        if profile is None:
            raise CatalogueError(f"plans.yaml: {where}.gpu grants profile {profile_id}, which does not exist")
        if not profile.billing_eligible:
            raise CatalogueError(
                f"plans.yaml: {where}.gpu grants profile {profile_id}, which is not eligible"
            )
        for dimension, amount in (amounts or {}).items():
            whole = isinstance(amount, int) and not isinstance(amount, bool) and amount >= 0
            if dimension not in DIMENSIONS or not whole:
                raise CatalogueError(f"plans.yaml: {where}.gpu.{profile_id}.{dimension} is {amount!r}")


def _mapping(text: str, name: str) -> dict[str, Any]:
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as err:
        raise CatalogueError(f"{name}: {err}") from err
    if not isinstance(document, dict):
        raise CatalogueError(f"{name} is no mapping")
    return document
