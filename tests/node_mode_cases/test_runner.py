# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The runner itself: a case that is wrong fails, and one that it does not understand does too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.gpuops.reservations.tests.node_mode_cases.case_format import (
    OWN_FILE,
    NotUnderstood,
    load,
)
from ansible_collections.gpuops.reservations.tests.node_mode_cases.case_world import Servers
from ansible_collections.gpuops.reservations.tests.node_mode_cases.test_cases import run_case

pytestmark = pytest.mark.lab


def problems(servers: Servers, folder: Path, **case: Any) -> list[str]:
    file = folder / "cases.yaml"
    file.write_text(yaml.safe_dump({"cases": [{"id": "X-1", "title": "one", **case}]}))
    (one,) = load(file)
    found, _told = run_case(one, servers, folder)
    return found


GOOD: dict[str, Any] = {
    "outcome": "changed",
    "cordon_writes": 1,
    "uncordon_writes": 1,
    "pushed_commits": 1,
    "head": "advanced",
    "fleet_mode": "vm-passthrough",
    "holders": [],
    "lock": "free",
    "annotation": "removed",
    "rule_acc-7": {"name": "acc-7-vm-passthrough"},
    "file_diff": "four lines replaced",
    "fleet_file": "changed",
    "node_patch": "spec.unschedulable and our cordon annotation, nothing else",
    "pod_list_field_selector": "spec.nodeName=acc-7",
    "order": ["cordon", "holder recheck", "rule edit", "commit", "push", "wait", "uncordon"],
    "first_look": "at once after the push",
    "result": {"revision": "id of the pushed commit", "cordoned": False},
    "msg_has": ["acc-7"],
    "msg_lacks": ["acc-9"],
    "looks_after_the_first": 0,
}


def test_what_is_right_passes(servers: Servers, tmp_path: Path) -> None:
    assert problems(servers, tmp_path, then=GOOD) == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("outcome", "refused"),
        ("outcome", "unchanged"),
        ("outcome", "preview"),
        ("outcome", "stopped_cordoned"),
        ("outcome", "failed"),
        ("cordon_writes", 0),
        ("cordon_writes", 2),
        ("uncordon_writes", 0),
        ("pushed_commits", 0),
        ("head", "same"),
        ("fleet_mode", "pod-hami"),
        ("holders", [{"namespace": "a", "kind": "Pod", "name": "b", "resources": []}]),
        ("lock", "kept"),
        ("annotation", "ours"),
        ("rule_acc-7", {"name": "acc-7-pod-hami"}),
        ("rule_acc-7", {"config": None}),
        ("rule_acc-7", "unchanged"),
        ("rule_acc-8", "unchanged"),
        ("file_diff", "three lines replaced"),
        ("fleet_file", "byte_identical"),
        ("env_file", "changed"),
        ("pod_list_field_selector", "spec.nodeName=acc-8"),
        ("order", ["push", "cordon"]),
        ("order", ["uncordon", "push"]),
        ("result", {"revision": "none"}),
        ("result", {"revision": "0123"}),
        ("msg_has", ["acc-9"]),
        ("msg_lacks", ["acc-7"]),
        ("looks_after_the_first", 1),
        ("interval_default_s", 6),
        ("timeout_default_s", 901),
        ("node_cordoned", True),
        ("node", {"active": "pod-hami"}),
        ("api_requests", "none"),
        ("second_run", "changed"),
        ("note", "neither cluster nor fleet rule need be read"),
        ("annotation_writes", 1),
    ],
)
def test_what_is_wrong_fails(servers: Servers, tmp_path: Path, key: str, value: Any) -> None:
    found = problems(servers, tmp_path, then={"outcome": "changed", key: value})
    assert found
    assert all(problem.startswith((f"{key}:", "not understood")) for problem in found)
    understood = key != "env_file"
    assert any(problem.startswith("not understood") for problem in found) is not understood


