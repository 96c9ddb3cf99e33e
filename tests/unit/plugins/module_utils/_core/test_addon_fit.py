# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which add-ons may carry a reservation, and the code of each reason why one may not."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.addon_fit import add_on_problems
from ansible_collections.gpuops.reservations.plugins.module_utils._core.catalogue import read_catalogue
from ansible_collections.gpuops.reservations.plugins.module_utils._core.cluster_objects import ConfigMap
from ansible_collections.gpuops.reservations.plugins.module_utils._core.yaml_text import to_yaml

FIT: dict[str, Any] = {"selfService": False, "gpu": {"h100-vm": {"devices": 2}}}


def codes(entry: Any, devices: int | None = 4, name: str = "held") -> list[str]:
    plans = ConfigMap.model_validate(
        {"metadata": {"name": "x"}, "data": {"plans.yaml": to_yaml({"addons": {"held": entry}})}}
    )
    problems = add_on_problems(name, "h100-vm", read_catalogue(plans, None), devices)
    assert all(problem.message and problem.next_action and name in problem.message for problem in problems)
    return [problem.code for problem in problems]


def test_one_that_qualifies() -> None:
    assert codes(FIT) == []
    assert codes({**FIT, "cpu": 0, "memory": "0", "price": "9.99", "disabled": False}) == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"selfService": True}, ["add-on-self-service"]),
        ({"selfService": None}, ["add-on-self-service"]),
        ({"cpu": 4}, ["add-on-grants-cpu-memory-storage"]),
        ({"memory": "1Gi"}, ["add-on-grants-cpu-memory-storage"]),
        ({"storage": "1Ti"}, ["add-on-grants-cpu-memory-storage"]),
        ({"disabled": True}, ["add-on-disabled"]),
        ({"gpu": {"h100-vm": {"devices": 2}, "v100-vm": {"devices": 1}}}, ["add-on-several-profiles"]),
        ({"gpu": {"v100-vm": {"devices": 2}}}, ["add-on-other-profile"]),
        ({"gpu": {"h100-vm": {"devices": 0}}}, ["add-on-no-devices"]),
        ({"gpu": {}}, ["add-on-no-devices"]),
        ({"gpu": {"h100-vm": {"devices": 2, "shares": 1}}}, ["add-on-grants-shares"]),
        ({"gpu": {"h100-vm": {"memoryMiB": 8192}}}, ["add-on-grants-shares"]),
        ({"gpu": {"h100-vm": {"devices": 3}}}, ["add-on-indivisible"]),
        ({"gpu": {"h100-vm": {"devices": "2"}}}, ["add-on-unreadable"]),
        (
            {"selfService": True, "disabled": True, "cpu": 1},
            ["add-on-grants-cpu-memory-storage", "add-on-disabled", "add-on-self-service"],
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_each_reason_has_its_code_and_all_are_told(change: dict[str, Any], expected: list[str]) -> None:
    assert codes({**FIT, **change}) == expected


def test_one_that_does_not_exist() -> None:
    assert codes(FIT, name="ghost") == ["unknown-add-on"]


def test_without_an_order_nothing_has_to_divide() -> None:
    assert codes({**FIT, "gpu": {"h100-vm": {"devices": 3}}}, devices=None) == []
