# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The catalogue: taken as a whole or not at all."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from lab.fixture import catalogue as fixture
from lab.platform import catalogue


def profiles_text(*profiles: dict[str, Any]) -> str:
    return yaml.safe_dump({"version": 1, "profiles": list(profiles or fixture.PROFILES)})


def test_vm_profile_counts_devices_and_shared_profile_counts_shares() -> None:
    profiles = catalogue.load_profiles(profiles_text())
    assert profiles["h100-vm"].quota_keys() == {"devices": f"requests.{fixture.H100}"}
    assert profiles["v100-shared"].quota_keys() == {
        "shares": "requests.nvidia.com/gpu",
        "memoryMiB": "requests.nvidia.com/gpumem",
        "corePercent": "requests.nvidia.com/gpucores",
    }


def test_a_disabled_profile_is_none() -> None:
    off = {**fixture.PROFILES[0], "enabled": False}
    assert catalogue.load_profiles(profiles_text(off)) == {}


@pytest.mark.parametrize(
    ("profile", "says"),
    [({"billingEligible": False}, "not eligible"), ({"id": "other"}, "does not exist")],
)
def test_a_grant_for_what_is_not_for_sale_rejects_the_document(profile: dict[str, Any], says: str) -> None:
    changed = [{**fixture.PROFILES[0], **profile}, *fixture.PROFILES[1:]]
    with pytest.raises(catalogue.CatalogueError, match=says):
        catalogue.load(fixture.text(fixture.PLANS), profiles_text(*changed))


@pytest.mark.parametrize("amount", [-1, "1", True, 1.5, None])
def test_a_grant_that_is_no_whole_number_rejects_the_document(amount: object) -> None:
    plans = {**fixture.PLANS, "addons": {"x": {"gpu": {"h100-vm": {"devices": amount}}}}}
    with pytest.raises(catalogue.CatalogueError, match=r"addons\.x\.gpu\.h100-vm\.devices"):
        catalogue.load(fixture.text(plans), profiles_text())


def test_what_is_disabled_may_grant_a_profile_that_is_not_there() -> None:
    plans = {**fixture.PLANS, "addons": {"x": {"disabled": True, "gpu": {"gone": {"shares": 1}}}}}
    assert "x" in catalogue.load(fixture.text(plans), profiles_text()).addons


@pytest.mark.parametrize("text", ["- a list", "{", ""])
def test_a_document_that_is_no_mapping_is_rejected(text: str) -> None:
    with pytest.raises(catalogue.CatalogueError):
        catalogue.load(text, profiles_text())
