# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``pytest tests/node_mode_cases --cases FILE``: every case of a file against a real API server and Git."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.gpuops.reservations.tests.node_mode_cases import control_plane, gate_copies
from ansible_collections.gpuops.reservations.tests.node_mode_cases.api_proxy import ApiProxy
from ansible_collections.gpuops.reservations.tests.node_mode_cases.case_format import Case, load
from ansible_collections.gpuops.reservations.tests.node_mode_cases.case_world import Servers
from ansible_collections.gpuops.reservations.tests.node_mode_cases.fleet_remote import PushListener

_NAMESPACES = ("flux-system", "gpu-operator", "hami-system", "kube-dc")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cases",
        action="append",
        default=[],
        help="a file of node-mode cases; may be given several times; all files in cases/ without it",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.function.__name__ != "test_case":
        return
    files = [Path(name) for name in metafunc.config.getoption("--cases")]
    cases: list[Case] = []
    for file in files or sorted(Path(__file__).with_name("cases").glob("*.yaml")):
        cases += load(file)
    metafunc.parametrize("case", cases, ids=[case.id for case in cases])


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with control_plane.running(tmp_path_factory.mktemp("control-plane")) as plane:
        for name in _NAMESPACES:
            plane.api.apply(
                f"/api/v1/namespaces/{name}",
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}},
            )
        gate_copies.define_release(plane.api)
        uid = plane.api.get("/api/v1/namespaces/kube-system")["metadata"]["uid"]
        proxy, listener = ApiProxy(plane), PushListener()
        try:
            yield Servers(plane, proxy, listener, uid)
        finally:
            proxy.close()
            listener.close()
