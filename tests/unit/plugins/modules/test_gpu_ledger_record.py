# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_ledger_record: each state once, after its gate, on what was proved."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.callsites import (
    watched_by,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.capacity_world import (
    CapacityWorld,
    smoke_result,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.capacity.stages import (
    POOL,
    RECORD_FILE,
    RUN,
    SURVEY,
    When,
    entitled,
    locked,
    pending,
    pending_text,
)

PENDING = {"state": "pending", "order": SURVEY, **RUN}
ACTIVE = {"state": "active", **RUN}
RECORD_KEYS = {
    "": ["apiVersion", "kind", "metadata", "spec", "status"],
    "metadata": ["id"],
    "spec": [
        "organization", "project", "profileId", "devices", "state", "requestedAt", "startsAt", "endsAt",
        "addonId", "billingReference", "approvedBy",
    ],
    "status": ["activatedAt", "releasedAt", "evidenceRevision", "reason"],
}  # fmt: skip


def sealed(world: CapacityWorld, **smoke: Any) -> str:
    """Evidence with a passed smoke cycle."""
    ran = world.run("gpu_evidence", state="sealed", smoke=smoke or dict(smoke_result()), plan={}, **RUN)
    assert not ran.failed, ran.msg
    revision: str = ran.result["evidence_revision"]
    return revision


def test_pending_is_the_runbooks_record_key_for_key(world: CapacityWorld) -> None:
    ran = locked(world).run("gpu_ledger_record", **PENDING)
    assert not ran.failed, ran.msg
    record = world.record("lab-9")
    assert record is not None
    assert record == ran.result["record"]
    assert list(record) == RECORD_KEYS[""]
    for part in ("metadata", "spec", "status"):
        assert list(record[part]) == RECORD_KEYS[part]
    assert record["spec"]["approvedBy"] == {"product": "p.owner", "sre": "s.owner"}
    assert record["status"] == {
        "activatedAt": "", "releasedAt": "", "evidenceRevision": "", "reason": "awaiting-activation",
    }  # fmt: skip
    assert world.subjects() == ["gpu-res-lab-9: pending"]
    assert world.lock()["pools"][POOL]["step"] == "pending"
    assert world.refs()["refs/heads/main"] == ran.result["revision"]
    [diff] = ran.result["diff"]
    assert (diff["before"], yaml.safe_load(diff["after"])) == ("", record)
    assert world.server.writes == []


def test_pending_twice_is_once(world: CapacityWorld) -> None:
    locked(world).run("gpu_ledger_record", **PENDING)
    with world.untouched():
        ran = world.run("gpu_ledger_record", **PENDING)
    assert (ran.failed, ran.result["changed"], ran.result["plan"]) == (False, False, [])


def test_check_mode_proves_the_same_and_commits_nothing(world: CapacityWorld) -> None:
    locked(world)
    with world.untouched():
        planned = world.run("gpu_ledger_record", check=True, **PENDING)
    read = set(world.server.reads)
    world.server.reads.clear()
    made = world.run("gpu_ledger_record", **PENDING)
    assert set(world.server.reads) == read
    assert planned.result["plan_digest"] == made.result["plan_digest"]
    assert planned.result["diff"] == made.result["diff"]
    assert planned.result["checks"] == made.result["checks"]


def test_an_order_that_does_not_fit_is_not_recorded(world: CapacityWorld) -> None:
    locked(world)
    with world.untouched():
        ran = world.run("gpu_ledger_record", **{**PENDING, "order": {**SURVEY, "devices": "18"}})
    assert ran.failed
    assert ran.code == "order-exceeds-capacity"
    assert "lacks 1 devices" in ran.msg
    assert ran.result["remedies"]


def test_a_record_merged_meanwhile_is_counted_before_ours_is_written(world: CapacityWorld) -> None:
    """The race that the guarded commit exists for: both would fit alone, together they do not."""
    locked(world)
    other = pending_text(organization="aurora", devices="12").replace("gpu-res-lab-9", "gpu-res-lab-7")
    path = "gpu-reservations/lab/records/gpu-res-lab-7.yaml"
    with watched_by(When("fleet push", lambda: world.commit_file(path, other))):
        ran = world.run("gpu_ledger_record", **PENDING)
    assert ran.failed
    assert ran.code == "order-exceeds-capacity"
    assert world.record("lab-9") is None


def test_a_harmless_commit_meanwhile_is_kept_and_ours_follows_it(world: CapacityWorld) -> None:
    locked(world)
    with watched_by(When("fleet push", lambda: world.commit_file("README.md", "hello\n"))):
        ran = world.run("gpu_ledger_record", **PENDING)
    assert not ran.failed, ran.msg
    assert world.file("README.md") == "hello\n"
    assert world.record("lab-9") is not None


def test_a_branch_that_never_stands_still_is_a_conflict_and_nothing_is_written(world: CapacityWorld) -> None:
    locked(world)
    moves = iter(range(1000))
    mover = When("fleet push", lambda: world.commit_file("README.md", f"{next(moves)}\n"), times=1000)
    with watched_by(mover):
        ran = world.run("gpu_ledger_record", **PENDING)
    assert ran.failed
    assert ran.result["error"]["class"] == "ConflictError"
    assert ran.result["changed"] is False
    assert world.record("lab-9") is None
    assert world.subjects() == []


@pytest.mark.parametrize(
    ("stage", "code"),
    [
        (lambda world: world, "lock-lost"),
        (lambda world: locked(world, run_id="02RUN"), "lock-lost"),
        (lambda world: locked(world, closed=False), "creation-open"),
    ],
)
def test_without_lock_and_closed_gate_nothing_is_recorded(
    world: CapacityWorld, stage: Any, code: str
) -> None:
    stage(world)
    with world.untouched():
        ran = world.run("gpu_ledger_record", **PENDING)
    assert ran.failed
    assert ran.code == code


def test_a_record_that_differs_from_the_order_is_not_taken_for_it(world: CapacityWorld) -> None:
    pending(world, devices="6")
    with world.untouched():
        ran = world.run("gpu_ledger_record", **PENDING)
    assert ran.failed
    assert ran.code == "record-differs"


def test_active_needs_what_it_says(world: CapacityWorld) -> None:
    entitled(world)
    revision = sealed(world)
    ran = world.run("gpu_ledger_record", evidence_revision=revision, **ACTIVE)
    assert not ran.failed, ran.msg
    record = world.record("lab-9")
    assert record is not None
    assert record["spec"]["state"] == "active"
    assert record["status"]["evidenceRevision"] == revision
    assert record["status"]["activatedAt"] == world.server.date + "Z"
    with world.untouched():
        again = world.run("gpu_ledger_record", evidence_revision=revision, **ACTIVE)
    assert again.result["changed"] is False


def test_active_is_refused_before_quota_shows_the_entitlement(world: CapacityWorld) -> None:
    pending(world)
    revision = sealed(world)
    with world.untouched():
        ran = world.run("gpu_ledger_record", evidence_revision=revision, **ACTIVE)
    assert ran.failed
    assert ran.code in {"entitlement-not-converged", "entitlement-converging"}
    record = world.record("lab-9")
    assert record is not None
    assert record["spec"]["state"] == "pending"


def test_active_is_refused_without_a_smoke_cycle_that_passed(world: CapacityWorld) -> None:
    entitled(world)
    failed = {**smoke_result(), "restarted": {"passed": False, "checks": [], "uid": "two"}}
    revision = sealed(world, **failed)
    with world.untouched():
        ran = world.run("gpu_ledger_record", evidence_revision=revision, **ACTIVE)
    assert ran.failed
    assert ran.code == "smoke-not-passed"


def test_active_is_refused_without_evidence_or_with_altered_evidence(world: CapacityWorld) -> None:
    entitled(world)
    with world.untouched():
        none = world.run("gpu_ledger_record", evidence_revision="sha256:" + "0" * 64, **ACTIVE)
    assert none.failed
    revision = sealed(world)
    [smoke] = world.evidence.rglob("smoke.json")
    smoke.write_bytes(smoke.read_bytes().replace(b"one", b"ONE"))
    with world.untouched():
        ran = world.run("gpu_ledger_record", evidence_revision=revision, **ACTIVE)
    assert ran.failed
    assert ran.code == "evidence-not-verified"
    assert "smoke.json" in ran.msg


def test_a_review_pushes_a_proposal_and_nothing_else(world: CapacityWorld) -> None:
    world.edit_policy(reviewMode="branch")
    before = world.refs()
    ran = world.run("gpu_ledger_record", state="proposed", order=SURVEY, **RUN)
    assert not ran.failed, ran.msg
    assert "awaiting review" in ran.msg
    after = world.refs()
    branch = "refs/heads/gpu-proposal/lab/gpu-res-lab-9"
    assert {name for name in after if after[name] != before.get(name)} == {branch}
    assert world.file(RECORD_FILE, branch.removeprefix("refs/heads/")) == pending_text()
    with world.untouched():
        assert (
            world.run("gpu_ledger_record", state="proposed", order=SURVEY, **RUN).result["changed"] is False
        )


def test_with_review_pending_is_not_written_by_us(world: CapacityWorld) -> None:
    locked(world).edit_policy(reviewMode="branch")
    with world.untouched():
        ran = world.run("gpu_ledger_record", **PENDING)
    assert ran.failed
    assert ran.code == "awaiting-review"


CANARIES = {
    "device UUID": "GPU-6f0d1c9e-1111-2222-3333-444455556666",
    "PCI address": "0000:3b:00.0",
    "card number": "4111111111111111",
    "token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
}


@pytest.mark.parametrize("canary", CANARIES.values(), ids=CANARIES)
def test_nothing_physical_or_secret_gets_into_a_record(world: CapacityWorld, canary: str) -> None:
    locked(world)
    with world.untouched():
        ran = world.run("gpu_ledger_record", **{**PENDING, "order": {**SURVEY, "billingReference": canary}})
    assert ran.failed
    assert canary not in json.dumps(ran.result)
    assert "billingReference" in ran.msg
