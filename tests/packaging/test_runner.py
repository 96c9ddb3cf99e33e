# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""ansible-runner runs the installed collection, and keeps what happened."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from .conftest import CHECKOUT, Run

DEVICE = re.compile(r"GPU-[0-9a-f]{8}-|\b[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\b", re.IGNORECASE)


@pytest.fixture(scope="module")
def artifacts(run: Run, installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The artifacts of one review on the saved snapshot."""
    private = tmp_path_factory.mktemp("runner")
    (private / "env").mkdir()
    variables = {"ticket": "LAB-1", "snapshot": str(CHECKOUT / "examples" / "try" / "snapshot.json")}
    (private / "env" / "extravars").write_text(json.dumps(variables))
    (private / "env" / "cmdline").write_text("--check --diff")
    (private / "project").mkdir()
    run(
        "ansible-runner",
        "run",
        str(private),
        "--playbook",
        "gpuops.reservations.assign",
        "--ident",
        "review",
        ANSIBLE_COLLECTIONS_PATH=str(installed),
        ANSIBLE_LOCALHOST_WARNING="false",
        ANSIBLE_INVENTORY_UNPARSED_WARNING="false",
    )
    return private / "artifacts" / "review"


def test_the_artifacts_say_how_it_ended(artifacts: Path) -> None:
    assert (artifacts / "rc").read_text() == "0"
    assert (artifacts / "status").read_text() == "successful"
    assert "headroom 9" in (artifacts / "stdout").read_text()


def test_there_is_one_event_for_each_task_and_none_failed(artifacts: Path) -> None:
    events = [json.loads(path.read_text()) for path in (artifacts / "job_events").glob("*.json")]
    kinds = {event["event"] for event in events}
    assert {"playbook_on_start", "runner_on_ok", "playbook_on_stats"} <= kinds
    assert not kinds & {"runner_on_failed", "runner_on_unreachable"}
    answers = [event["event_data"].get("res", {}) for event in events if event["event"] == "runner_on_ok"]
    plans = [answer for answer in answers if "phases" in answer]
    assert plans
    assert all(plan["allowed"] and plan["changed"] is False for plan in plans)


def test_no_artifact_holds_a_device_identifier(artifacts: Path) -> None:
    for path in artifacts.rglob("*"):
        if path.is_file():
            assert not DEVICE.search(path.read_text(errors="replace")), path.name
