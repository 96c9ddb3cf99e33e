# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_placement_info as Ansible runs it; the failure modes themselves are tested where they are judged."""

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
)
from ansible_collections.gpuops.reservations.plugins.module_utils._shell import placement_info
from ansible_collections.gpuops.reservations.plugins.modules import gpu_placement_info
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._shell.memory_cluster import (
    MemoryCluster,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._shell.reconciling import (
    FOO,
    cluster_of,
    reserve,
    run_pod,
)

NAMES = (*MUTATING, *VALIDATING)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> MemoryCluster:
    made = cluster_of("n1")
    installed = Installation(
        managers=dict.fromkeys(DEFINITIONS, frozenset({"gpuops.reservations"})),
        policies=frozenset(NAMES),
        bindings=tuple(
            PolicyBindingSpec.model_validate({"policyName": name, "validationActions": ["Deny"]})
            for name in NAMES
        ),
        mutation_versions=frozenset({"v1"}),
    )
    monkeypatch.setattr(placement_info, "Reach", lambda _params: SimpleNamespace(client=made))
    monkeypatch.setattr(placement_info, "confirm", lambda _reach: None)
    monkeypatch.setattr(placement_info, "observe_installation", lambda _client: installed)
    return made


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    def called(**params: Any) -> Any:
        with patch_module_args(params), pytest.raises(SystemExit):
            gpu_placement_info.main()
        return json.loads(capsys.readouterr().out)

    return called


def test_it_names_diagnosis_facts_and_fix_and_writes_nothing(cluster: MemoryCluster, run: Any) -> None:
    reserve(cluster, "foo", FOO, "n1")
    path = run_pod(cluster, "job", "")
    cluster.change(path, {"spec": {"nodeName": None}, "status": {"phase": "Pending"}})
    found = run(namespace=FOO, pod="job")
    assert not found["changed"]
    assert found["diagnosis"] == "labels-changed-later"
    assert found["facts"]
    assert found["fix"]
    assert found["msg"].startswith("labels-changed-later: ")
    assert found["tenant"] == FOO
    assert found["uncovered"] == []
    assert [one["diagnosis"] for one in found["others"]] == []
    assert cluster.writes == []


def test_a_pod_that_does_not_exist(cluster: MemoryCluster, run: Any) -> None:
    assert run(namespace=FOO, pod="nobody")["diagnosis"] == "not-found"
    assert run(namespace=FOO, owner="deployment/nobody")["diagnosis"] == "not-found"
    assert cluster.writes == []


@pytest.mark.parametrize(
    ("owner", "code"),
    [("training", "owner-invalid"), ("/x", "owner-invalid"), ("cow/x", "owner-kind-unknown")],
)
def test_an_owner_is_kind_and_name(cluster: MemoryCluster, run: Any, owner: str, code: str) -> None:
    assert run(namespace=FOO, owner=owner)["error"]["code"] == code
    assert cluster.writes == []


def test_pod_or_owner_and_not_both(cluster: MemoryCluster, run: Any) -> None:
    assert run(namespace=FOO)["failed"]
    assert run(namespace=FOO, pod="x", owner="job/x")["failed"]
    assert cluster.reads == []
