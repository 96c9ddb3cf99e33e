# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The admission policies as role platform renders them, for each version of the mutating ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml

from ansible_collections.gpuops.reservations.plugins.module_utils._core.admission_installed import (
    MUTATING,
    VALIDATING,
    mutation_version,
)

ROLE = Path(__file__).resolve().parents[3] / "roles" / "platform"
TEMPLATES = ROLE / "templates" / "reservations"
PLATFORM = ["kube-system", "kube-public", "kube-node-lease"]
OWN = ["gpuops-system", "reservation-operator"]
SERVED = {"1.34": ["v1beta1"], "1.35": ["v1beta1"], "1.36": ["v1"], "1.36, both": ["v1beta1", "v1"]}
Json = dict[str, Any]


def rendered(name: str, version: str) -> list[Json]:
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)
    environment.filters["to_json"] = json.dumps
    text = environment.from_string((TEMPLATES / name).read_text()).render(
        platform_mutation_version=version,
        platform_left_out=PLATFORM + OWN,
        platform_schedulers=["system:kube-scheduler"],
    )
    return [one for one in yaml.safe_load_all(text) if one]


@pytest.mark.parametrize("server", SERVED)
def test_mutating_policies_have_the_version_that_the_server_serves(server: str) -> None:
    version = mutation_version(SERVED[server])
    documents = rendered("mutation.yaml.j2", version)
    kinds = ("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding")
    assert [(one["kind"], one["metadata"]["name"]) for one in documents] == [
        (kind, name) for name in MUTATING for kind in kinds
    ]
    wanted = "v1beta1" if server in ("1.34", "1.35") else "v1"
    assert {one["apiVersion"] for one in documents} == {f"admissionregistration.k8s.io/{wanted}"}


def test_the_version_is_all_that_differs() -> None:
    def bare(version: str) -> list[Json]:
        return [{**one, "apiVersion": ""} for one in rendered("mutation.yaml.j2", version)]

    assert bare("v1beta1") == bare("v1")


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_validating_policies_are_v1_wherever_the_mutating_ones_are_served(version: str) -> None:
    documents = rendered("validation.yaml.j2", version)
    assert {one["apiVersion"] for one in documents} == {"admissionregistration.k8s.io/v1"}
    names = [one["metadata"]["name"] for one in documents if one["kind"] == "ValidatingAdmissionPolicy"]
    assert sorted(names) == sorted(VALIDATING)
    bound = [one["spec"] for one in documents if one["kind"] == "ValidatingAdmissionPolicyBinding"]
    assert sorted(one["policyName"] for one in bound) == sorted(VALIDATING)
    assert all(one["validationActions"] == ["Deny"] for one in bound)


def policies() -> list[Json]:
    documents = [*rendered("mutation.yaml.j2", "v1"), *rendered("validation.yaml.j2", "v1")]
    return [one for one in documents if one["kind"].endswith("Policy")]


@pytest.mark.parametrize("policy", policies(), ids=lambda one: str(one["metadata"]["name"]))
def test_every_policy_fails_closed(policy: Json) -> None:
    assert policy["spec"]["failurePolicy"] == "Fail"


@pytest.mark.parametrize("policy", policies(), ids=lambda one: str(one["metadata"]["name"]))
def test_namespaces_are_chosen_in_the_match_constraints(policy: Json) -> None:
    """When the definition of a parameter's kind is gone, nothing else is consulted."""
    constraints = policy["spec"]["matchConstraints"]
    expressions = {
        (one["key"], one["operator"]): one.get("values")
        for one in constraints.get("namespaceSelector", {}).get("matchExpressions", [])
    }
    matched = {resource for rule in constraints["resourceRules"] for resource in rule["resources"]}
    name = policy["metadata"]["name"]
    if name == "gpuops-reservation-platform-namespaces":
        assert expressions == {("kubernetes.io/metadata.name", "In"): PLATFORM + OWN}
    elif matched & {"pods", "daemonsets", "pods/binding"}:
        assert expressions["kubernetes.io/metadata.name", "NotIn"] == PLATFORM + OWN
        assert (("reserved.tenant", "Exists") in expressions) is (
            "paramKind" in policy["spec"] or name in MUTATING
        )
    else:
        assert expressions == {}
        assert not matched & {"pods", "daemonsets"}


def test_a_pod_that_is_changed_is_never_judged_by_parameters() -> None:
    """What a binding says may not make an existing Pod undeletable."""
    for policy in policies():
        spec = policy["spec"]
        if "paramKind" not in spec:
            continue
        for rule in spec["matchConstraints"]["resourceRules"]:
            if "pods" in rule["resources"]:
                assert rule["operations"] == ["CREATE"], policy["metadata"]["name"]
