# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Node feature rules: what matches a node, and which labels it gets."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from lab.fixture.fleet import MODES, node_rules
from lab.platform import node_features


def rule(expressions: dict[str, Any], feature: str = "system.name") -> dict[str, Any]:
    return {
        "name": "r",
        "labels": {"a": "b"},
        "matchFeatures": [{"feature": feature, "matchExpressions": expressions}],
    }


@pytest.mark.parametrize("node", sorted(MODES))
def test_the_fleets_rules_label_each_node_with_its_mode(node: str) -> None:
    rules = yaml.safe_load(node_rules())["spec"]["rules"]
    labels = node_features.labels_for(rules, node_features.of_node(node))
    assert labels["kube-dc.com/gpu.workload-mode"] == MODES[node]
    assert labels["kube-dc.com/gpu.expected-workload-mode"] == MODES[node]
    assert labels["nvidia.com/gpu.workload.config"] == (
        "container" if MODES[node] == "pod-hami" else MODES[node]
    )


def test_other_nodes_and_nodes_without_a_device_get_nothing() -> None:
    rules = yaml.safe_load(node_rules())["spec"]["rules"]
    assert node_features.labels_for(rules, node_features.of_node("train-01")) == {}
    assert node_features.labels_for(rules, node_features.of_node("gpu-01", has_gpu=False)) == {}


@pytest.mark.parametrize(
    ("expression", "matched"),
    [
        ({"op": "In", "value": ["n"]}, True),
        ({"op": "In", "value": ["m"]}, False),
        ({"op": "NotIn", "value": ["m"]}, True),
        ({"op": "NotIn", "value": ["n"]}, False),
        ({"op": "InRegexp", "value": ["^n$"]}, True),
        ({"op": "InRegexp", "value": ["^m"]}, False),
        ({"op": "Exists"}, True),
        ({"op": "DoesNotExist"}, False),
        ({"op": "IsTrue"}, False),
        ({"op": "NoSuchOperator", "value": ["n"]}, False),
    ],
)
def test_operators(expression: dict[str, Any], *, matched: bool) -> None:
    assert node_features.matches(rule({"nodename": expression}), node_features.of_node("n")) is matched


def test_all_expressions_must_hold_for_one_device() -> None:
    features = {"pci.device": [{"vendor": "10de", "class": "0300"}, {"vendor": "1002", "class": "0302"}]}
    both = {"vendor": {"op": "In", "value": ["10de"]}, "class": {"op": "In", "value": ["0302"]}}
    assert not node_features.matches(rule(both, "pci.device"), features)


def test_one_alternative_is_enough() -> None:
    one = {"matchFeatures": rule({"nodename": {"op": "In", "value": ["n"]}})["matchFeatures"]}
    other = {"matchFeatures": rule({"nodename": {"op": "In", "value": ["m"]}})["matchFeatures"]}
    assert node_features.matches({"name": "r", "matchAny": [other, one]}, node_features.of_node("n"))
    assert not node_features.matches({"name": "r", "matchAny": [other]}, node_features.of_node("n"))
