# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A control plane of these tests' own, beside any other lab."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.connection import (
    ConnectionOptions,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.kube import KubeClient
from lab.directory import CHECKOUT, LabDirectory


def command(lab: LabDirectory, *arguments: str) -> None:
    """``python -m lab`` for this lab, and nobody else's."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("GPUOPS_", "KUBE"))}
    done = subprocess.run(
        [sys.executable, "-m", "lab", *arguments],
        cwd=CHECKOUT,
        env={**inherited, "GPUOPS_LAB_DIR": str(lab.root)},
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabDirectory]:
    lab = LabDirectory(tmp_path_factory.mktemp("adapters") / "lab")
    try:
        command(lab, "up", "--bare")
        yield lab
    finally:
        command(lab, "down")


@pytest.fixture(scope="session")
def admin(control_plane: LabDirectory) -> KubeClient:
    return KubeClient.connect(ConnectionOptions(kubeconfig=str(control_plane.kubeconfig("admin"))))


@pytest.fixture(scope="session")
def stranger(control_plane: LabDirectory) -> KubeClient:
    """An identity that nobody has given anything."""
    return KubeClient.connect(ConnectionOptions(kubeconfig=str(control_plane.kubeconfig("tenant-foo"))))
