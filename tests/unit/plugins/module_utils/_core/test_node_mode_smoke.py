# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Before a node moves, it is known whether the smoke cycle that was asked for could run."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.catalogue import Catalogue, Profile
from ansible_collections.gpuops.reservations.plugins.module_utils._core.cluster_objects import Project, Quota
from ansible_collections.gpuops.reservations.plugins.module_utils._core.node_mode_smoke import (
    SmokeFacts,
    smoke_checks,
    smoke_place,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.unread import Unread

CATALOGUE = Catalogue(profiles={"v100-vm": (Profile("v100-vm", {"resourceName": "nvidia.com/V100"}),)})
PROJECT = Project.model_validate(
    {"metadata": {"name": "ml", "namespace": "borealis"}, "status": {"namespace": "borealis-ml"}}
)


def quota(hard: dict[str, Any], used: dict[str, Any] | None = None) -> Quota:
    return Quota.model_validate(
        {
            "metadata": {"name": "hrq.hnc.x-k8s.io", "namespace": "borealis-ml"},
            "spec": {"hard": hard},
            "status": {"hard": hard, "used": used or {}},
        }
    )


KEY = "requests.nvidia.com/V100"
ROOM = (quota({KEY: "2"}, {KEY: "1"}),)


def facts(**changes: Any) -> SmokeFacts:
    parts = {
        "organization": "borealis",
        "name": "ml",
        "project": PROJECT,
        "catalogue": CATALOGUE,
        "quotas": ROOM,
    }
    return SmokeFacts(**{**parts, **changes})


def test_room_for_one_device_is_enough() -> None:
    (check,) = smoke_checks("acc-01", facts(), ("v100-vm",))
    assert check.status == "pass"
    place = smoke_place(facts(), ("v100-vm",))
    assert place.result() == {
        "namespace": "borealis-ml",
        "profile_id": "v100-vm",
        "resource": "nvidia.com/V100",
    }


@pytest.mark.parametrize(
    ("changes", "pools", "status", "word"),
    [
        ({"quotas": ()}, ("v100-vm",), "fail", "no quota for requests.nvidia.com/V100"),
        ({"quotas": (quota({"requests.nvidia.com/H100": "8"}),)}, ("v100-vm",), "fail", "no quota"),
        ({"quotas": (quota({KEY: "0"}, {KEY: "0"}),)}, ("v100-vm",), "fail", "0 of 0"),
        ({"quotas": (*ROOM, quota({KEY: "1"}, {KEY: "1"}))}, ("v100-vm",), "fail", "1 of 1"),
        ({"quotas": (quota({KEY: "2"}),)}, ("v100-vm",), "unknown", "cannot be read"),
        ({"quotas": (quota({KEY: "x"}, {KEY: "0"}),)}, ("v100-vm",), "unknown", "cannot be read"),
        ({"project": None}, ("v100-vm",), "fail", "borealis/ml"),
        (
            {"project": Project.model_validate({"metadata": {"name": "ml"}})},
            ("v100-vm",),
            "fail",
            "namespace",
        ),
        ({"catalogue": Catalogue()}, ("v100-vm",), "unknown", "v100-vm"),
        ({}, (), "fail", "0 pools"),
        ({}, ("a", "b"), "fail", "2 pools"),
    ],
)
def test_everything_else_stops_before_the_node_moves(
    changes: dict[str, Any], pools: tuple[str, ...], status: str, word: str
) -> None:
    (check,) = smoke_checks("acc-01", facts(**changes), pools)
    assert check.status == status
    assert word in check.message
    assert check.next_action


def test_what_cannot_be_read_is_unknown() -> None:
    (check,) = smoke_checks("acc-01", Unread("project borealis/ml", "no answer", "look"), ("v100-vm",))
    assert check.status == "unknown"
