# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit policy: every write with its object, except what is secret."""

from __future__ import annotations

from typing import Any

import yaml

from lab.audit_policy import document
from lab.identities import KWOK

POLICY = yaml.safe_load(document())


def level(verb: str, group: str, resource: str, user: str = "gpuops") -> str:
    """The level of the first rule that matches, as the API server takes it."""
    for rule in POLICY["rules"]:
        if matches(rule, verb, group, resource, user):
            return str(rule["level"])
    return "no rule"


def matches(rule: dict[str, Any], verb: str, group: str, resource: str, user: str) -> bool:
    if "nonResourceURLs" in rule:
        return False
    named = [entry for entry in rule.get("resources", []) if entry["group"] == group]
    return (
        (user in rule.get("users", [user]))
        and (verb in rule.get("verbs", [verb]))
        and ("resources" not in rule or any(resource in entry["resources"] for entry in named))
    )


def test_writes_carry_what_was_asked_for() -> None:
    for verb in ("create", "update", "patch", "delete", "deletecollection"):
        assert level(verb, "kube-dc.com", "organizations") == "Request"
        assert level(verb, "", "configmaps") == "Request"
        assert level(verb, "", "pods/eviction") == "Request"


def test_reads_are_one_line() -> None:
    for verb in ("get", "list", "watch"):
        assert level(verb, "", "nodes") == "Metadata"


def test_secrets_and_tokens_are_never_written_out() -> None:
    assert level("create", "", "secrets") == "Metadata"
    assert level("create", "", "serviceaccounts/token") == "Metadata"
    assert level("create", "authentication.k8s.io", "tokenreviews") == "Metadata"


def test_only_the_heartbeats_of_played_nodes_are_left_out() -> None:
    assert level("update", "coordination.k8s.io", "leases", KWOK.user) == "None"
    assert level("update", "coordination.k8s.io", "leases") == "Request"
    assert level("patch", "", "nodes/status", KWOK.user) == "Request"
