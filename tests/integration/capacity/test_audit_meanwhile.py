# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Audits all the while: an assignment and its release raise no false finding at any of their phases."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.tests.integration.capacity.assigned import (
    require_equation_always,
)
from ansible_collections.gpuops.reservations.tests.integration.capacity.auditing import LiveModules, found
from ansible_collections.gpuops.reservations.tests.integration.capacity.capacity_lab import (
    QUICK,
    CapacityLab,
)
from ansible_collections.gpuops.reservations.tests.integration.capacity.put_back import require_clean

pytestmark = [pytest.mark.lab, pytest.mark.slow]

ON_ITS_WAY = {"entitlement-converging", "gate-converging", "fence-converging", "fence-not-lowered"}
PAUSE = 0.2
"""Seconds between two audits, so that the run that is looked at gets on too."""


@dataclass
class Watched:
    """What audits found while a run was under way: errors and warnings, and how far the run was.

    Attributes:
        errors: every error with its object.
        warnings: the ids of all warnings.
        reserved: states of records that the pool's equation counted.
        locked: whether the pool was seen locked.
        audits: how many there were.
    """

    errors: set[tuple[str, str]] = field(default_factory=set)
    warnings: set[str] = field(default_factory=set)
    reserved: set[str] = field(default_factory=set)
    locked: bool = False
    audits: int = 0

    def note(self, result: dict[str, Any]) -> None:
        self.audits += 1
        self.errors |= found(result)
        self.warnings |= {identifier for identifier, _object in found(result, "warning")}
        [pool] = [pool for pool in result["bundle"]["pools"] if pool["profile"] == "h100-vm"]
        self.locked = self.locked or bool(pool["lock"])
        self.reserved |= {state for state, devices in pool["equation"]["reserved"].items() if devices}


def watched(lab: CapacityLab, playbook: str, **variables: Any) -> Watched:
    """A playbook to its end, audited over and over meanwhile."""
    modules, seen = LiveModules(lab, "reader"), Watched()
    with (lab.folder / f"{playbook}.log").open("w+", encoding="utf-8") as output:
        process = lab.start(playbook, output=output, **variables)
        while process.poll() is None:
            seen.note(modules.audit())
            time.sleep(PAUSE)
        output.seek(0)
        assert process.returncode == 0, output.read()
    return seen


@pytest.fixture(scope="module")
def lab(told_lab: CapacityLab) -> CapacityLab:
    return told_lab


def test_an_audit_at_any_moment_of_an_assignment_finds_nothing_wrong(lab: CapacityLab) -> None:
    require_clean(lab)
    seen = watched(lab, "assign", ticket="LAB-1", **QUICK)
    assert seen.errors == set()
    assert seen.warnings <= ON_ITS_WAY
    assert seen.locked
    assert {"pending", "active"} <= seen.reserved
    assert seen.audits > 20


def test_an_audit_at_any_moment_of_a_release_finds_nothing_wrong(lab: CapacityLab) -> None:
    seen = watched(lab, "release", ticket="LAB-1", poll_interval=0.5)
    assert seen.errors == set()
    assert seen.warnings <= ON_ITS_WAY
    assert seen.locked
    assert {"active", "releasing"} <= seen.reserved
    assert seen.audits > 10
    require_equation_always(lab)
    require_clean(lab)
