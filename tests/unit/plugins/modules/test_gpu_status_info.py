# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_status_info: the sentence that is true now, and words that a plain add-on may not use."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.tenant_wording import (
    ENTITLEMENT,
    RESERVATION,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.capacity_world import CapacityWorld
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.stages import pending


def test_an_active_record_is_reserved_capacity(world: CapacityWorld) -> None:
    with world.untouched():
        ran = world.run("gpu_status_info", ticket="LAB-0")
    assert (ran.result["title"], ran.result["sentence"]) == ("Reserved GPU capacity", RESERVATION)
    assert ran.result["record"]["metadata"]["id"] == "gpu-res-lab-0"
    assert any("gpu-res-lab-0 is active" in line for line in ran.result["summary"])


@pytest.mark.parametrize("ticket", ["LAB-9", "NONE-1"])
def test_without_an_active_record_nothing_is_called_reserved(world: CapacityWorld, ticket: str) -> None:
    pending(world)
    ran = world.run("gpu_status_info", ticket=ticket)
    assert (ran.result["title"], ran.result["sentence"]) == ("GPU entitlement", ENTITLEMENT)


def test_an_invalid_ledger_says_nothing(world: CapacityWorld) -> None:
    world.commit_file("gpu-reservations/lab/records/gpu-res-x.yaml", "kind: nothing\n")
    ran = world.run("gpu_status_info", ticket="LAB-0")
    assert (ran.failed, ran.code) == (True, "ledger-invalid")


def test_refused_words_are_named_with_their_line(world: CapacityWorld, tmp_path: Path) -> None:
    copy = tmp_path / "copy.md"
    copy.write_text("Fast GPUs.\nCapacity is guaran-teed\nand always\navailable.\n", encoding="utf-8")
    ran = world.run("gpu_status_info", check_copy=str(copy))
    assert ran.result["passed"] is False
    found = [(entry["line"], entry["word"]) for entry in ran.result["refused"]]
    assert found == [(2, "guaranteed"), (3, "always available")]
    assert f"{copy}:2" in ran.msg


def test_honest_copy_passes(world: CapacityWorld, tmp_path: Path) -> None:
    copy = tmp_path / "copy.md"
    copy.write_text(ENTITLEMENT, encoding="utf-8")
    ran = world.run("gpu_status_info", check_copy=str(copy))
    assert (ran.failed, ran.result["passed"], ran.result["refused"]) == (False, True, [])


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_a_text_that_cannot_be_read_is_no_yes(
    world: CapacityWorld, tmp_path: Path, content: bytes | None
) -> None:
    copy = tmp_path / "copy.md"
    if content is not None:
        copy.write_bytes(content)
    ran = world.run("gpu_status_info", check_copy=str(copy))
    assert (ran.failed, ran.code) == (True, "copy-unreadable")
