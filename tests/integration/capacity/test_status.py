# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a tenant may be told: the sentence that is true now, and copy that promises too much."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.gpuops.reservations.tests.integration.capacity.assigned import survey
from ansible_collections.gpuops.reservations.tests.integration.capacity.auditing import LiveModules
from ansible_collections.gpuops.reservations.tests.integration.capacity.capacity_lab import CapacityLab
from ansible_collections.gpuops.reservations.tests.integration.capacity.put_back import put_back
from ansible_collections.gpuops.reservations.tests.integration.capacity.stepwise import recorded_here
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.returning import cancel, release

pytestmark = [pytest.mark.lab, pytest.mark.slow]

RESERVED = (
    "Reserved GPU capacity",
    (
        "This reservation holds fungible capacity for the named GPU profile and organization. It does not "
        "guarantee a particular device or host. Planned maintenance and hardware-failure terms apply."
    ),
)
ENTITLED = (
    "GPU entitlement",
    (
        "This add-on increases your concurrent GPU quota. It does not reserve idle physical capacity, so "
        "workloads may queue when matching devices are busy."
    ),
)


@pytest.fixture(scope="module")
def lab(told_lab: CapacityLab) -> CapacityLab:
    return told_lab


@pytest.fixture
def stage(lab: CapacityLab) -> Iterator[CapacityLab]:
    with put_back(lab):
        yield lab


def told(modules: LiveModules, ticket: str) -> tuple[str, str]:
    ran = modules.run("gpu_status_info", ticket=ticket)
    assert not ran.failed, ran.msg
    return ran.result["title"], ran.result["sentence"]


def test_the_reserved_sentence_is_told_of_an_active_record_alone(stage: CapacityLab) -> None:
    modules = LiveModules(stage)
    assert told(modules, "LAB-0") == RESERVED
    assert told(modules, "NOBODY-1") == ENTITLED
    recorded_here(modules, "STATUS-1", **survey("borealis", 2))
    assert told(modules, "STATUS-1") == ENTITLED
    cancel(modules, "STATUS-1")
    assert told(modules, "STATUS-1") == ENTITLED
    release(modules, "LAB-0", wait_timeout=10)
    assert told(modules, "LAB-0") == ENTITLED


def test_the_playbook_says_it_to_a_reader(lab: CapacityLab) -> None:
    with lab.mutations() as wrote:
        run = lab.playbook("status", identity="reader", ticket="LAB-0")
    assert run.code == 0, run.output
    plain = " ".join(run.output.replace("'", "").split())
    assert RESERVED[0] in plain
    assert RESERVED[1] in plain
    assert wrote == []


def test_copy_for_a_plain_add_on_is_refused_by_line_and_word(lab: CapacityLab, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.md", tmp_path / "bad.md"
    good.write_text(f"# {ENTITLED[0]}\n\n{ENTITLED[1]}\n", encoding="utf-8")
    bad.write_text("# Your GPU\n\nA Re-\nserved GPU that is always available.\n", encoding="utf-8")
    passed = lab.playbook("status", identity="reader", check_copy=str(good))
    refused = lab.playbook("status", identity="reader", check_copy=str(bad))
    assert passed.code == 0, passed.output
    assert refused.code != 0
    assert f"{bad}:3" in refused.output
    for word in ("reserved", "always available"):
        assert f"'{word}'" in refused.output
