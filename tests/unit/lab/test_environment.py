# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The env file: what it promises, quoting, and what reaches the lab's programs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from lab import environment
from lab.directory import LabDirectory
from lab.errors import LabError


@pytest.fixture
def lab(tmp_path: Path) -> LabDirectory:
    return LabDirectory(tmp_path / "my lab's folder")


def test_lines_are_taken_as_they_are() -> None:
    text = "# where things listen\n\nGPUOPS_ALERTS_URL=http://127.0.0.1:1/?a=b\nEMPTY=\nSPACED= x y \n"
    assert environment.read_assignments(text, Path("platform.env")) == {
        "GPUOPS_ALERTS_URL": "http://127.0.0.1:1/?a=b",
        "EMPTY": "",
        "SPACED": " x y ",
    }


@pytest.mark.parametrize("line", ["no equals", "lower=1", "1A=2", "export A=1", "A B=1", "=1"])
def test_any_other_line_is_refused_by_number(line: str) -> None:
    with pytest.raises(LabError, match=r"platform\.env, line 2: not KEY=VALUE"):
        environment.read_assignments(f"A=1\n{line}\n", Path("platform.env"))


def test_a_shell_reads_back_exactly_what_was_written() -> None:
    hard = {"A": 'it\'s $HOME `x` "y"', "B": "", "C": "a\tb;c"}
    script = environment.shell_text(hard).decode() + "env -0"
    seen = subprocess.run(["/bin/sh", "-c", script], env={}, capture_output=True, check=True).stdout
    pairs = dict(entry.split("=", 1) for entry in seen.decode().split("\0") if entry)
    assert {key: pairs[key] for key in hard} == hard


def test_the_product_s_values_win_and_complete_ours(lab: LabDirectory) -> None:
    lab.root.mkdir()
    assert environment.missing(environment.exports(lab)) == [
        "GPUOPS_BACKEND_URL",
        "GPUOPS_BACKEND_TOKEN_FILE",
        "GPUOPS_ALERTS_URL",
    ]
    lab.platform_env.write_text(
        "GPUOPS_BACKEND_URL=http://b\nGPUOPS_BACKEND_TOKEN_FILE=/t\nGPUOPS_ALERTS_URL=http://a\n"
        "KUBECONFIG=/through/a/proxy\n"
    )
    values = environment.exports(lab)
    assert environment.missing(values) == []
    assert values["KUBECONFIG"] == "/through/a/proxy"
    assert values["GPUOPS_CLUSTER"] == "lab"


def test_the_file_is_for_its_owner_alone(lab: LabDirectory) -> None:
    environment.write(lab)
    assert lab.env.stat().st_mode & 0o777 == 0o600
    assert f"export GPUOPS_LAB_DIR='{str(lab.root)[: -len(chr(39) + 's folder')]}'" in lab.env.read_text()


def test_the_lab_s_programs_see_nothing_of_a_person_s_cluster(
    lab: LabDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/home/me/.kube/production")
    monkeypatch.setenv("K8S_AUTH_HOST", "https://production")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    monkeypatch.setenv("ANSIBLE_VAULT_PASSWORD_FILE", "/home/me/.vault")
    given = environment.for_programs(lab)
    assert given["KUBECONFIG"] == given["GPUOPS_ADMIN_KUBECONFIG"] == str(lab.kubeconfig("admin"))
    assert not {"K8S_AUTH_HOST", "HTTPS_PROXY", "ANSIBLE_VAULT_PASSWORD_FILE"} & set(given)
