# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the product installs: complete manifests, and a policy with the catalogue's devices in it."""

from __future__ import annotations

from lab.fixture import catalogue as fixture
from lab.platform import installation
from lab.platform.api import KINDS
from lab.platform.catalogue import load_profiles


def test_every_manifest_is_of_a_kind_that_the_lab_knows() -> None:
    for name in ("definitions", "identities", "policies"):
        for document in installation.manifests(name):
            assert document["kind"] in KINDS, document


def test_definitions_match_the_kinds_that_controllers_use() -> None:
    served = {
        (item["spec"]["group"], item["spec"]["versions"][0]["name"], item["spec"]["names"]["plural"]): item
        for item in installation.manifests("definitions")
    }
    custom = [kind for kind in KINDS.values() if (kind.group, kind.version, kind.plural) in served]
    assert len(custom) == len(served) == 8
    for kind in custom:
        spec = served[kind.group, kind.version, kind.plural]["spec"]
        assert spec["names"]["kind"] == kind.kind
        assert (spec["scope"] == "Namespaced") is kind.namespaced


def test_the_machine_policy_names_vm_profiles_alone() -> None:
    profiles = load_profiles(fixture.text({"version": 1, "profiles": fixture.PROFILES}))
    variables = {
        item["name"]: item["expression"]
        for item in installation.machine_policy(profiles)["spec"]["variables"]
    }
    assert variables["devices"] == f"{{'h100-vm': '{fixture.H100}', 'v100-vm': '{fixture.V100}'}}"
