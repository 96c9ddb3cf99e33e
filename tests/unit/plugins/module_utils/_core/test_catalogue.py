# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The platform's documents: unknown keys are fine, what we rely on is unambiguous or says why not."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.catalogue import (
    Catalogue,
    read_catalogue,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.cluster_objects import ConfigMap

PLANS = """
plans:
  pro: {pods: 400, price: 9.99, gpu: {h100-vm: {devices: 2}}}
  bad: {gpu: {h100-vm: {devices: two}}}
suspendedPlan: {cpu: "1"}
systemOverhead: {x: 010}
addons:
  vm: {price: 1, unknownKey: [1], gpu: {h100-vm: {devices: 1}}}
  held: {selfService: false, gpu: {h100-vm: {devices: 4}}}
  off: {disabled: true, selfService: true}
  shared: {gpu: {v100-shared: {shares: 1, memoryMiB: 8192, corePercent: 0}}}
  mixed: {cpu: 4, memory: 0, storage: "", gpu: {h100-vm: {devices: 1}, v100-vm: {devices: 0}}}
  odd: {disabled: "no"}
"""
PROFILES = """
version: 7
profiles:
  - {id: h100-vm, enabled: true, resourceName: nvidia.com/H, request: {presets: []}}
  - {id: twice}
  - {id: twice}
"""


def config(key: str, text: str) -> ConfigMap:
    return ConfigMap.model_validate({"metadata": {"name": "x"}, "data": {key: text}})


def read(plans: str = PLANS, profiles: str = PROFILES) -> Catalogue:
    return read_catalogue(config("plans.yaml", plans), config("profiles.yaml", profiles))


def test_what_is_there() -> None:
    catalogue = read()
    assert (catalogue.plans_problem, catalogue.profiles_problem, catalogue.version) == ("", "", "7")
    assert catalogue.plans["pro"].devices == {"h100-vm": 2}
    assert catalogue.add_ons["vm"].self_service is None
    assert catalogue.add_ons["held"].self_service is False
    assert catalogue.add_ons["held"].grant.devices == {"h100-vm": 4}
    assert catalogue.add_ons["off"].disabled
    assert catalogue.add_ons["shared"].grant.shared == {"v100-shared"}
    assert catalogue.add_ons["mixed"].other == ("cpu",)
    assert catalogue.add_ons["mixed"].grant.profiles == {"h100-vm"}
    assert catalogue.profiles["h100-vm"][0].resource == "nvidia.com/H"
    assert len(catalogue.profiles["twice"]) == 2


def test_a_bad_entry_says_why_and_the_others_stay() -> None:
    catalogue = read()
    assert "devices is 'two'" in catalogue.plans["bad"].problem
    assert "disabled is 'no'" in catalogue.add_ons["odd"].grant.problem
    assert catalogue.add_ons["vm"].grant.problem == ""


@pytest.mark.parametrize(
    "value", ["'1'", "1.5", "-1", "true", "010", "0x1", "1_0", "null", "[1]"], ids=lambda value: value
)
def test_a_grant_is_a_plain_whole_number(value: str) -> None:
    catalogue = read(plans=f"addons: {{a: {{gpu: {{h100-vm: {{devices: {value}}}}}}}}}")
    assert catalogue.add_ons["a"].grant.problem


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "addons: [",
        "addons: {}\naddons: {}",
        "addons: []",
        "addons: {a: 1}\n---\nx: 1",
        "a: !!int 1",
    ],
    ids=["empty", "list", "no YAML", "twice", "no mapping", "two documents", "a tag"],
)
def test_plans_that_cannot_be_read(text: str) -> None:
    assert read(plans=text).plans_problem


@pytest.mark.parametrize("text", ["", "profiles: {}", "profiles: [x]", "profiles: [{id: 1}]", "version: 1"])
def test_profiles_that_cannot_be_read(text: str) -> None:
    assert read(profiles=text).profiles_problem


def test_what_does_not_exist() -> None:
    catalogue = read_catalogue(None, ConfigMap.model_validate({"metadata": {"name": "x"}}))
    assert catalogue.plans_problem == "the ConfigMap does not exist"
    assert catalogue.profiles_problem == "the ConfigMap has no key profiles.yaml"


def test_an_entry_that_is_no_mapping() -> None:
    catalogue: Any = read(plans="addons: {a: 1}\nplans: {p: []}")
    assert catalogue.add_ons["a"].grant.problem == "the entry is no mapping"
    assert catalogue.plans["p"].problem == "the entry is no mapping"