@pytest.mark.parametrize(
    "case",
    [
        {"then": {}},
        {"then": {"outcome": "perfect"}},
        {"then": {"outcome": "changed", "weather": "fine"}},
        {"then": {"outcome": "changed", "head": "sideways"}},
        {"then": {"outcome": "changed", "cordon_writes": "one"}},
        {"then": {"outcome": "changed", "order": ["dance"]}},
        {"then": {"outcome": "changed", "file_diff": "somehow different"}},
        {"then": {"outcome": "changed", "node_patch": "something"}},
        {"then": {"outcome": "changed", "first_look": "later"}},
        {"then": {"outcome": "changed", "lock": ["odd"]}},
        {"then": {"outcome": "changed", "rule_acc-7": {"colour": "red"}}},
        {"given": {"weather": "fine"}},
        {"given": {"fleet": {"remote": "haunted"}}},
        {"given": {"fleet": {"rule": "odd"}}},
        {"given": {"fleet": {"rule_labels": {"colour": "red"}}}},
        {"given": {"fleet": {"style": "baroque"}}},
        {"given": {"fleet": {"weather": "fine"}}},
        {"given": {"node": {"base": "unknown"}}},
        {"given": {"node": {"weather": "fine"}}},
        {"given": {"node": {"ready": "perhaps"}}},
        {"given": {"node": {"cordoned": "perhaps"}}},
        {"given": {"node": {"owners": ["one"]}}},
        {"given": {"node": {"add_owner": "a/DaemonSet/b sleeping"}}},
        {"given": {"node": {"cordoned_by": "ghosts"}}},
        {"given": {"pods": ["unknown"]}},
        {"given": {"pods": [{"fixture": "job_pod", "weather": "fine"}]}},
        {"given": {"pods": [{"fixture": "job_pod", "phase": "Sleeping"}]}},
        {"given": {"pods": ["job_pod", "job_pod"]}},
        {"given": {"pods": "job_pod"}},
        {"given": {"gates_file": "ajar"}},
        {"given": {"gates_file": {"weather": "fine"}}},
        {"given": {"gates_live": {"weather": "fine"}}},
        {"given": {"api": {"sing": "forbidden"}}},
        {"given": {"api": {"patch_node": "odd"}}},
        {"given": {"api": {"patch_node": 299}}},
        {"given": {"script": [{"at": "midnight"}]}},
        {"given": {"script": [{"at": "after_cordon", "weather": "fine"}]}},
        {"given": {"records": ["sleeping"]}},
        {"given": {"policy": "odd"}},
        {"when": {"weather": "fine"}},
        {"when": {"check": "perhaps"}},
        {"when": {"environment": "something else"}},
        {"when": {"kubeconfig": "/a/file"}},
        {"colour": "red"},
        {"variants": [{"colour": "red"}]},
        {"variants": ["odd"]},
    ],
)
def test_what_is_not_understood_fails_and_says_so(
    servers: Servers, tmp_path: Path, case: dict[str, Any]
) -> None:
    found = problems(servers, tmp_path, **{"then": {"outcome": "changed"}, **case})
    assert any(problem.startswith("not understood: ") for problem in found), found


@pytest.mark.parametrize(
    "text", ["", "[]", "cases: []", "weather: fine", "cases: [{id: a}, {id: a}]", "cases: [{id: a, id: b}]"]
)
def test_a_file_that_is_no_file_of_cases(tmp_path: Path, text: str) -> None:
    file = tmp_path / "cases.yaml"
    file.write_text(text)
    with pytest.raises(NotUnderstood):
        load(file)


def test_variants_are_merged_over_the_case_and_that_over_the_defaults() -> None:
    cases = {case.id: case for case in load(OWN_FILE)}
    assert len(cases) == 41
    closed = {"GPU_SHARED_CREATION_ENABLED": "false", "GPU_VM_CREATION_ENABLED": "false"}
    assert cases["NM-A3/1"].given["gates_file"] == {**closed, "GPU_VM_CREATION_ENABLED": "true"}
    assert cases["NM-A3/3"].given["gates_file"] == closed
    assert cases["NM-A2"].given["gates_file"] == {**closed, "GPU_VM_CREATION_ENABLED": None}
    assert cases["NM-E3/2"].given["node"] == {"name": "acc-7", "base": "vm", "cordoned": True}
    assert cases["NM-E3/2"].then["msg_has"] == ["cordon", "resume"]
    assert cases["NM-F1"].given["script"] == []
    assert cases["NM-M1"].when == {**cases["NM-F1"].when, "to": "pod-hami-dra"}
