# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which mode a rule file gives each node, and when it is not to be relied on."""

from __future__ import annotations

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import ObservationError
from ansible_collections.gpuops.reservations.plugins.module_utils._core.fleet_files import FleetFile
from ansible_collections.gpuops.reservations.plugins.module_utils._core.node_rule import (
    NodeRule,
    NodeRules,
    RuleTrouble,
    read_rules,
    rule_path,
)

HEAD = """\
apiVersion: nfd.k8s-sigs.io/v1alpha1
kind: NodeFeatureRule
metadata:
  name: lab-gpu-node-modes
spec:
  rules:
"""


def rule(
    node: str = "acc-7",
    mode: str = "pod-hami",
    *,
    name: str | None = None,
    active: str | None = None,
    expected: str | None = None,
    config: str | None = None,
    match: str | None = None,
) -> str:
    config = config or ("container" if mode.startswith("pod") else mode)
    match = (
        match
        or f"""\
        - feature: system.name
          matchExpressions:
            nodename: {{op: In, value: ["{node}"]}}
        - feature: pci.device
          matchExpressions:
            vendor: {{op: In, value: ["10de"]}}
            class: {{op: In, value: ["0300", "0302"]}}
"""
    )
    return f"""\
    - name: {name or f"{node}-{mode}"}
      labels:
        kube-dc.com/gpu.workload-mode: {active or mode}
        kube-dc.com/gpu.expected-workload-mode: {expected or mode}
        nvidia.com/gpu.workload.config: {config}
      matchFeatures:
{match}"""


def read(text: str, cluster: str = "lab") -> NodeRules:
    return read_rules(FleetFile(path=rule_path(cluster), text=text), cluster)


def mode_of(text: str, node: str = "acc-7") -> str:
    found = read(text).lookup(node)
    assert isinstance(found, NodeRule), found
    return found.mode


def trouble(text: str, node: str = "acc-7") -> RuleTrouble:
    found = read(text).lookup(node)
    assert isinstance(found, RuleTrouble), found
    assert found.next_action
    return found


@pytest.mark.parametrize("mode", ["pod-hami", "pod-hami-dra", "vm-passthrough"])
def test_each_mode_is_read(mode: str) -> None:
    assert mode_of(HEAD + rule(mode=mode)) == mode


def test_the_dra_mode_may_name_itself_in_the_third_label() -> None:
    assert mode_of(HEAD + rule(mode="pod-hami-dra", config="pod-hami-dra")) == "pod-hami-dra"


def test_flow_style_and_quotes_and_comments_are_read() -> None:
    text = (
        "{apiVersion: 'nfd.k8s-sigs.io/v1alpha1', kind: NodeFeatureRule,\n"
        ' metadata: {name: "lab-gpu-node-modes"},\n'
        " spec: {rules: [ # all of them\n"
        '  {name: "acc-7-vm-passthrough", labels: {"kube-dc.com/gpu.workload-mode": \'vm-passthrough\',\n'
        "   kube-dc.com/gpu.expected-workload-mode: vm-passthrough,\n"
        "   nvidia.com/gpu.workload.config: vm-passthrough}, matchFeatures: [{feature: system.name,\n"
        "   matchExpressions: {nodename: {op: In, value: [acc-7]}}}]}]}}\n"
    )
    assert mode_of(text) == "vm-passthrough"


def test_crlf_and_byte_order_mark_are_read() -> None:
    assert mode_of("\ufeff" + (HEAD + rule()).replace("\n", "\r\n")) == "pod-hami"


def test_a_block_list_is_a_list() -> None:
    match = """\
        - feature: system.name
          matchExpressions:
            nodename:
              op: In
              value:
                - acc-7
"""
    assert mode_of(HEAD + rule(match=match)) == "pod-hami"


def test_a_value_of_another_feature_is_never_a_node() -> None:
    text = HEAD + rule(node="acc-7")
    assert read(text).lookup("10de") != read(text).lookup("acc-7")
    assert trouble(text, "10de").code == "node-rule-absent"
    assert trouble(text, "0302").code == "node-rule-absent"


