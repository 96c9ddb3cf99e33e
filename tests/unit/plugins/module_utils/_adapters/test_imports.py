# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Adapters import without any third-party library, and without paying for one that is not needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = "ansible_collections.gpuops.reservations.plugins.module_utils._adapters"
FOLDER = Path(__file__).parents[5] / "plugins" / "module_utils" / "_adapters"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")
SCRIPT = """
import importlib, sys
for library in sys.argv[2].split(","):
    sys.modules[library] = None
for name in sys.argv[1].split(","):
    importlib.import_module(name)
loaded = {name for name, module in sys.modules.items() if module}
print(sorted({"kubernetes", "urllib3", "requests"} & loaded))
"""


@pytest.mark.parametrize("absent", ["pydantic", "kubernetes,urllib3,yaml,jmespath,requests", "nothing"])
def test_every_adapter_imports(absent: str) -> None:
    names = ",".join(f"{PACKAGE}.{name}" for name in NAMES)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, names, absent],
        env={"PYTHONPATH": ":".join(sys.path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout == "[]\n"
