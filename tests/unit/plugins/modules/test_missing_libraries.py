# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every module without a library that it needs, in a Python that really cannot import it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core import errors

COLLECTIONS = Path(errors.__file__.partition("ansible_collections")[0])
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
MODULES = Path(errors.__file__).resolve().parents[2] / "modules"
OURS = sorted(path.stem for path in MODULES.glob("gpu_*.py"))
RUN: dict[str, str | int] = {"ticket": "t", "run_id": "r"}
POOL: dict[str, str | int] = {"profile_id": "p"}
MANDATORY: dict[str, dict[str, str | int]] = {
    "gpu_addon": RUN,
    "gpu_entitlement": {**RUN, "organization": "o", "addon_id": "a", "quantity": 1},
    "gpu_evidence": {**RUN, "state": "sealed", "evidence_dir": "/nowhere"},
    "gpu_freeze": {**POOL, "state": "info"},
    "gpu_holders_info": POOL,
    "gpu_invariant": POOL,
    "gpu_ledger_record": {**RUN, "state": "active", "evidence_revision": "e", "evidence_dir": "/nowhere"},
    "gpu_node_mode": {"node": "n", "from_mode": "pod-hami", "to_mode": "vm-passthrough"},
    "gpu_placement_info": {"namespace": "n", "pod": "p"},
    "gpu_plan_info": {"action": "assign", "ticket": "t"},
    "gpu_project_cap": RUN,
    "gpu_release_info": {"ticket": "t"},
    "gpu_smoke_info": {**POOL, "stage": "gone", "name": "n", "namespace": "n"},
    "gpu_status_info": {"ticket": "t"},
}
DISTRIBUTION = {"pydantic": "pydantic", "kubernetes": "kubernetes", "yaml": "PyYAML", "jmespath": "jmespath"}


def test_every_module_is_tried() -> None:
    assert len(OURS) >= 20


@pytest.mark.parametrize("library", ["pydantic", "kubernetes"])
@pytest.mark.parametrize("module", OURS)
def test_the_usual_text_names_library_and_interpreter(module: str, library: str) -> None:
    arguments = {"cluster": "lab", **MANDATORY.get(module, {})}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, module, library, json.dumps(arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(COLLECTIONS)},
    )
    assert done.returncode != 0
    assert "Traceback" not in done.stderr, done.stderr
    result = json.loads(done.stdout)
    assert result["failed"] is True
    assert result.get("changed") is False, result["msg"]
    assert "Failed to import the required Python library" in result["msg"]
    assert DISTRIBUTION[library] in result["msg"]
    assert sys.executable in result["msg"]
    assert result["error"]["code"] == "dependency-missing"


@pytest.mark.parametrize("library", ["yaml", "jmespath"])
def test_the_libraries_of_the_policy_are_asked_for_too(library: str) -> None:
    test_the_usual_text_names_library_and_interpreter("gpu_invariant", library)
