# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Node feature rules, evaluated as node feature discovery does, on the two features that the fleet uses."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

Features = Mapping[str, Sequence[Mapping[str, str]]]


def of_node(name: str, *, has_gpu: bool = True) -> dict[str, list[dict[str, str]]]:
    """What discovery finds on a node: its name, and the one PCI device class that matters here."""
    devices = [{"vendor": "10de", "class": "0302", "device": "2330"}] if has_gpu else []
    return {"system.name": [{"nodename": name}], "pci.device": devices}


def labels_for(rules: Sequence[Mapping[str, Any]], features: Features) -> dict[str, str]:
    """The labels that rules give a node with these features; a later rule's label wins."""
    labels: dict[str, str] = {}
    for rule in rules:
        if matches(rule, features):
            labels |= {str(key): str(value) for key, value in (rule.get("labels") or {}).items()}
    return labels


def matches(rule: Mapping[str, Any], features: Features) -> bool:
    """Whether a rule matches: all of matchFeatures, and one of matchAny where there is any."""
    alternatives = rule.get("matchAny")
    if alternatives is not None and not any(
        _all(option.get("matchFeatures") or [], features) for option in alternatives
    ):
        return False
    return _all(rule.get("matchFeatures") or [], features)


def _all(terms: Sequence[Mapping[str, Any]], features: Features) -> bool:
    return all(
        any(
            _expressions(term.get("matchExpressions") or {}, instance)
            for instance in features.get(term["feature"], [])
        )
        for term in terms
    )


def _expressions(expressions: Mapping[str, Mapping[str, Any]], instance: Mapping[str, str]) -> bool:
    return all(_holds(expression, instance.get(name)) for name, expression in expressions.items())


def _holds(expression: Mapping[str, Any], value: str | None) -> bool:
    operator = expression.get("op", "MatchAny")
    wanted = [str(item) for item in expression.get("value") or []]
    if operator == "MatchAny":
        return True
    if operator == "DoesNotExist":
        return value is None
    if value is None:
        return False
    if operator == "Exists":
        return True
    if operator == "In":
        return value in wanted
    if operator == "NotIn":
        return value not in wanted
    if operator == "InRegexp":
        return any(re.search(pattern, value) for pattern in wanted)
    if operator == "IsTrue":
        return value == "true"
    if operator == "IsFalse":
        return value == "false"
    if operator == "Gt":
        return int(value) > int(wanted[0])
    if operator == "Lt":
        return int(value) < int(wanted[0])
    return False
