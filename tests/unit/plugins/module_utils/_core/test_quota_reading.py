# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hard quota: the least of the HRQs, else the sum of project quotas, else no limit, never a guess."""

from __future__ import annotations

from ansible_collections.gpuops.reservations.plugins.module_utils._core.amount import UNLIMITED
from ansible_collections.gpuops.reservations.plugins.module_utils._core.quota_reading import (
    QuotaReading,
    read_quota,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.fleet_builder import (
    H100,
    KEY,
    Fleet,
    lab,
)


def read(fleet: Fleet, name: str = "borealis") -> QuotaReading:
    return read_quota(name, H100, fleet.world())


def second_hrq(fleet: Fleet, hard: str) -> Fleet:
    fleet.hrqs["second"] = {
        "metadata": {"name": "second", "namespace": "borealis"},
        "spec": {"hard": {KEY: hard}},
        "status": {"used": {KEY: "0"}},
    }
    return fleet


def test_an_hrq() -> None:
    reading = read(lab())
    assert (reading.hard, reading.used, reading.source) == (2, 0, "HRQ borealis/plan-quota")
    assert reading.measured


def test_zero_is_an_honest_zero() -> None:
    assert read(lab().hrq("borealis", 0)).hard == 0


def test_the_least_of_several_hrqs() -> None:
    assert read(second_hrq(lab(), "1")).hard == 1
    assert read(second_hrq(lab(), "5")).hard == 2


def test_one_unreadable_hrq_makes_it_unknown() -> None:
    reading = read(second_hrq(lab(), "0x1"))
    assert reading.hard is None
    assert reading.problems == ("borealis/second spec.hard[" + KEY + "]: '0x1' is not a Kubernetes quantity",)


def test_an_hrq_elsewhere_does_not_count() -> None:
    fleet = lab()
    fleet.hrqs["borealis"]["metadata"]["namespace"] = "borealis-ml"
    assert read(fleet).hard == UNLIMITED


def test_what_the_status_says_is_kept_apart() -> None:
    fleet = lab()
    fleet.hrqs["borealis"]["status"] = {"hard": {KEY: "3"}}
    reading = read(fleet)
    assert (reading.hard, reading.in_force, reading.used) == (2, 3, None)


def without_hrq() -> Fleet:
    fleet = lab()
    del fleet.hrqs["borealis"]
    return fleet


def test_no_hrq_and_a_quota_in_every_project() -> None:
    reading = read(
        without_hrq().resource_quota("borealis-ml", "a", 4, 1).resource_quota("borealis-ml", "b", 3, 1)
    )
    assert (reading.hard, reading.used, reading.source) == (3, 1, "project quotas")


def test_no_hrq_and_a_project_without_a_quota() -> None:
    reading = read(without_hrq())
    assert reading.hard == UNLIMITED
    assert "borealis-ml" in reading.unlimited_because


def test_no_hrq_and_no_projects_is_zero() -> None:
    fleet = without_hrq()
    fleet.projects.pop(("borealis", "ml"))
    reading = read(fleet)
    assert reading.hard == 0
    assert not reading.measured


def test_a_projects_status_hard_that_differs() -> None:
    fleet = without_hrq().resource_quota("borealis-ml", "a", 4)
    fleet.quotas[-1]["status"]["hard"] = {KEY: "2"}
    assert read(fleet).in_force == 2
