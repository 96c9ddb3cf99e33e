# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fixtures of the adapters' tests: a scripted server, a client of it, and Git repositories."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.connection import (
    ConnectionOptions,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.fleet import FleetRepository
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.kube import KubeClient

from .clocks import WaitingClock
from .scripted_server import ScriptedServer, serving


@pytest.fixture(autouse=True)
def nobody_is_signed_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No configuration of the person who runs the tests, and no cluster of theirs."""
    for name in ("KUBECONFIG", "GIT_DIR", "GIT_CONFIG_COUNT", "GIT_ASKPASS", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg-cache"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture(scope="session")
def listening() -> Iterator[ScriptedServer]:
    with serving() as script:
        yield script


@pytest.fixture
def server(listening: ScriptedServer) -> ScriptedServer:
    """A server that nothing was asked of, and that has nothing to say."""
    listening.forget()
    return listening


@pytest.fixture
def clock() -> WaitingClock:
    return WaitingClock()


@pytest.fixture
def client(server: ScriptedServer, clock: WaitingClock) -> KubeClient:
    return KubeClient.connect(ConnectionOptions(host=server.url, api_key="canary-token"), clock=clock)


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    path = tmp_path / "fleet.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(path)], check=True)
    return path


@pytest.fixture
def fleet(bare: Path, tmp_path: Path) -> FleetRepository:
    """A repository whose branch main holds one file, ``a``."""
    repository = FleetRepository(str(bare), cache_dir=tmp_path / "cache")
    repository.commit("main", "", {"a": b"1\n"}, "first")
    return repository


@pytest.fixture
def other(bare: Path, tmp_path: Path) -> FleetRepository:
    """Somebody else's view of the same repository, with a clone of their own."""
    return FleetRepository(str(bare), cache_dir=tmp_path / "other-cache")
