# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What users download holds what they need and nothing else, and works from where it is installed."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
import yaml

from .conftest import CHECKOUT, Run

FOR_USERS = {
    "CHANGELOG.rst", "FILES.json", "LICENSE", "MANIFEST.json", "README.md", "awx", "bindep.txt", "changelogs",
    "docs", "extensions", "meta", "playbooks", "plugins", "requirements.txt", "requirements.yml", "roles",
}  # fmt: skip
PLAYBOOKS = sorted(path.stem for path in (CHECKOUT / "playbooks").glob("*.yml"))


def test_it_is_version_0_1_0_for_the_ansible_versions_that_are_tested(tarball: Path) -> None:
    assert tarball.name == "gpuops-reservations-0.1.0.tar.gz"
    runtime = yaml.safe_load((CHECKOUT / "meta" / "runtime.yml").read_text(encoding="utf-8"))
    assert runtime["requires_ansible"] == ">=2.19.0"


def test_it_holds_nothing_that_users_do_not_need(tarball: Path) -> None:
    with tarfile.open(tarball) as archive:
        names = archive.getnames()
    assert {name.split("/")[0] for name in names} <= FOR_USERS
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]
    assert not [name for name in names if name.startswith(("docs/adr", "docs/site", "docs/_build"))]
    for needed in ("plugins/modules/gpu_invariant.py", "roles/assign/tasks/main.yml", "playbooks/assign.yml"):
        assert needed in names


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_its_playbooks_are_found_by_their_full_names(run: Run, installed: Path, playbook: str) -> None:
    done = run(
        "ansible-playbook",
        "--list-tasks",
        f"gpuops.reservations.{playbook}",
        ANSIBLE_COLLECTIONS_PATH=str(installed),
        ANSIBLE_LOCALHOST_WARNING="false",
        ANSIBLE_INVENTORY_UNPARSED_WARNING="false",
    )
    assert f"{installed}/ansible_collections/gpuops/reservations/playbooks/{playbook}.yml" in done.stdout
    assert "WARNING" not in done.stderr


def test_its_documentation_can_be_read_where_it_is_installed(run: Run, installed: Path) -> None:
    done = run("ansible-doc", "--list", "gpuops.reservations", ANSIBLE_COLLECTIONS_PATH=str(installed))
    found = {line.split()[0].rpartition(".")[2] for line in done.stdout.splitlines() if line.strip()}
    modules = {path.stem for path in (CHECKOUT / "plugins" / "modules").glob("gpu_*.py")}
    assert modules <= found
