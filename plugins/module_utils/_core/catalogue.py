# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The platform's catalogue: what plans and add-ons grant, and which GPU profiles there are.

Its two documents are the platform's, so keys that we do not know are fine. What we rely on has to
be unambiguous: an entry that is not says so and is never counted as nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from .cluster_objects import ConfigMap
from .strict_yaml import YamlError, load

PLANS_KEY: Final = "plans.yaml"
PROFILES_KEY: Final = "profiles.yaml"
PLANS_OBJECT: Final = "configmap/kube-dc/billing-plans"
PROFILES_OBJECT: Final = "configmap/kube-dc/gpu-profiles"


@dataclass(frozen=True)
class Grant:
    """What a plan or one unit of an add-on grants, as far as GPUs go.

    Attributes:
        devices: whole devices by profile id.
        shared: profile ids with shares, memory or compute, which are no whole devices.
        problem: why the entry cannot be read; empty where it can.
    """

    devices: Mapping[str, int] = field(default_factory=dict)
    shared: frozenset[str] = frozenset()
    problem: str = ""

    @property
    def profiles(self) -> frozenset[str]:
        """Profiles of which it grants anything at all."""
        return frozenset(name for name, count in self.devices.items() if count) | self.shared


@dataclass(frozen=True)
class AddOn:
    """One add-on of the catalogue.

    Attributes:
        id: its key in the catalogue.
        disabled: whether it grants nothing now.
        self_service: None where the key is absent, which tenants see.
        other: which of cpu, memory and storage it grants.
        grant: GPUs of one unit.
    """

    id: str
    disabled: bool
    self_service: bool | None
    other: tuple[str, ...]
    grant: Grant


@dataclass(frozen=True)
class Profile:
    """One GPU profile of the catalogue; values as they stand, None where absent."""

    id: str
    values: Mapping[str, Any]

    def text(self, key: str) -> str:
        """A text value; empty where it is absent or something else."""
        value = self.values.get(key)
        return value if isinstance(value, str) else ""

    @property
    def enabled(self) -> bool:
        """Whether the profile is switched on, said with a plain true."""
        return self.values.get("enabled") is True

    @property
    def resource(self) -> str:
        """The extended resource that its devices are asked for with."""
        return self.text("resourceName")


@dataclass(frozen=True)
class Catalogue:
    """Both documents, parsed.

    Attributes:
        plans: grants of plans by plan id.
        add_ons: by add-on id.
        profiles: by profile id; an id that stands twice maps to both.
        plans_problem: why billing plans cannot be read at all; empty where they can.
        profiles_problem: the same of the profiles.
        version: the profiles document's version.
    """

    plans: Mapping[str, Grant] = field(default_factory=dict)
    add_ons: Mapping[str, AddOn] = field(default_factory=dict)
    profiles: Mapping[str, tuple[Profile, ...]] = field(default_factory=dict)
    plans_problem: str = ""
    profiles_problem: str = ""
    version: str = ""


def _grant(entry: Mapping[str, Any]) -> Grant:
    """The GPU part of a plan or add-on."""
    gpu = entry.get("gpu")
    if gpu is None:
        return Grant()
    if not isinstance(gpu, Mapping):
        return Grant(problem="gpu is no mapping of profiles")
    devices: dict[str, int] = {}
    shared: set[str] = set()
    for profile_id, grants in gpu.items():
        if not isinstance(profile_id, str) or not isinstance(grants, Mapping):
            return Grant(problem=f"gpu.{profile_id} is no mapping")
        for key, value in grants.items():
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                return Grant(problem=f"gpu.{profile_id}.{key} is {value!r}, not a whole number of at least 0")
            if key == "devices":
                devices[profile_id] = value
            elif value:
                shared.add(profile_id)
    return Grant(devices=devices, shared=frozenset(shared))


def _flag(entry: Mapping[str, Any], key: str) -> tuple[bool | None, str]:
    value = entry.get(key)
    if value is None or isinstance(value, bool):
        return value, ""
    return None, f"{key} is {value!r}, not true or false"


def _add_on(add_on_id: str, entry: object) -> AddOn:
    if not isinstance(entry, Mapping):
        return AddOn(
            id=add_on_id,
            disabled=False,
            self_service=None,
            other=(),
            grant=Grant(problem="the entry is no mapping"),
        )
    disabled, disabled_problem = _flag(entry, "disabled")
    self_service, visible_problem = _flag(entry, "selfService")
    grant = _grant(entry)
    problem = grant.problem or disabled_problem or visible_problem
    return AddOn(
        id=add_on_id,
        disabled=disabled is True,
        self_service=self_service,
        other=tuple(key for key in ("cpu", "memory", "storage") if entry.get(key) not in (None, 0, "0", "")),
        grant=Grant(grant.devices, grant.shared, problem),
    )


def _section(document: Mapping[str, Any], key: str) -> tuple[Mapping[str, Any], str]:
    section = document.get(key)
    if section is None:
        return {}, ""
    if isinstance(section, Mapping) and all(isinstance(name, str) for name in section):
        return section, ""
    return {}, f"{key} is no mapping of names"


def _profiles(document: Mapping[str, Any]) -> tuple[dict[str, tuple[Profile, ...]], str]:
    entries = document.get("profiles")
    if not isinstance(entries, tuple):
        return {}, "profiles is no list"
    found: dict[str, tuple[Profile, ...]] = {}
    for position, entry in enumerate(entries):
        profile_id = entry.get("id") if isinstance(entry, Mapping) else None
        if not isinstance(profile_id, str) or not profile_id:
            return {}, f"profiles[{position}] has no id"
        found[profile_id] = (*found.get(profile_id, ()), Profile(profile_id, entry))
    return found, ""


def _document(config_map: ConfigMap | None, key: str) -> tuple[Mapping[str, Any], str]:
    if config_map is None:
        return {}, "the ConfigMap does not exist"
    text = config_map.data.get(key)
    if text is None:
        return {}, f"the ConfigMap has no key {key}"
    try:
        document = load(text).value
    except YamlError as error:
        return {}, f"{key} is not unambiguous YAML: {error}"
    return (document, "") if isinstance(document, Mapping) else ({}, f"{key} is no mapping")


def read_catalogue(billing_plans: ConfigMap | None, gpu_profiles: ConfigMap | None) -> Catalogue:
    """Both documents; a fault is kept beside what could be read, never raised.

    Args:
        billing_plans: ConfigMap kube-dc/billing-plans, None where it does not exist.
        gpu_profiles: ConfigMap kube-dc/gpu-profiles, None where it does not exist.
    """
    billing, plans_problem = _document(billing_plans, PLANS_KEY)
    plans, plan_fault = _section(billing, "plans")
    add_ons, add_on_fault = _section(billing, "addons")
    catalogue, profiles_problem = _document(gpu_profiles, PROFILES_KEY)
    profiles: dict[str, tuple[Profile, ...]] = {}
    if not profiles_problem:
        profiles, profiles_problem = _profiles(catalogue)
    return Catalogue(
        plans={
            name: _grant(entry) if isinstance(entry, Mapping) else Grant(problem="the entry is no mapping")
            for name, entry in plans.items()
        },
        add_ons={name: _add_on(name, entry) for name, entry in add_ons.items()},
        profiles=profiles,
        plans_problem=plans_problem or plan_fault or add_on_fault,
        profiles_problem=profiles_problem,
        version=str(catalogue.get("version", "")),
    )
