# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The NodeFeatureRule file that says which GPU mode each node is in: read as YAML, edited in place.

A node is matched only through feature ``system.name`` and its expression ``nodename``; values of other
features (a vendor, a class) are never taken for a node's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from .errors import ObservationError
from .fleet_files import FleetFile
from .modes import ACTIVE_LABEL, CONFIG_ACCEPTED, CONFIG_LABEL, CONFIG_WRITTEN, EXPECTED_LABEL, MODES
from .node_rule_match import Named, Unclear, matched_nodes
from .yaml_positions import Node, PositionedYaml, Scalar, YamlRefused

MODE_LABELS: Final = (ACTIVE_LABEL, EXPECTED_LABEL, CONFIG_LABEL)


def rule_path(cluster: str) -> str:
    """Where a cluster's rule file stands in the fleet repository."""
    return f"clusters/{cluster}/gpu-node-modes/nodefeaturerule.yaml"


def rule_object_name(cluster: str) -> str:
    """The name that a cluster's NodeFeatureRule must have."""
    return cluster.replace("/", "-") + "-gpu-node-modes"


@dataclass(frozen=True)
class NodeRule:
    """One node's rule, present, single and consistent.

    Attributes:
        node: the node's name.
        mode: its mode.
        name: the rule's name scalar.
        labels: the three label scalars.
    """

    node: str
    mode: str
    name: Scalar
    labels: Mapping[str, Scalar]


@dataclass(frozen=True)
class RuleTrouble:
    """Why a node's rule cannot be relied on.

    Attributes:
        code: stable identifier.
        message: cause, naming the file.
        next_action: what to do.
    """

    code: str
    message: str
    next_action: str

    def error(self) -> ObservationError:
        """The trouble as the error that stops a run."""
        return ObservationError(self.code, self.message, next_action=self.next_action)


@dataclass(frozen=True)
class NodeRules:
    """Everything that a rule file says.

    Attributes:
        path: the file.
        rules: the nodes that have exactly one consistent rule.
        troubles: the nodes whose rules contradict themselves or each other.
        general: what makes the file unfit for every node; None where nothing does.
    """

    path: str
    rules: Mapping[str, NodeRule]
    troubles: Mapping[str, RuleTrouble]
    general: RuleTrouble | None = None

    def lookup(self, node: str) -> NodeRule | RuleTrouble:
        """A node's rule, or why there is none to rely on."""
        if self.general is not None:
            return self.general
        found = self.troubles.get(node) or self.rules.get(node)
        return found or RuleTrouble(
            "node-rule-absent",
            f"{self.path} has no rule for node {node} (feature system.name, nodename)",
            f"add the rule of {node} with its present mode to {self.path}, or correct the node's name",
        )


def read_rules(file: FleetFile | None, cluster: str) -> NodeRules:
    """Read a cluster's rule file.

    Args:
        file: the file as the fleet holds it, None where there is none.
        cluster: the cluster's name, possibly two levels.

    Returns:
        What it says; a file that is missing or unreadable is a general trouble, never an empty file.
    """
    path = rule_path(cluster)
    fix = f"correct {path} in the fleet repository, then run again"
    if file is None:
        return NodeRules(path, {}, {}, RuleTrouble("rule-file-missing", f"{path} does not exist", fix))
    try:
        return _read(path, _text(file), cluster)
    except YamlRefused as error:
        return NodeRules(path, {}, {}, RuleTrouble("rule-file-unreadable", f"{path}: {error}", fix))


def _text(file: FleetFile) -> str:
    if file.mode not in ("100644", "100755"):
        raise YamlRefused("a plain file is expected, not a link or a submodule")
    if file.text is None:
        raise YamlRefused("not UTF-8")
    return file.text


@lru_cache(maxsize=4)  # one look asks for the same file's rules again and again
def _read(path: str, text: str, cluster: str) -> NodeRules:
    document = PositionedYaml(text)
    by_node: dict[str, list[NodeRule | RuleTrouble]] = {}
    general: RuleTrouble | None = None
    for rule in _rule_nodes(document, cluster):
        parts = document.mapping(rule)
        match = matched_nodes(document, parts)
        if isinstance(match, Named):
            for node in match.nodes:
                by_node.setdefault(node, []).append(_judged(path, document, parts, node, match))
        elif _sets_modes(document, parts):
            general = general or _unbound(path, document.line(rule), match)
    rules: dict[str, NodeRule] = {}
    troubles: dict[str, RuleTrouble] = {}
    for node, found in by_node.items():
        first = found[0] if len(found) == 1 else _several(path, node, len(found))
        if isinstance(first, NodeRule):
            rules[node] = first
        else:
            troubles[node] = first
    return NodeRules(path, rules, troubles, general)


