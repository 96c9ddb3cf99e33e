# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an execution environment collects is enough: with it alone every module imports, and a review runs."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import ansible_collections.kubernetes
import ansible_collections.kubevirt
import pytest
import yaml
from ansible.release import __version__ as ansible_version

from .conftest import BIN, CHECKOUT, Run, clean_environment

SIBLINGS = {
    "kubernetes": ansible_collections.kubernetes.__path__[0],
    "kubevirt": ansible_collections.kubevirt.__path__[0],
}
PACKAGE = "ansible_collections.gpuops.reservations.plugins.modules"
OURS = "from collection gpuops.reservations"
MODULES = sorted(path.stem for path in (CHECKOUT / "plugins" / "modules").glob("gpu_*.py"))


@pytest.fixture(scope="module")
def collections(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The collections of the execution environment: this one and the two that it depends on."""
    path = tmp_path_factory.mktemp("environment") / "collections"
    shutil.copytree(installed, path)
    for namespace, source in SIBLINGS.items():
        shutil.copytree(source, path / "ansible_collections" / namespace)
    return path


@pytest.fixture(scope="module")
def collected(run: Run, collections: Path) -> dict[str, Any]:
    """What ansible-builder finds that these collections need."""
    answer = yaml.safe_load(run("ansible-builder", "introspect", str(collections)).stdout)
    assert isinstance(answer, dict)
    return answer


@pytest.fixture(scope="module")
def python(collected: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with ansible-core and what was collected, and nothing else."""
    folder = tmp_path_factory.mktemp("fresh")
    needed = folder / "requirements.txt"
    needed.write_text("".join(f"{line}\n" for line in collected["python"]))
    install = [str(BIN / "uv"), "pip", "install", "--quiet", "--python", str(folder / "venv")]
    for command in (
        [sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")],
        [*install, f"ansible-core=={ansible_version}", "-r", str(needed)],
    ):
        subprocess.run(command, check=True, timeout=600)
    return folder / "venv" / "bin" / "python"


def test_the_definition_makes_a_build_context(run: Run, tarball: Path, tmp_path: Path) -> None:
    shutil.copy(CHECKOUT / "execution-environment.yml", tmp_path)
    shutil.copy(tarball, tmp_path)
    run("ansible-builder", "create", "--context", "context", cwd=tmp_path)
    assert (tmp_path / "context" / "_build" / "files" / tarball.name).is_file()
    asked = yaml.safe_load((tmp_path / "context" / "_build" / "requirements.yml").read_text(encoding="utf-8"))
    ours = yaml.safe_load((CHECKOUT / "requirements.yml").read_text(encoding="utf-8"))["collections"]
    assert [entry for entry in asked["collections"] if entry["name"] != f"files/{tarball.name}"] == ours


def test_libraries_and_programs_are_collected(collected: dict[str, Any]) -> None:
    ours = {kind: [line for line in collected[kind] if OURS in line] for kind in ("python", "system")}
    libraries = {re.split(r"[>=< ]", line)[0] for line in ours["python"]}
    assert libraries == {"kubernetes", "pydantic", "jmespath"}  # PyYAML comes with ansible-core
    assert {line.split()[0] for line in ours["system"]} == {"git", "openssh-client", "openssh-clients"}


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_with_what_was_collected(python: Path, collections: Path, module: str) -> None:
    done = subprocess.run(
        [str(python), "-c", f"from {PACKAGE} import {module}; {module}.main"],
        env={"PYTHONPATH": str(collections), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_review_runs_with_what_was_collected(python: Path, collections: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [
            str(python.parent / "ansible-playbook"),
            "gpuops.reservations.assign",
            "--check",
            "-e",
            "ticket=LAB-1",
            "-e",
            f"snapshot={CHECKOUT / 'examples' / 'try' / 'snapshot.json'}",
        ],
        env=clean_environment(
            tmp_path,
            PATH=f"{python.parent}:/usr/bin:/bin",
            ANSIBLE_COLLECTIONS_PATH=str(collections),
        ),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "headroom 9" in done.stdout
    assert "changed=0" in done.stdout