@pytest.mark.parametrize("feature", ["local.label", "system.osrelease", "cpu.cpuid"])
def test_nodename_of_a_foreign_feature_does_not_bind_the_rule(feature: str) -> None:
    expression = "{nodename: {op: In, value: [acc-7]}}"
    match = f"        - feature: {feature}\n          matchExpressions: {expression}\n"
    found = trouble(HEAD + rule(match=match))
    assert found.code == "node-rule-ambiguous"
    assert "names no node" in found.message


def test_absent_names_file_and_node() -> None:
    found = trouble(HEAD + rule("acc-8"))
    assert found.code == "node-rule-absent"
    assert "acc-7" in found.message
    assert "clusters/lab/gpu-node-modes/nodefeaturerule.yaml" in found.message


def test_missing_file_is_no_empty_file() -> None:
    found = read_rules(None, "eu/one").lookup("acc-7")
    assert isinstance(found, RuleTrouble)
    assert found.code == "rule-file-missing"
    assert "clusters/eu/one/gpu-node-modes/nodefeaturerule.yaml" in found.message


def test_two_rules_for_a_node_are_ambiguous_even_when_they_agree() -> None:
    assert trouble(HEAD + rule() + rule()).code == "node-rule-ambiguous"


def test_a_rule_for_several_nodes_is_ambiguous_for_each_and_for_no_other() -> None:
    expression = '{nodename: {op: In, value: ["acc-7", "acc-8"]}}'
    match = f"        - feature: system.name\n          matchExpressions: {expression}\n"
    text = HEAD + rule(match=match) + rule("acc-9", "vm-passthrough")
    assert trouble(text, "acc-7").code == "node-rule-ambiguous"
    assert trouble(text, "acc-8").code == "node-rule-ambiguous"
    assert mode_of(text, "acc-9") == "vm-passthrough"


@pytest.mark.parametrize(
    "expression",
    [
        '{op: NotIn, value: ["acc-8"]}',
        '{op: InRegexp, value: ["acc-.*"]}',
        "{op: Exists}",
        '{value: ["acc-7"]}',
    ],
)
def test_another_operator_may_speak_for_any_node(expression: str) -> None:
    match = f"        - feature: system.name\n          matchExpressions: {{nodename: {expression}}}\n"
    assert trouble(HEAD + rule("acc-7") + rule("acc-8", match=match)).code == "node-rule-ambiguous"


def test_a_rule_without_mode_labels_that_names_no_node_is_of_no_interest() -> None:
    other = "    - name: racks\n      labels: {rack: a}\n      matchFeatures:\n        - feature: cpu.cpuid\n"
    assert mode_of(HEAD + other + rule()) == "pod-hami"


def test_a_template_that_sets_a_mode_label_for_any_node_is_ambiguous() -> None:
    other = "    - name: t\n      labelsTemplate: |\n        kube-dc.com/gpu.workload-mode=x\n"
    assert trouble(HEAD + other + rule()).code == "node-rule-ambiguous"


def test_alternatives_that_all_name_one_node_bind_the_rule() -> None:
    alternative = (
        "{matchFeatures: [{feature: system.name, matchExpressions: {nodename: {op: In, value: [acc-7]}}}]}"
    )
    text = (HEAD + rule()).split("      matchFeatures:")[
        0
    ] + f"      matchAny: [{alternative}, {alternative}]\n"
    assert mode_of(text) == "pod-hami"


