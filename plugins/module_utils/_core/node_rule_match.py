# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which nodes a rule of a NodeFeatureRule speaks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .yaml_positions import Node, PositionedYaml


@dataclass(frozen=True)
class Named:
    """The rule speaks for these nodes and no others."""

    nodes: tuple[str, ...]


@dataclass(frozen=True)
class Unclear:
    """The rule may speak for any node; the reason completes "…, and"."""

    reason: str


Match = Named | Unclear


def matched_nodes(document: PositionedYaml, rule: Mapping[str, Node]) -> Match:
    """The nodes of one rule, by feature system.name, expression nodename, op In.

    matchFeatures holds in any case; matchAny only narrows it, so it decides where matchFeatures names
    no node, and then every alternative has to.

    Raises:
        YamlRefused: the rule is not built as a NodeFeatureRule's rule is.
    """
    direct = _nodes_of_features(document, rule.get("matchFeatures"))
    alternatives = document.items(rule.get("matchAny"))
    if isinstance(direct, Named) or not alternatives:
        return direct
    named: list[str] = []
    for alternative in alternatives:
        match = _nodes_of_features(document, document.mapping(alternative).get("matchFeatures"))
        if isinstance(match, Unclear):
            return match
        named.extend(match.nodes)
    return Named(tuple(dict.fromkeys(named)))


def _nodes_of_features(document: PositionedYaml, features: Node | None) -> Match:
    found: list[Match] = []
    for element in document.items(features):
        parts = document.mapping(element)
        feature = parts.get("feature")
        if feature is None or document.scalar(feature).value != "system.name":
            continue
        expression = document.mapping(parts.get("matchExpressions")).get("nodename")
        if expression is not None:
            found.append(_nodes_of_expression(document, expression))
    if len(found) > 1:
        return Unclear("it names its node by several expressions")
    return found[0] if found else Unclear("it names no node")


def _nodes_of_expression(document: PositionedYaml, expression: Node) -> Match:
    parts = document.mapping(expression)
    operator = document.scalar(parts["op"]).value if "op" in parts else ""
    if operator != "In":
        return Unclear(f"its nodename is matched by op {operator or '(none)'} and not by In")
    values = (document.scalar(value).value for value in document.items(parts.get("value")))
    return Named(tuple(dict.fromkeys(values)))
