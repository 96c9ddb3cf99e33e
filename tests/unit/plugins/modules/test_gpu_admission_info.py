# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_admission_info as Ansible runs it: installable, working, removable, and what stands against each."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args

from ansible_collections.gpuops.reservations.plugins.module_utils._core.admission_installed import (
    DEFINITIONS,
    MUTATING,
    VALIDATING,
    Installation,
    PolicyBindingSpec,
    Workload,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.cluster_objects import Toleration
from ansible_collections.gpuops.reservations.plugins.module_utils._shell import admission_info
from ansible_collections.gpuops.reservations.plugins.modules import gpu_admission_info
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._shell.memory_cluster import (
    MemoryCluster,
)

NAMES = (*MUTATING, *VALIDATING)
OURS = dict.fromkeys(DEFINITIONS, frozenset({"gpuops.reservations"}))
BOUND = tuple(
    PolicyBindingSpec.model_validate({"policyName": name, "validationActions": ["Deny"]}) for name in NAMES
)
WHOLE = Installation(OURS, frozenset(NAMES), BOUND, frozenset({"v1"}))
NOTHING = Installation({}, frozenset(), (), frozenset({"v1"}))
NETWORK = Workload("DaemonSet", "network", "agent", (Toleration(operator="Exists"),))


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def asked(
        installation: Installation,
        *,
        workloads: tuple[Workload, ...] = (),
        names: tuple[str, ...] = (),
        cluster: MemoryCluster | None = None,
        **params: Any,
    ) -> Any:
        client = cluster or MemoryCluster()
        monkeypatch.setattr(admission_info, "Reach", lambda _params: SimpleNamespace(client=client))
        monkeypatch.setattr(admission_info, "confirm", lambda _reach: None)
        monkeypatch.setattr(admission_info, "observe_installation", lambda _client: installation)
        monkeypatch.setattr(admission_info, "observe_workloads", lambda _client: workloads)
        monkeypatch.setattr(admission_info, "observe_reservation_names", lambda _client: names)
        existing = ("kube-system", "kube-public", "kube-node-lease")
        monkeypatch.setattr(admission_info, "observe_namespaces", lambda _client: existing)
        with patch_module_args(params), pytest.raises(SystemExit):
            gpu_admission_info.main()
        assert client.writes == []
        return json.loads(capsys.readouterr().out)

    return asked


def test_nothing_there_is_installable_and_not_working(ask: Any) -> None:
    found = ask(NOTHING)
    assert (found["installable"], found["working"], found["removable"]) == (True, False, True)
    assert found["mutation_version"] == "v1"
    assert not found["changed"]


def test_all_there_works_when_the_canary_says_so(ask: Any) -> None:
    assert ask(WHOLE)["working"]
    broken = ask(WHOLE, cluster=MemoryCluster(injects=False))
    assert not broken["working"]
    assert "admitted without" in broken["not_working"]
    open_door = ask(WHOLE, cluster=MemoryCluster(refuses=False))
    assert not open_door["working"]


def test_a_vendor_s_definition_stops_both_ways(ask: Any) -> None:
    vendor = Installation({DEFINITIONS[0]: frozenset({"vendor"})}, frozenset(), (), frozenset({"v1"}))
    found = ask(vendor)
    assert (found["installable"], found["removable"]) == (False, False)
    assert "managed by vendor" in found["not_installable"]


def test_reservations_hold_a_removal_up(ask: Any) -> None:
    found = ask(WHOLE, names=("foo",))
    assert not found["removable"]
    assert "foo" in found["not_removable"]


def test_workloads_that_would_be_refused_are_asked_about_once(ask: Any) -> None:
    first = ask(NOTHING, workloads=(NETWORK,))
    assert not first["installable"]
    assert first["refused_workloads"] == ["DaemonSet network/agent (tolerates every taint)"]
    assert ask(NOTHING, workloads=(NETWORK,), accept_refused_workloads=True)["installable"]
    later = ask(WHOLE, workloads=(NETWORK,))
    assert later["installable"]
    assert later["refused_workloads"]


def test_a_platform_namespace_has_to_exist(ask: Any) -> None:
    found = ask(NOTHING, platform_namespaces=["kube-system", "storage"])
    assert not found["installable"]
    assert "storage" in found["not_installable"]


def test_an_old_api_server_cannot_inject(ask: Any) -> None:
    old = Installation({}, frozenset(), (), frozenset())
    found = ask(old)
    assert not found["installable"]
    assert "MutatingAdmissionPolicy" in found["not_installable"]
