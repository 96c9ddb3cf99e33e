# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_entitlement: an ordinary add-on under the same equation, holder-safely."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.capacity_world import (
    CapacityWorld,
    Ran,
)

RUN: dict[str, Any] = {"ticket": "ENT-1", "run_id": "01RUN"}
ASK: dict[str, Any] = {"organization": "aurora", "addon_id": "gpu-h100-vm"}


@pytest.fixture
def locked(world: CapacityWorld) -> CapacityWorld:
    assert not world.run("gpu_lock", state="held", profile_id="h100-vm", **RUN).failed
    return world


def change(world: CapacityWorld, quantity: int, *, check: bool = False, **more: Any) -> Ran:
    return world.run("gpu_entitlement", check=check, **{**ASK, "quantity": quantity, **RUN, **more})


def test_more_is_granted_where_the_equation_holds_with_it(locked: CapacityWorld) -> None:
    ran = change(locked, 6)
    assert not ran.failed, ran.msg
    assert (ran.result["changed"], ran.result["before"], ran.result["after"]) == (True, 4, 6)
    [judged] = ran.result["judgements"]
    assert (judged["equation"]["headroom"], judged["equation_after"]["headroom"]) == (17, 15)
    assert locked.add_ons("aurora") == {"gpu-h100-vm": 6}
    again = change(locked, 6)
    assert (again.failed, again.result["changed"]) == (False, False)


def test_more_than_fits_is_refused_and_nothing_is_written(locked: CapacityWorld) -> None:
    with locked.untouched():
        ran = change(locked, 22)
    assert (ran.failed, ran.code) == (True, "change-exceeds-capacity")


def test_less_than_is_used_is_refused_naming_the_holders(locked: CapacityWorld) -> None:
    with locked.untouched():
        ran = change(locked, 1)
    assert (ran.failed, ran.code) == (True, "release-quota-in-use")
    assert "inference-1" in ran.msg


def test_less_is_never_refused_for_the_equation(locked: CapacityWorld) -> None:
    locked.server.entitle("borealis", {"gpu-h100-vm": 40})
    ran = change(locked, 2)
    assert not ran.failed, ran.msg
    assert locked.add_ons("aurora") == {"gpu-h100-vm": 2}


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"addon_id": "gpu-h100-reserved"}, "add-on-unfit"),
        ({"addon_id": "gpu-none"}, "unknown-add-on"),
        ({"addon_id": "gpu-v100-shared-8g"}, "add-on-no-devices"),
        ({"organization": "nobody"}, "order-organization"),
        ({"quantity": -1}, "quantity-invalid"),
        ({"ticket": "LAB-0"}, "ticket-in-use"),
        ({"run_id": "02OTHER"}, "lock-lost"),
    ],
)
def test_what_is_refused(locked: CapacityWorld, asked: dict[str, Any], code: str) -> None:
    with locked.untouched():
        ran = world_asked(locked, asked)
    assert (ran.failed, ran.code) == (True, code)


def world_asked(world: CapacityWorld, asked: dict[str, Any]) -> Ran:
    return world.run("gpu_entitlement", **{**ASK, "quantity": 5, **RUN, **asked})


def test_check_mode_judges_the_same_and_writes_nothing(locked: CapacityWorld) -> None:
    with locked.untouched():
        ran = change(locked, 5, check=True)
    assert (ran.failed, ran.result["changed"]) == (False, True)
    assert ran.result["plan"] == ["set gpu-h100-vm of aurora from 4 to 5"]


def test_a_frozen_pool_sells_no_more_but_takes_back(locked: CapacityWorld) -> None:
    text = "since: '2026-11-01T00:00:00Z'\naudit: a-1\nfindings: [degraded-capacity]\nthawed: null\n"
    locked.commit_file("gpu-reservations/lab/freezes/h100-vm.yaml", text)
    assert change(locked, 5).code == "pool-frozen"
    assert not change(locked, 3).failed
