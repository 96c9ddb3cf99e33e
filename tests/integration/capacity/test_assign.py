# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The main job by its playbook: refused, reviewed, carried out, run again. One story, told in order."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from ansible_collections.gpuops.reservations.tests.integration.capacity.assigned import (
    require_assigned,
    require_equation_always,
    survey,
)
from ansible_collections.gpuops.reservations.tests.integration.capacity.auditing import LiveModules
from ansible_collections.gpuops.reservations.tests.integration.capacity.capacity_lab import (
    LEDGER,
    LOCK_BRANCH,
    CapacityLab,
    Run,
)
from lab.platform import faults
from lab.platform.api import Api as PlatformApi

pytestmark = [pytest.mark.lab, pytest.mark.slow]

UUID = "GPU-6f0d1c9e-1111-2222-3333-444455556666"
PCI = "0000:3b:00.0"
CARD = "4111111111111111"
TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
CANARIES = (UUID, UUID.lower(), PCI, CARD, TOKEN)


def plant_canaries(lab: CapacityLab) -> None:
    """Identifiers where people and vendors leave them: names and annotations of nodes, names of alerts."""
    admin = lab.admin
    node = admin.get("/api/v1/nodes/gpu-01")
    annotations = {"vendor/devices": f"{UUID} at {PCI}", "note/card": CARD, "note/token": TOKEN}
    node["metadata"]["annotations"].update(annotations)
    admin.replace("/api/v1/nodes/gpu-01", node)
    amounts = {"nvidia.com/GH100_H100_SXM5_80GB": "8", "cpu": "1", "memory": "1Gi", "pods": "1"}
    admin.create(
        "/api/v1/nodes",
        {
            "metadata": {"name": UUID.lower(), "annotations": {"kwok.x-k8s.io/node": "fake"}},
            "spec": {"unschedulable": True},
            "status": {"capacity": amounts, "allocatable": amounts},
        },
    )
    faults.set_fault(PlatformApi(lab.lab.kubeconfig("admin")), alerts_firing=f"Vendor{UUID}")


@pytest.fixture(scope="module")
def lab(told_lab: CapacityLab) -> CapacityLab:
    plant_canaries(told_lab)
    return told_lab


def test_what_does_not_fit_is_refused_and_everything_is_as_before(lab: CapacityLab) -> None:
    refs, gate, entitlements = lab.refs(), lab.gate(), lab.entitlements()
    with lab.mutations() as written:
        run = lab.assign("LAB-2")
    assert run.code != 0
    assert "lacks 1 devices" in run.output
    assert re.search(r"add 1 healthy|reduce non-reserved entitlement of aurora by 1", run.output)
    assert written == []
    assert (lab.refs(), lab.gate(), lab.entitlements()) == (refs, gate, entitlements)


def test_check_mode_as_the_reader_proves_everything_and_writes_nothing(lab: CapacityLab) -> None:
    refs, entitlements = lab.refs(), lab.entitlements()
    with lab.mutations() as written:
        run = lab.assign("LAB-1", "--check", "--diff", identity="reader")
    assert run.code == 0, run.output
    assert run.recap["changed"] == 0
    assert written == []
    assert (lab.refs(), lab.entitlements()) == (refs, entitlements)
    for phase in ("qualify", "freeze", "prove", "hold", "entitle", "smoke", "activate", "let_go"):
        assert re.search(rf"(done|next|later)\s+{phase}", run.output), phase
    assert re.search(r"headroom +17 +9'", run.output)


@pytest.fixture(scope="module")
def assigned(lab: CapacityLab) -> Run:
    return lab.assign("LAB-1", "--diff")


def test_the_main_job_ends_active_with_everything_exact(lab: CapacityLab, assigned: Run) -> None:
    assert assigned.code == 0, assigned.output
    require_assigned(lab, "LAB-1")
    require_equation_always(lab)
    assert "billable from" in assigned.output


def test_the_pushed_record_is_the_runbooks_key_for_key(lab: CapacityLab, assigned: Run) -> None:
    record = lab.record("lab-1")
    assert record is not None
    assert list(record) == ["apiVersion", "kind", "metadata", "spec", "status"]
    assert record["metadata"] == {"id": "gpu-res-lab-1"}
    assert list(record["spec"]) == [
        "organization", "project", "profileId", "devices", "state", "requestedAt", "startsAt", "endsAt",
        "addonId", "billingReference", "approvedBy",
    ]  # fmt: skip
    assert list(record["status"]) == ["activatedAt", "releasedAt", "evidenceRevision", "reason"]
    order = yaml.safe_load(lab.file(f"{LEDGER}/orders/lab-1.yaml"))["spec"]
    assert (
        record["spec"].items() >= {key: order[key] for key in ("organization", "project", "devices")}.items()
    )


def test_the_evidence_verifies_and_one_byte_is_named(lab: CapacityLab, assigned: Run) -> None:
    record = lab.record("lab-1")
    assert record is not None
    bundles = [path for path in (lab.lab.evidence / "gpu-res-lab-1").iterdir() if path.is_dir()]
    assert len(bundles) == 1, "one bundle for one run"
    assert bundles[0].stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in bundles[0].iterdir()} == {0o600}
    assert verified(lab)["verified"] is True
    target = bundles[0] / "snapshot.json"
    content = target.read_bytes()
    target.write_bytes(content[:-2] + bytes([content[-2] ^ 1]) + content[-1:])
    told = verified(lab)
    assert (told["verified"], told["altered"]) == (False, [f"{bundles[0].name}/snapshot.json"])
    assert f"{bundles[0].name}/snapshot.json" in told["msg"]
    target.write_bytes(content)
    assert verified(lab)["verified"] is True


def verified(lab: CapacityLab) -> dict[str, Any]:
    """What gpu_evidence says of the record's chain."""
    ran = LiveModules(lab).run("gpu_evidence", state="verified", ticket="LAB-1")
    lab.printed.append(json.dumps(ran.result))
    return ran.result


def test_a_second_run_changes_nothing_and_closes_no_gate(lab: CapacityLab, assigned: Run) -> None:
    opened = lab.playbook("creation_gate", state="open", poll_interval=0.5)
    assert opened.code == 0, opened.output
    refs = lab.refs()
    with lab.mutations() as written:
        run = lab.assign("LAB-1")
    assert run.code == 0, run.output
    assert run.recap["changed"] == 0
    assert written == []
    assert lab.refs() == refs
    assert lab.gate() == "true"


def test_survey_variables_alone_are_an_order_and_reopen_opens_again(lab: CapacityLab, assigned: Run) -> None:
    assert lab.gate() == "true"
    run = lab.assign("SURVEY-1", reopen=True, **survey("aurora", 2))
    assert run.code == 0, run.output
    require_assigned(lab, "SURVEY-1", gate="true")
    require_equation_always(lab)


def test_nothing_physical_or_secret_was_written_or_printed(lab: CapacityLab, assigned: Run) -> None:
    assert LOCK_BRANCH in lab.refs()
    own = (lab.lab.root / "backend-token").read_text().strip()
    for text in (*lab.printed, lab.git("log", "-p", "--all")):
        for canary in (*CANARIES, own):
            assert canary not in text
    assert any(UUID.lower() in path.read_text() for path in lab.lab.evidence.rglob("snapshot.json"))
