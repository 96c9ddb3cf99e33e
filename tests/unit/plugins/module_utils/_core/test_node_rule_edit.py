# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node's rule is moved in place: four scalars, and not one other byte."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import ObservationError
from ansible_collections.gpuops.reservations.plugins.module_utils._core.fleet_files import FleetFile
from ansible_collections.gpuops.reservations.plugins.module_utils._core.modes import MODES
from ansible_collections.gpuops.reservations.plugins.module_utils._core.node_rule import (
    NodeRule,
    read_rules,
    rule_path,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.node_rule_edit import moved_rule_file

BLOCK = """\
# modes of the lab; the installer writes this file
apiVersion: nfd.k8s-sigs.io/v1alpha1
kind: NodeFeatureRule
metadata:
  name: lab-gpu-node-modes
spec:
  rules:
    - name: acc-7-pod-hami   # pod-hami since May
      labels:
        kube-dc.com/gpu.workload-mode: pod-hami
        kube-dc.com/gpu.expected-workload-mode: pod-hami     # stays pod-hami
        nvidia.com/gpu.workload.config: container
        rack: pod-hami
      matchFeatures:
        - feature: system.name
          matchExpressions:
            nodename: {op: In, value: ["acc-7"]}
        - feature: pci.device
          matchExpressions:
            vendor: {op: In, value: ["10de"]}
    - name: acc-70-pod-hami
      labels:
        kube-dc.com/gpu.workload-mode: pod-hami
        kube-dc.com/gpu.expected-workload-mode: pod-hami
        nvidia.com/gpu.workload.config: container
      matchFeatures:
        - feature: system.name
          matchExpressions:
            nodename: {op: In, value: ["acc-70"]}
"""
FLOW = """\
{"apiVersion": "nfd.k8s-sigs.io/v1alpha1", "kind": "NodeFeatureRule",
 "metadata": {"name": "lab-gpu-node-modes"},
 "spec": {"rules": [{"name": "acc-7-pod-hami", "labels": {"kube-dc.com/gpu.workload-mode": "pod-hami",
  "kube-dc.com/gpu.expected-workload-mode": "pod-hami", "nvidia.com/gpu.workload.config": "container"},
  "matchFeatures": [{"feature": "system.name",
    "matchExpressions": {"nodename": {"op": "In", "value": ["acc-7"]}}}]}]}}
"""


def single_quoted(text: str) -> str:
    for plain in ("acc-7-pod-hami ", "pod-hami\n", "container\n"):
        text = text.replace(": " + plain, f": '{plain.strip()}'{plain[-1]}")
    return text


FILES = {
    "block": BLOCK,
    "flow": FLOW,
    "crlf": BLOCK.replace("\n", "\r\n"),
    "single-quoted": single_quoted(BLOCK),
    "double-quoted": single_quoted(BLOCK).replace("'", '"'),
    "byte-order-mark": "\ufeff" + BLOCK,
    "flow-crlf-mark": "\ufeff" + FLOW.replace("\n", "\r\n"),
    "wide-characters": "# größer, 模式, 🂡\n" + BLOCK,
    "block-scalars": BLOCK.replace(
        "name: acc-7-pod-hami   # pod-hami since May", "name: >-\n        acc-7-pod-hami"
    ),
    "no-final-newline": BLOCK.rstrip("\n"),
}


def file(text: str) -> FleetFile:
    return FleetFile.of(rule_path("lab"), text.encode())


def move(text: str, to_mode: str, node: str = "acc-7") -> str:
    return moved_rule_file(file(text), "lab", node, to_mode).content.decode()


def test_the_fixtures_are_what_they_say() -> None:
    assert "'acc-7-pod-hami' " in FILES["single-quoted"]
    assert '"container"' in FILES["double-quoted"]


@pytest.mark.parametrize("style", FILES)
@pytest.mark.parametrize("to_mode", ["vm-passthrough", "pod-hami-dra"])
def test_there_and_back_is_the_same_file(style: str, to_mode: str) -> None:
    start = FILES[style]
    there = move(start, to_mode)
    found = read_rules(file(there), "lab").lookup("acc-7")
    assert isinstance(found, NodeRule)
    assert found.mode == to_mode
    assert found.name.value == f"acc-7-{to_mode}"
    assert move(there, "pod-hami") == start


def test_exactly_four_lines_are_replaced() -> None:
    after = move(BLOCK, "vm-passthrough")
    diff = [
        line
        for line in difflib.unified_diff(BLOCK.splitlines(), after.splitlines(), lineterm="", n=0)
        if line[0] in "+-" and line[:3] not in ("+++", "---")
    ]
    assert diff == [
        "-    - name: acc-7-pod-hami   # pod-hami since May",
        "+    - name: acc-7-vm-passthrough   # pod-hami since May",
        "-        kube-dc.com/gpu.workload-mode: pod-hami",
        "-        kube-dc.com/gpu.expected-workload-mode: pod-hami     # stays pod-hami",
        "-        nvidia.com/gpu.workload.config: container",
        "+        kube-dc.com/gpu.workload-mode: vm-passthrough",
        "+        kube-dc.com/gpu.expected-workload-mode: vm-passthrough     # stays pod-hami",
        "+        nvidia.com/gpu.workload.config: vm-passthrough",
    ]


@given(st.sampled_from(sorted(FILES)), st.lists(st.sampled_from(MODES), min_size=1, max_size=6))
def test_any_chain_of_moves_that_returns_leaves_no_trace(style: str, chain: list[str]) -> None:
    text = FILES[style]
    for mode in [*chain, "pod-hami"]:
        text = move(text, mode)
    assert text == FILES[style]


def test_moving_to_the_present_mode_changes_nothing() -> None:
    assert move(BLOCK, "pod-hami") == BLOCK


def test_escapes_in_double_quotes_are_written_out() -> None:
    text = BLOCK.replace("workload-mode: pod-hami\n", 'workload-mode: "pod\\x2dhami"\n', 1)
    assert 'gpu.workload-mode: "vm-passthrough"\n' in move(text, "vm-passthrough")


def test_aliases_are_refused_and_named() -> None:
    labels = "kube-dc.com/gpu.workload-mode: {}\n        kube-dc.com/gpu.expected-workload-mode: {} #"
    old, new = labels.format("pod-hami", "pod-hami    "), labels.format("&m pod-hami", "*m")
    assert old in BLOCK
    with pytest.raises(ObservationError, match="alias") as stopped:
        move(BLOCK.replace(old, new), "vm-passthrough")
    assert stopped.value.code == "node-rule-not-editable"


def test_labels_shared_with_another_rule_are_refused() -> None:
    labels = (
        "{kube-dc.com/gpu.workload-mode: pod-hami, kube-dc.com/gpu.expected-workload-mode: pod-hami,"
        " nvidia.com/gpu.workload.config: container}"
    )
    rules = "".join(
        f"    - name: {node}-pod-hami\n      labels: {value}\n"
        "      matchFeatures:\n        - feature: system.name\n"
        f"          matchExpressions: {{nodename: {{op: In, value: [{node}]}}}}\n"
        for node, value in (("acc-7", f"&all {labels}"), ("acc-8", "*all"))
    )
    text = BLOCK.split("    - name:", maxsplit=1)[0] + rules
    for node in ("acc-7", "acc-8"):
        with pytest.raises(ObservationError, match="alias"):
            move(text, "vm-passthrough", node)


def test_a_comment_that_repeats_the_value_inside_a_block_scalar_is_refused() -> None:
    text = BLOCK.replace(
        "name: acc-7-pod-hami   # pod-hami since May", "name: >- # acc-7-pod-hami\n        acc-7-pod-hami"
    )
    with pytest.raises(ObservationError, match="one piece"):
        move(text, "vm-passthrough")


def test_an_ambiguous_rule_is_never_edited() -> None:
    with pytest.raises(ObservationError, match="acc-9"):
        move(BLOCK, "vm-passthrough", "acc-9")
