# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A table of bent fleets, each with exactly what a proof has to find in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.finding import Finding
from ansible_collections.gpuops.reservations.plugins.module_utils._core.proof import Proof
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.fleet_builder import (
    Fleet,
    lab,
)


@dataclass(frozen=True)
class Case:
    """One row.

    Attributes:
        name: what is bent.
        bend: bends the fixture.
        stops: (id, object) of everything that stops, and nothing else.
        says: text that the messages of those findings contain.
        remarks: (id, object) of everything that does not stop, and nothing else.
        healthy: healthy devices afterwards.
        headroom: headroom afterwards; None where none may be told.
        unknown: whether the stops are unknowns.
        question: how the pool is asked about.
        profile_id: the pool.
    """

    name: str
    bend: Callable[[Fleet], object]
    stops: list[tuple[str, str]] = field(default_factory=list)
    says: tuple[str, ...] = ()
    remarks: list[tuple[str, str]] = field(default_factory=list)
    healthy: int | None = 32
    headroom: int | None = 17
    unknown: bool = False
    question: dict[str, Any] = field(default_factory=dict)
    profile_id: str = "h100-vm"


def named(findings: tuple[Finding, ...], *, stops: bool) -> list[tuple[str, str]]:
    return sorted((finding.id, finding.object) for finding in findings if finding.stops == stops)


def untouched(fleet: Fleet) -> None:
    """The fixture as it is."""
    assert fleet.policy is not None


def table(*cases: Case) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in cases])


def examine(case: Case) -> Proof:
    """Prove a bent fleet and hold it against its row."""
    fleet = lab()
    case.bend(fleet)
    assert not fleet.problems()
    proof = fleet.prove(case.profile_id, **case.question)
    assert named(proof.findings, stops=True) == sorted(case.stops)
    assert named(proof.findings, stops=False) == sorted(case.remarks)
    told = " ".join(f"{finding.message} {finding.next_action}" for finding in proof.findings)
    for text in case.says:
        assert text in told
    assert all(finding.next_action and finding.message for finding in proof.findings)
    assert proof.decisive.healthy == case.healthy
    assert proof.decisive.headroom == case.headroom
    assert proof.allowed is (not case.stops and case.headroom is not None and case.headroom >= 0)
    statuses = {check.status for check in proof.checks if (check.id, check.object) in case.stops}
    assert statuses == ({"unknown"} if case.unknown else {"fail"} if case.stops else set())
    return proof
