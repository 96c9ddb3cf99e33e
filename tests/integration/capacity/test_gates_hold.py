# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""No way of starting a writing playbook skips a gate: tags, another host, the middle, an answer made up."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.tests.integration.capacity.capacity_lab import (
    LEDGER,
    CapacityLab,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.stages import pending_text

pytestmark = [pytest.mark.lab, pytest.mark.slow]

PENDING = {"ticket": "LAB-9"}
PLAYBOOKS: dict[str, dict[str, Any]] = {
    "assign": {"ticket": "LAB-1"},
    "release": {"ticket": "LAB-0"},
    "cancel": PENDING,
    "entitlement": {"organization": "aurora", "addon_id": "gpu-h100-vm", "quantity": 5},
    "transition": {"node": "acc-01", "from_mode": "pod-hami", "to_mode": "vm-passthrough"},
}
AROUND = {
    "tags": ("--tags", "nothing"),
    "skip-tags": ("--skip-tags", "all"),
    "limit": ("--limit", "elsewhere"),
}
MIDDLES = {
    "assign": (
        "Acquire the profile pool's change lock",
        "Commit the pending ledger record first",
        "Assign the exact operator-only add-on quantity, and wait for HRQ and Organization status",
        "Commit the ledger state active",
        "Let go of the creation gate",
    ),
    "release": (
        "Set the ledger state to releasing",
        "Reduce the add-on, and wait for HRQ and Organization status",
        "Commit the ledger state released",
        "Let go of the pool's lock",
    ),
    "cancel": ("Commit the ledger state canceled", "Let go of the creation gate"),
    "entitlement": ("Change the add-on, and wait for HRQ and Organization status",),
    "transition": ("Let go of the creation gates",),
}
WAYS = [
    *(pytest.param("assign", arguments, id=f"assign-{name}") for name, arguments in AROUND.items()),
    *(
        pytest.param(playbook, ("--start-at-task", task), id=f"{playbook}-from-{task}")
        for playbook, middles in MIDDLES.items()
        for task in middles
    ),
]
MADE_UP = {
    "assign_plan": {
        "allowed": True,
        "run_id": "01MADEUP",
        "order": {"profileId": "h100-vm", "project": ""},
        "to_do": dict.fromkeys(("run", "hold"), True)
        | dict.fromkeys(("prove", "propose", "await_review", "project_cap", "smoke", "smoke_cleanup"), False),
        "smoke": {"namespace": "aurora-vision", "resource": ""},
        "summary": [],
        "msg": "",
        "failure_event": {"next_action": "none"},
    }
}
"""A plan that says yes, given from outside; LAB-2, which does not fit, is let through by it."""


@pytest.fixture(scope="module")
def lab(told_lab: CapacityLab) -> CapacityLab:
    """The fixture with one more pending record, which can be canceled."""
    told_lab.commit(f"{LEDGER}/records/gpu-res-lab-9.yaml", pending_text(devices="1"))
    return told_lab


@pytest.mark.parametrize(("playbook", "arguments"), WAYS)
def test_a_run_that_leaves_out_its_gates_writes_nothing(
    lab: CapacityLab, playbook: str, arguments: tuple[str, ...]
) -> None:
    refs, entitlements = lab.refs(), lab.entitlements()
    with lab.mutations() as written:
        run = lab.playbook(playbook, *arguments, **PLAYBOOKS[playbook])
    assert "--start-at-task" not in arguments or run.code != 0, run.output
    assert written == []
    assert (lab.refs(), lab.entitlements()) == (refs, entitlements)


@pytest.mark.parametrize("task", [MIDDLES["assign"][1], MIDDLES["assign"][2], MIDDLES["assign"][3]])
def test_an_answer_made_up_does_not_open_the_middle(lab: CapacityLab, task: str) -> None:
    refs, entitlements = lab.refs(), lab.entitlements()
    with lab.mutations() as written:
        run = lab.assign("LAB-2", "-e", json.dumps(MADE_UP), "--start-at-task", task)
    assert run.code != 0
    assert written == []
    assert (lab.refs(), lab.entitlements()) == (refs, entitlements)


def test_under_a_plan_made_up_the_modules_prove_it_themselves(lab: CapacityLab) -> None:
    """Even where the pool is locked for the ticket the record is refused, and everything is put back."""
    entitlements, files = lab.entitlements(), lab.git("rev-parse", "main^{tree}")
    run = lab.assign("LAB-2", "-e", json.dumps(MADE_UP))
    assert run.code != 0
    assert "lacks" in run.output
    assert lab.record("lab-2") is None
    assert lab.entitlements() == entitlements
    assert lab.git("rev-parse", "main^{tree}") == files
    assert lab.lock()["pools"] == {}


def test_without_the_check_of_its_arguments_the_answer_is_the_same(lab: CapacityLab) -> None:
    refs = lab.refs()
    with lab.mutations() as written:
        run = lab.assign("LAB-2", "--skip-tags", "always")
    assert run.code != 0
    assert "lacks" in run.output
    assert written == []
    assert lab.refs() == refs
