# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the components are called with: the switches on which tests and labs rely."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from lab import components, ports
from lab.components import Component, Programs
from lab.directory import LabDirectory

PROGRAMS = Programs(
    {name: ("/c", name) for name in ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")},
    Path("/kwok"),
    Path("/stages.yaml"),
    Path("/role.yaml"),
)
PORTS = {name: 20000 + number for number, name in enumerate(ports.NAMES)}
LAB = LabDirectory(Path("/lab"))

Make = Callable[[Programs, LabDirectory, Mapping[str, int]], Component]
EVERY: list[Make] = [
    components.etcd,
    components.api_server,
    components.controller_manager,
    components.scheduler,
    components.kwok,
]


def flags(make: Make) -> dict[str, str]:
    command = make(PROGRAMS, LAB, PORTS).command
    return {part.partition("=")[0]: part.partition("=")[2] for part in command if part.startswith("--")}


@pytest.mark.parametrize("make", EVERY, ids=lambda make: make.__name__)
def test_nothing_listens_beyond_this_machine(make: Make) -> None:
    component = make(PROGRAMS, LAB, PORTS)
    assert component.health.split("//")[1].startswith("127.0.0.1:")
    text = " ".join(component.command)
    assert "0.0.0.0" not in text
    assert any(f"--{flag}=" in text for flag in ("bind-address", "listen-client-urls", "server-address"))
    assert all(value == "127.0.0.1" for flag, value in flags(make).items() if flag in ("--bind-address",))


@pytest.mark.parametrize("make", EVERY, ids=lambda make: make.__name__)
def test_no_secret_is_in_a_command_line(make: Make) -> None:
    assert "token=" not in " ".join(make(PROGRAMS, LAB, PORTS).command)


def test_the_api_server_checks_rights_and_writes_its_log_before_it_answers() -> None:
    server = flags(components.api_server)
    assert server["--authorization-mode"] == "Node,RBAC"
    assert server["--enable-admission-plugins"].split(",") == ["NodeRestriction", "ServiceAccount"]
    assert server["--audit-log-path"] == "/lab/audit.log"
    assert server["--audit-log-mode"] == "blocking"


def test_controllers_and_scheduler_are_no_administrators() -> None:
    assert "--use-service-account-credentials" in flags(components.controller_manager)
    assert flags(components.controller_manager)["--kubeconfig"] == "/lab/kubeconfig-controller-manager"
    assert flags(components.scheduler)["--kubeconfig"] == "/lab/kubeconfig-scheduler"


def test_kwok_plays_annotated_nodes_only() -> None:
    kwok = flags(components.kwok)
    assert kwok["--manage-nodes-with-annotation-selector"] == "kwok.x-k8s.io/node=fake"
    assert kwok["--node-lease-duration-seconds"] == "40"
    assert kwok["--kubeconfig"] == "/lab/kubeconfig-kwok"
    assert kwok["--config"] == "/stages.yaml"
