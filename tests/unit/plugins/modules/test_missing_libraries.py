# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every module without a library that it needs, in a Python that really cannot import it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]
PROGRAM = """
import importlib, importlib.util, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == sys.argv[2]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: (
    None if name.partition(".")[0] == sys.argv[2] else find_spec(name, package)
)
from ansible.module_utils.testing import patch_module_args

with patch_module_args(__import__("json").loads(sys.argv[3])):
    importlib.import_module(
        f"ansible_collections.gpuops.reservations.plugins.modules.{sys.argv[1]}"
    ).main()
"""
MANDATORY = {
    "gpu_addon": {"ticket": "t", "run_id": "r"},
    "gpu_evidence": {"ticket": "t", "run_id": "r", "state": "sealed", "evidence_dir": "/nowhere"},
    "gpu_holders_info": {"profile_id": "p"},
    "gpu_invariant": {"profile_id": "p"},
    "gpu_ledger_record": {"ticket": "t", "run_id": "r", "state": "active", "evidence_revision": "e",
                          "evidence_dir": "/nowhere"},
    "gpu_plan_info": {"action": "assign", "ticket": "t"},
    "gpu_project_cap": {"ticket": "t", "run_id": "r"},
    "gpu_smoke_info": {"stage": "gone", "name": "n", "namespace": "n", "profile_id": "p"},
}  # fmt: skip
OURS = [
    "gpu_addon", "gpu_creation_gate", "gpu_evidence", "gpu_holders_info", "gpu_invariant", "gpu_ledger_info",
    "gpu_ledger_record", "gpu_lock", "gpu_plan_info", "gpu_project_cap", "gpu_smoke_info",
]  # fmt: skip
DISTRIBUTION = {"pydantic": "pydantic", "kubernetes": "kubernetes", "yaml": "PyYAML", "jmespath": "jmespath"}


@pytest.mark.parametrize("library", ["pydantic", "kubernetes"])
@pytest.mark.parametrize("module", OURS)
def test_the_usual_text_names_library_and_interpreter(module: str, library: str) -> None:
    arguments = {"cluster": "lab", **MANDATORY.get(module, {})}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, module, library, json.dumps(arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT / ".collections")},
        cwd=ROOT,
    )
    assert done.returncode != 0
    assert "Traceback" not in done.stderr, done.stderr
    result = json.loads(done.stdout)
    assert result["failed"] is True
    assert result["changed"] is False
    assert "Failed to import the required Python library" in result["msg"]
    assert DISTRIBUTION[library] in result["msg"]
    assert sys.executable in result["msg"]
    assert result["error"]["code"] == "dependency-missing"


@pytest.mark.parametrize("library", ["yaml", "jmespath"])
def test_the_libraries_of_the_policy_are_asked_for_too(library: str) -> None:
    test_the_usual_text_names_library_and_interpreter("gpu_invariant", library)