def _rule_nodes(document: PositionedYaml, cluster: str) -> tuple[Node, ...]:
    top = document.mapping(document.root)
    metadata = document.mapping(top.get("metadata"))
    wanted = {"kind": "NodeFeatureRule", "metadata.name": rule_object_name(cluster)}
    found = {"kind": top.get("kind"), "metadata.name": metadata.get("name")}
    for field, value in wanted.items():
        node = found[field]
        is_value = document.scalar(node).value if node is not None else ""
        if is_value != value:
            raise YamlRefused(f"{field} must be {value!r}, found {is_value!r}")
    version = top.get("apiVersion")
    if version is None or not document.scalar(version).value.startswith("nfd.k8s-sigs.io/"):
        raise YamlRefused("apiVersion must be one of nfd.k8s-sigs.io")
    return document.items(document.mapping(top.get("spec")).get("rules"))


def _judged(
    path: str, document: PositionedYaml, parts: Mapping[str, Node], node: str, match: Named
) -> NodeRule | RuleTrouble:
    if len(match.nodes) > 1:
        return RuleTrouble(
            "node-rule-ambiguous",
            f"{path}: the rule that names {node} names several nodes: {', '.join(match.nodes)}",
            f"give {node} a rule of its own in {path}",
        )
    try:
        labels = document.mapping(parts.get("labels"))
        scalars = {key: document.scalar(labels[key]) for key in MODE_LABELS if key in labels}
        name = document.scalar(parts["name"]) if "name" in parts else None
    except YamlRefused as error:
        return _inconsistent(path, node, f" ({error})", ["name and labels must be texts"])
    problems = _contradictions(node, name, {key: scalar.value for key, scalar in scalars.items()})
    if name is not None and not problems:
        return NodeRule(node, scalars[ACTIVE_LABEL].value, name, scalars)
    return _inconsistent(path, node, f" (line {name.line})" if name is not None else "", problems)


def _inconsistent(path: str, node: str, where: str, problems: list[str]) -> RuleTrouble:
    return RuleTrouble(
        "node-rule-inconsistent",
        f"{path}: the rule of {node}{where} contradicts itself: {'; '.join(problems)}",
        f"make name and labels of the rule of {node} say one mode in {path}",
    )


def _contradictions(node: str, name: Scalar | None, labels: Mapping[str, str]) -> list[str]:
    missing = [f"label {key} is missing" for key in MODE_LABELS if key not in labels]
    mode = labels.get(ACTIVE_LABEL, "")
    problems = list(missing)
    if ACTIVE_LABEL in labels and mode not in MODES:
        problems.append(f"{ACTIVE_LABEL} is {mode!r}, not one of {', '.join(MODES)}")
    elif ACTIVE_LABEL in labels:
        if EXPECTED_LABEL in labels and labels[EXPECTED_LABEL] != mode:
            problems.append(f"{ACTIVE_LABEL} is {mode!r} and {EXPECTED_LABEL} is {labels[EXPECTED_LABEL]!r}")
        if CONFIG_LABEL in labels and labels[CONFIG_LABEL] not in CONFIG_ACCEPTED[mode]:
            wanted = CONFIG_WRITTEN[mode]
            problems.append(f"{CONFIG_LABEL} is {labels[CONFIG_LABEL]!r}, for {mode} it is {wanted!r}")
        if name is not None and name.value != f"{node}-{mode}":
            problems.append(f"it is named {name.value!r}, for {mode} it is '{node}-{mode}'")
    if name is None:
        problems.append("it has no name")
    return problems


def _sets_modes(document: PositionedYaml, parts: Mapping[str, Node]) -> bool:
    """Whether a rule may write one of the mode labels, by plain labels or by a template."""
    template = parts.get("labelsTemplate")
    if template is not None and any(key in document.scalar(template).value for key in MODE_LABELS):
        return True
    return any(key in document.mapping(parts.get("labels")) for key in MODE_LABELS)


def _unbound(path: str, line: int, match: Unclear) -> RuleTrouble:
    return RuleTrouble(
        "node-rule-ambiguous",
        f"{path}: the rule on line {line} sets GPU mode labels, and {match.reason}: "
        "it may speak for any node",
        f"bind that rule to one node by feature system.name, nodename, op In, in {path}",
    )


def _several(path: str, node: str, count: int) -> RuleTrouble:
    return RuleTrouble(
        "node-rule-ambiguous",
        f"{path}: node {node} stands in {count} rules",
        f"leave one rule for {node} in {path}",
    )
