# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An assignment that fails on its way: what stands, who is paged, and what the last message says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.gpuops.reservations.tests.integration.capacity.assigned import require_assigned
from ansible_collections.gpuops.reservations.tests.integration.capacity.capacity_lab import (
    CONFIG_FILE,
    CapacityLab,
    Run,
)
from lab.platform import faults
from lab.platform.api import Api as PlatformApi

pytestmark = [pytest.mark.lab, pytest.mark.slow]

SMOKE = "borealis-ml/gpu-smoke-lab-1"
SHORT: dict[str, Any] = {"wait_timeout": 20, "smoke_timeout": 5}
OPENS_NO_MORE = f"""#!/bin/sh
while read -r old new name; do
    if git show "$new:{CONFIG_FILE}" 2>/dev/null | grep -q GPU_VM_CREATION_ENABLED=true; then
        echo "nobody opens the gate today" >&2
        exit 1
    fi
done
"""


def platform(lab: CapacityLab) -> PlatformApi:
    return PlatformApi(lab.lab.kubeconfig("admin"))


def last_message(run: Run) -> str:
    """What the failing task that ended the run says, on one line."""
    return " ".join(run.output[run.output.rindex("[ERROR]") :].split())


def hook(folder: Path, name: str, task: dict[str, Any]) -> str:
    path = folder / f"{name}.yml"
    path.write_text(yaml.safe_dump([{"name": name, **task}]), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def lab(told_lab: CapacityLab) -> CapacityLab:
    return told_lab


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hooks")


@pytest.fixture(scope="module")
def failed(lab: CapacityLab, told: Path) -> Run:
    """No device in the guest; one hook takes the evidence away, one fails, one is not there."""
    away = {"ansible.builtin.command": f"mv {lab.lab.evidence} {lab.lab.evidence}-away"}
    refuses = {"ansible.builtin.fail": {"msg": "the pager is down"}}
    tells = {"ansible.builtin.copy": {"dest": str(told / "event"), "content": "{{ gpuops_event | to_json }}"}}
    hooks = [
        hook(told, "away", away),
        hook(told, "refuses", refuses),
        str(told / "missing.yml"),
        hook(told, "tells", tells),
    ]
    faults.set_fault(platform(lab), guest_without_device=SMOKE)
    run = lab.assign("LAB-1", page_tasks=hooks, **SHORT)
    assert run.code != 0
    return run


def test_the_reason_and_the_way_on_are_said_last_whatever_else_fails(failed: Run) -> None:
    message = last_message(failed)
    assert "gpu-smoke-lab-1" in message
    assert "The record stays pending" in message
    assert "playbooks/assign.yml -e ticket=lab-1" in message
    assert "playbooks/cancel.yml -e ticket=lab-1" in message


def test_what_could_not_be_told_or_sealed_is_named(failed: Run) -> None:
    message = last_message(failed)
    assert "refuses.yml: the pager is down" in message
    assert "missing.yml" in message
    assert "Its evidence is not sealed:" in message


def test_every_hook_that_works_is_told_the_reason(failed: Run, told: Path) -> None:
    event = json.loads((told / "event").read_text(encoding="utf-8"))
    assert (event["kind"], event["ticket"], event["organization"]) == ("assign-failed", "lab-1", "borealis")
    assert "gpu-smoke-lab-1" in event["message"]
    assert "playbooks/cancel.yml" in event["next_action"]


def test_record_entitlement_gate_and_lock_stay_and_the_smoke_vm_is_gone(
    lab: CapacityLab, failed: Run
) -> None:
    record = lab.record("lab-1")
    assert record is not None
    assert record["spec"]["state"] == "pending"
    assert lab.add_ons("borealis")["gpu-h100-reserved"] == 8
    assert lab.gate() == "false"
    assert lab.lock()["pools"]["h100-vm"]["ticket"] == "lab-1"
    assert lab.smoke_machines() == []


def test_with_the_cause_gone_the_next_run_ends_it(lab: CapacityLab, failed: Run) -> None:
    shutil.move(f"{lab.lab.evidence}-away", lab.lab.evidence)
    faults.clear_faults(platform(lab))
    run = lab.assign("LAB-1", reopen=True)
    assert run.code == 0, run.output
    require_assigned(lab, "LAB-1", gate="true")


def test_a_no_before_the_record_puts_gate_and_lock_back(fresh_lab: CapacityLab) -> None:
    lab = fresh_lab
    before = lab.entitlements()
    faults.set_fault(platform(lab), freeze_deployment="*")
    run = lab.assign("LAB-1", wait_timeout=3)
    assert run.code != 0
    message = last_message(run)
    assert "deployment open" in message
    assert "pool h100-vm is let go of" in message
    assert (lab.gate(), lab.lock()["pools"], lab.record("lab-1")) == ("true", {}, None)
    assert lab.lock()["gate"]["vm"]["closedFor"] == []
    assert lab.entitlements() == before


def test_what_cannot_be_put_back_does_not_hide_the_reason(fresh_lab: CapacityLab) -> None:
    lab = fresh_lab
    refusing = lab.fleet / "hooks" / "pre-receive"
    refusing.write_text(OPENS_NO_MORE, encoding="utf-8")
    refusing.chmod(0o755)
    try:
        faults.set_fault(platform(lab), freeze_deployment="*")
        run = lab.assign("LAB-1", wait_timeout=3)
    finally:
        refusing.unlink()
    assert run.code != 0
    message = last_message(run)
    assert "deployment open" in message
    assert "are not both back as they were" in message
    assert "playbooks/lock.yml" in message
    assert lab.gate() == "false"
    assert lab.lock()["pools"]["h100-vm"]["ticket"] == "lab-1"
