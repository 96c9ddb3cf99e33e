# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab's folder: which one, and what in it is the product's."""

from __future__ import annotations

from pathlib import Path

from lab.directory import CHECKOUT, LabDirectory, chosen_directory


def test_the_default_is_in_the_checkout() -> None:
    assert chosen_directory({}).root == CHECKOUT / ".lab"
    assert chosen_directory({"GPUOPS_LAB_DIR": ""}).root == CHECKOUT / ".lab"


def test_a_named_folder_is_absolute(monkeypatch: object, tmp_path: Path) -> None:
    assert chosen_directory({"GPUOPS_LAB_DIR": str(tmp_path / "a")}).root == tmp_path / "a"
    assert chosen_directory({"GPUOPS_LAB_DIR": "second"}).root == Path.cwd() / "second"


def test_the_product_s_things_are_what_is_not_ours(tmp_path: Path) -> None:
    lab = LabDirectory(tmp_path)
    for folder in (lab.etcd, lab.pki, lab.logs, lab.run, lab.saved, lab.fleet, lab.evidence):
        folder.mkdir()
    ours = (lab.env, lab.state, lab.lock, lab.audit_log, lab.audit_log_previous, lab.platform_env)
    for file in (*ours, lab.kubeconfig("gpuops"), tmp_path / "backend-token"):
        file.touch()
    assert lab.product_entries() == [tmp_path / "backend-token", lab.evidence, lab.fleet]


def test_a_folder_that_does_not_exist_holds_nothing(tmp_path: Path) -> None:
    assert LabDirectory(tmp_path / "none").product_entries() == []
