# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a canary's fate shows."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.admission_canary import (
    canary_pod,
    judge_failure,
    judge_injection,
    judge_thief,
    thieves,
)

CANARY = "gpuops-reservation-canary"
REQUIREMENT = {"key": "reserved.tenant", "operator": "In", "values": [CANARY]}
TOLERATION = {"key": "reserved", "operator": "Equal", "value": CANARY, "effect": "NoSchedule"}


def admitted(terms: list[Any], tolerations: list[Any]) -> dict[str, Any]:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"spec": {"affinity": {"nodeAffinity": required}, "tolerations": tolerations}}


@pytest.mark.parametrize(
    ("pod", "lacks"),
    [
        (canary_pod(), "node affinity and the toleration"),
        (admitted([{"matchExpressions": [REQUIREMENT]}], []), "the toleration"),
        (admitted([{"matchExpressions": [REQUIREMENT]}, {}], [TOLERATION]), "node affinity"),
        ({"spec": {"affinity": None, "tolerations": [TOLERATION]}}, "node affinity"),
        ({}, "node affinity and the toleration"),
    ],
)
def test_anything_that_is_missing_fails(pod: dict[str, Any], lacks: str) -> None:
    check = judge_injection(pod)
    assert check.status == "fail"
    assert lacks in check.message
    assert "install.yml" in check.next_action


def test_an_injected_canary_passes() -> None:
    assert judge_injection(admitted([{"matchExpressions": [REQUIREMENT]}], [TOLERATION])).status == "pass"


@pytest.mark.parametrize(
    ("refusal", "may_place", "status"),
    [
        ("ValidatingAdmissionPolicy 'gpuops-reservation-node-names' denied request", False, "pass"),
        ("", False, "fail"),
        ("", True, "not_applicable"),
        ("quota exceeded", False, "unknown"),
    ],
)
def test_a_thief_has_to_be_refused_by_us(refusal: str, status: str, *, may_place: bool) -> None:
    assert judge_thief("a thief", refusal, may_place=may_place).status == status


def test_thieves_differ_from_the_canary_in_one_thing_each() -> None:
    for thief in thieves().values():
        extra = set(thief["spec"]) - set(canary_pod()["spec"])
        assert extra in ({"tolerations"}, {"nodeName"})
    assert judge_failure("no").status == "fail"
