# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options that are missing, contradict each other or cannot be meant: one clear line, and nothing is read."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.capacity_world import CapacityWorld
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.stages import POOL, RUN

PENDING = {"state": "pending", **RUN}
BEFORE = {"stage": "before", "name": "n", "namespace": "n", "profile_id": POOL}
CASES: list[tuple[str, dict[str, Any], str]] = [
    ("gpu_addon", {"ticket": "LAB-9"}, "run_id"),
    ("gpu_addon", {"run_id": "r"}, "ticket"),
    ("gpu_addon", {**RUN, "fleet_repo": None}, "fleet_repo"),
    ("gpu_addon", {**RUN, "cluster": None}, "cluster"),
    ("gpu_addon", {**RUN, "cluster": "a--b"}, "cluster"),
    ("gpu_addon", {**RUN, "ticket": "no ticket!"}, "ticket"),
    ("gpu_addon", {**RUN, "wait_timeout": "soon"}, "wait_timeout"),
    ("gpu_creation_gate", {"state": "closed"}, "ticket"),
    ("gpu_creation_gate", {"state": "ajar"}, "state"),
    ("gpu_evidence", {"state": "sealed", "ticket": "LAB-9"}, "run_id"),
    ("gpu_evidence", {"state": "sealed", **RUN, "evidence_dir": None}, "evidence_dir"),
    ("gpu_holders_info", {}, "profile_id"),
    ("gpu_invariant", {}, "profile_id"),
    ("gpu_invariant", {"profile_id": POOL, "purpose": "assign"}, "ticket"),
    ("gpu_invariant", {"profile_id": POOL, "purpose": "guess"}, "purpose"),
    ("gpu_ledger_info", {"fleet_repo": None}, "fleet_repo"),
    ("gpu_ledger_record", RUN, "state"),
    ("gpu_ledger_record", {"state": "active", **RUN}, "evidence_revision"),
    ("gpu_ledger_record", {**PENDING, "state": "sold"}, "state"),
    ("gpu_lock", {"state": "held", "profile_id": POOL}, "ticket"),
    ("gpu_lock", {"state": "broken", "profile_id": POOL, "ticket": "LAB-9"}, "reason"),
    ("gpu_plan_info", {"ticket": "LAB-1"}, "action"),
    ("gpu_plan_info", {"action": "assign"}, "ticket"),
    ("gpu_plan_info", {"action": "sell", "ticket": "LAB-1"}, "action"),
    ("gpu_project_cap", {"ticket": "LAB-9"}, "run_id"),
    ("gpu_smoke_info", {**BEFORE, "stage": "begun"}, "stage"),
    ("gpu_smoke_info", {"stage": "before"}, "name"),
]


@pytest.mark.parametrize(("module", "options", "named"), CASES, ids=[f"{m}-{n}" for m, _, n in CASES])
def test_one_line_names_the_option_before_anything_is_read(
    world: CapacityWorld, module: str, options: dict[str, Any], named: str
) -> None:
    with world.untouched():
        ran = world.run(module, **options)
    assert ran.failed
    assert named in ran.msg
    assert "\n" not in ran.msg.strip()
    assert world.server.reads == []
    assert not (world.folder / "cache").exists()
