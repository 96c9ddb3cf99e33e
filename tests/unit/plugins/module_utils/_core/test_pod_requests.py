# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a Pod asks of a node, as the scheduler counts it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.placement_objects import PlacementSpec
from ansible_collections.gpuops.reservations.plugins.module_utils._core.pod_requests import (
    free_on,
    lacking,
    number,
    pod_requests,
)

GPU = "nvidia.com/gpu"


def container(requests: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    return {"resources": {"requests": requests or {}, **more.pop("resources", {})}, **more}


def spec(**parts: Any) -> PlacementSpec:
    return PlacementSpec.model_validate(parts)


@pytest.mark.parametrize(
    ("parts", "asked"),
    [
        ({"containers": [container({GPU: "2"}), container({GPU: "1", "cpu": "500m"})]}, {GPU: 3, "cpu": 0.5}),
        ({"containers": [container(resources={"limits": {GPU: "8"}})]}, {GPU: 8}),
        ({"containers": [container({GPU: "1"})], "initContainers": [container({GPU: "4"})]}, {GPU: 4}),
        (
            {
                "containers": [container({GPU: "1"})],
                "initContainers": [container({GPU: "2"}, restartPolicy="Always"), container({GPU: "3"})],
            },
            {GPU: 5},
        ),
        (
            {
                "containers": [container({GPU: "4"})],
                "initContainers": [container({GPU: "2"}, restartPolicy="Always")],
            },
            {GPU: 6},
        ),
        ({"containers": [container({"cpu": "1"})], "overhead": {"cpu": "250m"}}, {"cpu": 1.25}),
        ({"containers": [container({"cpu": "nonsense"})]}, {}),
        ({}, {}),
    ],
)
def test_what_is_asked(parts: dict[str, Any], asked: dict[str, float]) -> None:
    assert pod_requests(spec(**parts)) == {name: Fraction(value) for name, value in asked.items()}


def test_free_is_allocatable_less_what_is_there_and_pods_count_too() -> None:
    there = [spec(containers=[container({GPU: "3"})]), spec(containers=[container({GPU: "2"})])]
    free = free_on({GPU: "8", "pods": "3"}, there)
    assert free == {GPU: Fraction(3), "pods": Fraction(1)}
    assert lacking({GPU: Fraction(4)}, free) == (GPU,)
    assert lacking({GPU: Fraction(3)}, free) == ()
    assert lacking({"cpu": Fraction(1)}, free) == ("cpu",)
    assert lacking({}, free_on({"pods": "2"}, there)) == ("pods",)


def test_numbers_for_people() -> None:
    assert number(Fraction(8)) == "8"
    assert number(Fraction(1, 4)) == "0.25"
