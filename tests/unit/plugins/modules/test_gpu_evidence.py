# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_evidence: sealed once, restricted, chained, and every altered byte is named."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.capacity_world import (
    CapacityWorld,
    smoke_result,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.stages import (
    RUN,
    RUN_ID,
    TICKET,
    pending,
)

SEAL: dict[str, Any] = {"state": "sealed", "plan": {"a": 1}, "reports": {"after": {}}, **RUN}
FILES = {
    "alerts.json", "manifest.json", "plan.json", "record.json", "reports.json", "smoke.json", "snapshot.json",
    "versions.json",
}  # fmt: skip


def seal(world: CapacityWorld, **more: Any) -> Any:
    ran = world.run("gpu_evidence", **{**SEAL, "smoke": dict(smoke_result()), **more})
    assert not ran.failed, ran.msg
    return ran


def test_a_bundle_holds_everything_and_only_its_owner_reaches_it(world: CapacityWorld) -> None:
    pending(world)
    before = world.events()
    ran = seal(world)
    assert ran.result["changed"]
    bundle = world.evidence / "gpu-res-lab-9" / RUN_ID
    assert {path.name for path in bundle.iterdir()} == FILES
    assert {path.stat().st_mode & 0o777 for path in bundle.iterdir()} == {0o600}
    assert bundle.stat().st_mode & 0o777 == bundle.parent.stat().st_mode & 0o777 == 0o700
    versions = json.loads((bundle / "versions.json").read_text())
    assert versions["kubernetes"] == "v1.36.3"
    assert versions["fleet"] == world.refs()["refs/heads/main"]
    assert json.loads((bundle / "record.json").read_text())["spec"]["approvedBy"] == {
        "product": "p.owner",
        "sre": "s.owner",
    }
    assert world.events() == before


def test_the_same_run_seals_once(world: CapacityWorld) -> None:
    pending(world)
    first = seal(world)
    with world.untouched():
        again = seal(world)
    assert again.result["evidence_revision"] == first.result["evidence_revision"]
    assert again.result["changed"] is False


def test_check_mode_reads_the_same_and_seals_nothing(world: CapacityWorld) -> None:
    pending(world)
    with world.untouched():
        planned = world.run("gpu_evidence", check=True, **SEAL)
    read = set(world.server.reads)
    assert (planned.failed, planned.result["changed"]) == (False, True)
    world.server.reads.clear()
    made = seal(world)
    assert set(world.server.reads) == read
    assert planned.result["plan_digest"] == made.result["plan_digest"]


def test_a_chain_verifies_and_one_byte_is_named(world: CapacityWorld) -> None:
    pending(world)
    seal(world)
    revision = seal(world, run_id="02RUN").result["evidence_revision"]
    asked = {"state": "verified", "ticket": TICKET, "evidence_revision": revision}
    good = world.run("gpu_evidence", **asked)
    assert (good.failed, good.result["verified"], good.result["altered"]) == (False, True, [])
    target = world.evidence / "gpu-res-lab-9" / RUN_ID / "plan.json"
    content = bytearray(target.read_bytes())
    content[-3] ^= 1
    target.write_bytes(content)
    bad = world.run("gpu_evidence", **asked)
    assert bad.failed
    assert bad.code == "evidence-not-verified"
    assert bad.result["verified"] is False
    assert [name for name in bad.result["altered"] if name.endswith(f"{RUN_ID}/plan.json")]
    assert "plan.json" in bad.msg


def test_a_revision_that_no_bundle_has_does_not_verify(world: CapacityWorld) -> None:
    pending(world)
    seal(world)
    ran = world.run("gpu_evidence", state="verified", ticket=TICKET, evidence_revision="sha256:" + "0" * 64)
    assert ran.failed
    assert ran.result["verified"] is False


def test_without_a_revision_the_records_own_is_verified(world: CapacityWorld) -> None:
    pending(world)
    ran = world.run("gpu_evidence", state="verified", ticket=TICKET)
    assert ran.failed
    assert ran.code == "evidence-not-recorded"


@pytest.mark.parametrize("mode", [0o755, 0o750])
def test_a_folder_that_others_reach_is_refused(world: CapacityWorld, mode: int) -> None:
    pending(world)
    world.evidence.chmod(mode)
    ran = world.run("gpu_evidence", **SEAL)
    assert ran.failed
    assert ran.code == "evidence-dir-open"
    assert list(world.evidence.iterdir()) == []


def test_a_folder_that_is_not_there_is_not_made(world: CapacityWorld) -> None:
    pending(world)
    nowhere = world.folder / "nowhere"
    ran = world.run("gpu_evidence", **{**SEAL, "evidence_dir": str(nowhere)})
    assert ran.failed
    assert ran.code == "evidence-dir-missing"
    assert not nowhere.exists()


def test_a_world_that_cannot_be_read_is_not_sealed(world: CapacityWorld) -> None:
    pending(world)
    world.server.failing["/api/v1/nodes"] = 403
    with world.untouched():
        ran = world.run("gpu_evidence", **SEAL)
    assert ran.failed


def test_a_failure_is_sealed_beside_what_the_run_sealed_before(world: CapacityWorld) -> None:
    pending(world)
    seal(world)
    seal(world, failure={"msg": "no"})
    names = {path.name for path in (world.evidence / "gpu-res-lab-9").iterdir() if path.is_dir()}
    assert names == {RUN_ID, f"{RUN_ID}-failed"}
