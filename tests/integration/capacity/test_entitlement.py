# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An ordinary add-on on the lab: changed where the equation and use allow it, refused untouched otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.tests.integration.capacity import drifts
from ansible_collections.gpuops.reservations.tests.integration.capacity.auditing import LiveModules, found
from ansible_collections.gpuops.reservations.tests.integration.capacity.capacity_lab import (
    CapacityLab,
    Run,
    eventually,
)
from ansible_collections.gpuops.reservations.tests.integration.capacity.put_back import (
    put_back,
    require_clean,
)

pytestmark = [pytest.mark.lab, pytest.mark.slow]


@pytest.fixture(scope="module")
def lab(told_lab: CapacityLab) -> CapacityLab:
    return told_lab


@pytest.fixture
def stage(lab: CapacityLab) -> Iterator[CapacityLab]:
    with put_back(lab):
        yield lab


def changed(
    lab: CapacityLab, organization: str, quantity: int, *arguments: str, addon_id: str = "gpu-h100-vm"
) -> Run:
    asked: dict[str, Any] = {"organization": organization, "addon_id": addon_id, "quantity": quantity}
    return lab.playbook(
        "entitlement", *arguments, ticket="ENT-1", poll_interval=0.5, health_interval=0.2, **asked
    )


def test_more_within_the_equation_is_granted_once(stage: CapacityLab) -> None:
    gate = stage.gate()
    with stage.mutations() as reviewed:
        refs = stage.refs()
        assert changed(stage, "borealis", 5, "--check").code == 0
        assert stage.refs() == refs
    assert reviewed == []
    run = changed(stage, "borealis", 5)
    assert run.code == 0, run.output
    assert stage.add_ons("borealis") == {"gpu-h100-vm": 5}
    assert stage.hard("borealis") == "5"
    assert (stage.lock()["pools"], stage.gate()) == ({}, gate)
    require_clean(stage)
    with stage.mutations() as wrote:
        refs = stage.refs()
        again = changed(stage, "borealis", 5)
        assert stage.refs() == refs
    assert (again.code, again.recap["changed"], wrote) == (0, 0, [])


REFUSALS = {
    "beyond the equation": ("borealis", 20, "gpu-h100-vm", "lacks 1 devices"),
    "below what is used": ("aurora", 1, "gpu-h100-vm", "aurora-vision/VirtualMachine/inference-1"),
    "a reservation add-on": ("borealis", 1, "gpu-h100-reserved", "carries reservations"),
    "an add-on that nobody knows": ("borealis", 1, "gpu-b200", "gpu-b200"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_is_refused_touches_nothing(stage: CapacityLab, name: str) -> None:
    organization, quantity, addon_id, said = REFUSALS[name]
    refs, entitlements = stage.refs(), stage.entitlements()
    with stage.mutations() as wrote:
        run = changed(stage, organization, quantity, addon_id=addon_id)
    assert run.code != 0
    assert said in run.output
    assert (stage.refs(), stage.entitlements(), wrote) == (refs, entitlements, [])


def test_less_is_never_refused_for_an_equation_that_fails_and_its_audit_is_told(stage: CapacityLab) -> None:
    modules = LiveModules(stage)
    with drifts.add_ons("aurora", {"gpu-h100-vm": 24})(stage):
        oversold = {("hard-quota-above-equation", "pool/h100-vm")}
        eventually("an oversold pool", lambda: found(modules.audit()) == oversold, 60)
        run = changed(stage, "borealis", 1)
        assert run.code != 0
        assert "and that stands" in run.output
        assert "hard-quota-above-equation" in run.output
        assert stage.add_ons("borealis") == {"gpu-h100-vm": 1}
        assert stage.hard("borealis") == "1"
        assert stage.lock()["pools"] == {}
        assert changed(stage, "aurora", 4).code == 0, "this one restores the equation"
        assert stage.hard("aurora") == "4"