def test_an_alternative_without_a_node_speaks_for_any() -> None:
    named = (
        "{matchFeatures: [{feature: system.name, matchExpressions: {nodename: {op: In, value: [acc-7]}}}]}"
    )
    text = (HEAD + rule()).split("      matchFeatures:")[0]
    text += f"      matchAny: [{named}, {{matchFeatures: [{{feature: pci.device}}]}}]\n"
    assert trouble(text).code == "node-rule-ambiguous"


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"expected": "vm-passthrough"}, "kube-dc.com/gpu.expected-workload-mode"),
        ({"config": "pod-hami"}, "nvidia.com/gpu.workload.config"),
        ({"config": "vm-passthrough"}, "nvidia.com/gpu.workload.config"),
        ({"active": "vm-vgpu", "expected": "vm-vgpu", "config": "vm-vgpu"}, "vm-vgpu"),
        ({"name": "acc-7-vm-passthrough"}, "acc-7-vm-passthrough"),
        ({"name": "acc-8-pod-hami"}, "acc-8-pod-hami"),
    ],
)
def test_a_rule_that_contradicts_itself_names_what_does(changes: dict[str, str], word: str) -> None:
    found = trouble(HEAD + rule(**changes))
    assert found.code == "node-rule-inconsistent"
    assert word in found.message


@pytest.mark.parametrize(
    "label",
    [
        "kube-dc.com/gpu.workload-mode",
        "kube-dc.com/gpu.expected-workload-mode",
        "nvidia.com/gpu.workload.config",
    ],
)
@pytest.mark.parametrize("value", ["gone", "null", "[]", "1"])
def test_a_label_that_is_missing_or_no_text_is_an_inconsistency(label: str, value: str) -> None:
    lines = (HEAD + rule()).splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if label in line)
    lines[at] = "" if value == "gone" else f"        {label}: {value}\n"
    assert trouble("".join(lines)).code == "node-rule-inconsistent"


def test_another_nodes_contradiction_does_not_matter_here() -> None:
    text = HEAD + rule("acc-8", config="wrong") + rule("acc-7")
    assert mode_of(text) == "pod-hami"
    assert trouble(text, "acc-8").code == "node-rule-inconsistent"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "document"),
        ("a: [", "line"),
        (HEAD + rule() + "---\n" + HEAD, "document"),
        ((HEAD + rule()).replace("lab-gpu", "prod-gpu"), "metadata.name"),
        ((HEAD + rule()).replace("kind: NodeFeatureRule", "kind: NodeFeatureGroup"), "kind"),
        ((HEAD + rule()).replace("nfd.k8s-sigs.io/v1alpha1", "v1"), "apiVersion"),
        ((HEAD + rule()).replace("  rules:", "  rules: {}\n  x:"), "list"),
        ("- a\n", "mapping"),
        (HEAD + rule().replace("      labels:", "      labels: {}\n      labels:"), "twice"),
        ("x: &a {b: c}\ny: {<<: *a}\n", "merge"),
        ("\x00", ""),
    ],
)
def test_a_file_that_is_no_rule_file_stops_with_the_place(text: str, word: str) -> None:
    found = trouble(text)
    assert found.code == "rule-file-unreadable"
    assert word in found.message


def test_a_trailing_separator_is_no_second_document() -> None:
    assert mode_of("---\n" + HEAD + rule() + "---\n") == "pod-hami"


def test_two_levels_of_cluster_become_one_name() -> None:
    rules = read((HEAD + rule()).replace("lab-gpu", "eu-one-gpu"), "eu/one")
    assert isinstance(rules.lookup("acc-7"), NodeRule)


@pytest.mark.parametrize(
    "file",
    [
        FleetFile.of(rule_path("lab"), b"\xff\xfe"),
        FleetFile(path=rule_path("lab"), mode="120000", text="../other"),
    ],
)
def test_links_and_other_encodings_are_unreadable(file: FleetFile) -> None:
    found = read_rules(file, "lab").lookup("acc-7")
    assert isinstance(found, RuleTrouble)
    with pytest.raises(ObservationError, match=r"nodefeaturerule\.yaml"):
        raise found.error()


def test_a_deeply_nested_file_is_unreadable_and_no_crash() -> None:
    assert trouble("[" * 100_000).code == "rule-file-unreadable"
