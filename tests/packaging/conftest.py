# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collection as users get it: built, installed into an empty path, with its siblings beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent

Run = Callable[..., subprocess.CompletedProcess[str]]


def clean_environment(home: Path, **more: str) -> dict[str, str]:
    """What a new user's shell has: nothing of the checkout, nothing of the lab."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ANSIBLE_", "GPUOPS_", "K8S_AUTH_", "PYTHON")) and name != "KUBECONFIG"
    }
    return {
        **kept,
        "HOME": str(home),
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_CALLBACK_RESULT_FORMAT": "yaml",
        **more,
    }


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs a program of the virtual environment away from the checkout; its output is in the failure."""
    home = tmp_path_factory.mktemp("home")

    def _run(*command: str, cwd: Path = home, code: int = 0, **more: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command,
            cwd=cwd,
            env=clean_environment(home, **more),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == code, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
        return done

    return _run


@pytest.fixture(scope="session")
def tarball(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``ansible-galaxy collection build`` makes of the checkout."""
    folder = tmp_path_factory.mktemp("built")
    run("ansible-galaxy", "collection", "build", "--output-path", str(folder), cwd=CHECKOUT)
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="session")
def installed(run: Run, tarball: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty collections path with this collection in it; the siblings are those of the ansible package."""
    path = tmp_path_factory.mktemp("collections")
    run("ansible-galaxy", "collection", "install", "--offline", "--no-deps", "-p", str(path), str(tarball))
    return path
