# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The units that run the audit daily: systemd takes them, and they ask for what the runbook wants."""

from __future__ import annotations

import configparser
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .guide_examples import GUIDES, playbook_call
from .test_examples import accepted

UNITS = Path(__file__).resolve().parents[3] / "examples" / "systemd"
ANALYZE = shutil.which("systemd-analyze")


def unit(name: str) -> configparser.ConfigParser:
    """A unit's settings; systemd's names are sensitive to case."""
    parser = configparser.ConfigParser(interpolation=None, delimiters=("=",))
    parser.optionxform = str  # type: ignore[method-assign, assignment]
    parser.read_string((UNITS / name).read_text(encoding="utf-8"))
    return parser


def test_the_service_audits_all_pools_and_closes_what_a_failure_asks_for() -> None:
    command = unit("gpuops-audit.service")["Service"]["ExecStart"].replace("%S", "/var/lib")
    call = playbook_call(shlex.join(["ansible-playbook", *shlex.split(command)[1:]]))
    assert call is not None
    assert call.playbook == "audit"
    assert call.variables == {"enforce": "true", "report_dir": "/var/lib/gpuops"}
    assert call.variables.keys() <= accepted("audit").keys()


def test_it_fails_when_the_audit_does_and_leaves_its_reports_to_nobody_else() -> None:
    service = unit("gpuops-audit.service")["Service"]
    assert service["Type"] == "oneshot", "the exit code is the unit's"
    assert "SuccessExitStatus" not in service
    assert not service["ExecStart"].startswith(("-", "+", "!"))
    assert (service["StateDirectoryMode"], service["UMask"]) == ("0700", "0077")
    assert service["User"] not in ("", "root")


def test_the_timer_runs_daily_and_catches_up() -> None:
    timer = unit("gpuops-audit.timer")
    assert timer["Timer"]["OnCalendar"].startswith("*-*-* ")
    assert timer["Timer"]["Persistent"] == "true"
    assert timer["Install"]["WantedBy"] == "timers.target"


def test_the_guide_names_both() -> None:
    guide = (GUIDES / "guide_audit.rst").read_text(encoding="utf-8")
    for path in UNITS.iterdir():
        assert f"examples/systemd/{path.name}" in guide


@pytest.mark.skipif(ANALYZE is None, reason="needs systemd-analyze, which judges units")
def test_systemd_takes_them(tmp_path: Path) -> None:
    for path in UNITS.iterdir():
        text = path.read_text(encoding="utf-8")
        (tmp_path / path.name).write_text(text.replace("/opt/gpuops/bin/ansible-playbook", sys.executable))
    done = subprocess.run(
        [str(ANALYZE), "verify", *(str(path) for path in sorted(tmp_path.iterdir()))],
        capture_output=True,
        text=True,
        check=False,
    )
    ours = [line for line in done.stderr.splitlines() if "gpuops-audit" in line]
    assert (done.returncode, ours) == (0, []), done.stderr
