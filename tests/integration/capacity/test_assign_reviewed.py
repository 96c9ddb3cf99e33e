# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""reviewMode branch: proposed before anything is locked, merged by a person, carried out as merged."""

from __future__ import annotations

import pytest

from ansible_collections.gpuops.reservations.tests.integration.capacity.capacity_lab import (
    LEDGER,
    CapacityLab,
)

pytestmark = [pytest.mark.lab, pytest.mark.slow]

PROPOSAL = "gpu-proposal/lab/gpu-res-lab-1"
RECORD = f"{LEDGER}/records/gpu-res-lab-1.yaml"


@pytest.fixture(scope="module")
def lab(told_lab: CapacityLab) -> CapacityLab:
    told_lab.edit_policy(reviewMode="branch")
    return told_lab


@pytest.mark.parametrize("again", [False, True])
def test_it_proposes_and_ends_awaiting_review(lab: CapacityLab, again: bool) -> None:
    before, gate, entitlements = lab.refs(), lab.gate(), lab.entitlements()
    with lab.mutations() as written:
        run = lab.assign("LAB-1")
    assert run.code == 0, run.output
    assert "awaiting review" in run.output
    after = lab.refs()
    assert {name for name in after if after[name] != before.get(name)} == (set() if again else {PROPOSAL})
    assert (written, lab.gate(), lab.entitlements()) == ([], gate, entitlements)
    assert lab.lock()["pools"] == {}


def test_something_else_that_was_merged_is_refused(lab: CapacityLab) -> None:
    before = lab.file(f"{LEDGER}/policy.yaml")
    proposed = lab.file(RECORD, PROPOSAL)
    lab.commit(RECORD, proposed.replace("devices: 8", "devices: 6"))
    refs, entitlements = lab.refs(), lab.entitlements()
    run = lab.assign("LAB-1")
    assert run.code != 0
    assert "gpu-res-lab-1" in run.output
    assert (lab.entitlements(), lab.refs()) == (entitlements, refs)
    lab.commit(RECORD, None)
    assert lab.file(f"{LEDGER}/policy.yaml") == before


def test_what_was_merged_as_proposed_is_carried_out(lab: CapacityLab) -> None:
    lab.commit(RECORD, lab.file(RECORD, PROPOSAL))
    run = lab.assign("LAB-1")
    assert run.code == 0, run.output
    record = lab.record("LAB-1")
    assert record is not None
    assert record["spec"]["devices"] == 8
    assert lab.add_ons("borealis")["gpu-h100-reserved"] == 8
    assert lab.lock()["pools"] == {}
