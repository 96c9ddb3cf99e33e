# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Entitlement: from annotations and catalogue to hard quota."""

from __future__ import annotations

import json

import pytest

from lab.fixture import catalogue as fixture
from lab.platform import catalogue, entitlement

KEY = f"requests.{fixture.H100}"
V100_KEY = f"requests.{fixture.V100}"


@pytest.fixture
def sold() -> catalogue.Catalogue:
    return catalogue.load(
        fixture.text(fixture.PLANS), fixture.text({"version": 1, "profiles": fixture.PROFILES})
    )


def organization(addons: object = (), subscription: str = "active") -> dict[str, str]:
    return {
        entitlement.PLAN: fixture.PLAN,
        entitlement.SUBSCRIPTION: subscription,
        entitlement.ADDONS: addons if isinstance(addons, str) else json.dumps(addons),
    }


def bought(**counts: int) -> list[dict[str, object]]:
    return [{"addonId": name.replace("_", "-"), "quantity": count} for name, count in counts.items()]


def test_devices_are_the_sum_over_addons(sold: catalogue.Catalogue) -> None:
    hard = entitlement.hard_quota(organization(bought(gpu_h100_vm=2, gpu_h100_reserved=8)), sold)
    assert hard is not None
    assert hard[KEY] == "10"


def test_what_is_not_entitled_is_an_explicit_zero(sold: catalogue.Catalogue) -> None:
    hard = entitlement.hard_quota(organization(bought(gpu_h100_vm=2)), sold)
    assert hard is not None
    assert {hard[V100_KEY], hard["requests.nvidia.com/gpu"], hard["requests.nvidia.com/gpumem"]} == {"0"}


def test_a_plan_grants_devices_too(sold: catalogue.Catalogue) -> None:
    plan = {**sold.plans[fixture.PLAN], "gpu": {"h100-vm": {"devices": 3}}}
    changed = catalogue.Catalogue(sold.profiles, {fixture.PLAN: plan}, sold.suspended, sold.addons)
    hard = entitlement.hard_quota(organization(bought(gpu_h100_vm=2)), changed)
    assert hard is not None
    assert hard[KEY] == "5"


@pytest.mark.parametrize("state", ["suspended", "canceled"])
def test_minimal_while_not_in_good_standing(sold: catalogue.Catalogue, state: str) -> None:
    hard = entitlement.hard_quota(organization(bought(gpu_h100_vm=2), state), sold)
    assert hard is not None
    assert (hard[KEY], hard["requests.cpu"], hard["pods"]) == ("0", "1", "10")


@pytest.mark.parametrize("state", ["active", "trialing", "canceling", "past_due"])
def test_full_while_in_good_standing(sold: catalogue.Catalogue, state: str) -> None:
    hard = entitlement.hard_quota(organization(bought(gpu_h100_vm=2), state), sold)
    assert hard is not None
    assert (hard[KEY], hard["requests.cpu"], hard["limits.memory"]) == ("2", "256", "2Ti")


def test_without_a_plan_there_is_no_quota_at_all(sold: catalogue.Catalogue) -> None:
    assert entitlement.hard_quota({}, sold) is None


def test_unknown_and_disabled_addons_grant_nothing(sold: catalogue.Catalogue) -> None:
    addons = {**sold.addons, "off": {"disabled": True, "gpu": {"h100-vm": {"devices": 5}}}}
    changed = catalogue.Catalogue(sold.profiles, sold.plans, sold.suspended, addons)
    hard = entitlement.hard_quota(organization(bought(off=1, nobody_sells_this=7)), changed)
    assert hard is not None
    assert hard[KEY] == "0"


@pytest.mark.parametrize(
    "text", ["{", '{"addonId":"x"}', '[{"addonId":"gpu-h100-vm"}]', '[{"addonId":"x","quantity":"2"}]', "[3]"]
)
def test_annotations_that_cannot_be_read_are_an_error(sold: catalogue.Catalogue, text: str) -> None:
    with pytest.raises(entitlement.UnreadableOrder):
        entitlement.hard_quota(organization(text), sold)


def test_cpu_of_an_addon_adds_up_with_burst(sold: catalogue.Catalogue) -> None:
    plan = {"requests": {"cpu": "1500m", "memory": "1Gi"}, "burstRatio": 2.0}
    addons = {"more": {"cpu": "500m", "memory": "512Mi"}}
    changed = catalogue.Catalogue({}, {fixture.PLAN: plan}, {}, addons)
    hard = entitlement.hard_quota(organization(bought(more=3)), changed)
    assert hard is not None
    assert (hard["requests.cpu"], hard["limits.cpu"]) == ("3", "6")
    assert (hard["requests.memory"], hard["limits.memory"]) == ("2560Mi", "5Gi")
