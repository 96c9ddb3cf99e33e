# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What read-only modules return on the saved snapshot is what their documentation says."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from ansible_collections.gpuops.reservations.tests.unit.docs.return_documentation import differences, results

from .conftest import CHECKOUT, Run

SNAPSHOT = str(CHECKOUT / "examples" / "try" / "snapshot.json")
CALLS = {
    "gpu_plan_info": {"action": "assign", "ticket": "LAB-1"},
    "gpu_invariant": {"profile_id": "h100-vm"},
    "gpu_ledger_info": {},
    "gpu_holders_info": {"profile_id": "h100-vm"},
    "gpu_audit": {},
}


@pytest.mark.parametrize("module", sorted(CALLS))
def test_a_result_is_as_documented(run: Run, installed: Path, tmp_path: Path, module: str) -> None:
    task = {f"gpuops.reservations.{module}": {**CALLS[module], "snapshot": SNAPSHOT}}
    play = [{"hosts": "localhost", "gather_facts": False, "tasks": [task]}]
    (tmp_path / "play.yml").write_text(yaml.safe_dump(play))
    done = run(
        "ansible-playbook",
        str(tmp_path / "play.yml"),
        ANSIBLE_COLLECTIONS_PATH=str(installed),
        ANSIBLE_STDOUT_CALLBACK="ansible.posix.json",
        ANSIBLE_LOCALHOST_WARNING="false",
        ANSIBLE_INVENTORY_UNPARSED_WARNING="false",
    )
    found = list(results(done.stdout))
    assert [name for name, _result in found] == [module]
    wrong = [difference for name, result in found for difference in differences(name, result)]
    assert not wrong, "\n" + "\n".join(wrong)
