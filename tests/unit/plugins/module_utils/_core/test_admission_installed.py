# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whose definitions there are, what is bound, and who would be refused."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.admission_installed import (
    DEFINITIONS,
    MUTATING,
    VALIDATING,
    Installation,
    PolicyBindingSpec,
    Workload,
    definition_checks,
    mutation_check,
    mutation_version,
    namespace_checks,
    observed_check,
    policy_checks,
    refused_workloads,
    workload_check,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.cluster_objects import Toleration

OURS = frozenset({"gpuops.reservations"})


def bound(name: str, **change: Any) -> PolicyBindingSpec:
    actions = ["Deny"] if name in VALIDATING else []
    return PolicyBindingSpec.model_validate({"policyName": name, "validationActions": actions, **change})


def installed(**change: Any) -> Installation:
    names = (*MUTATING, *VALIDATING)
    whole: dict[str, Any] = {
        "managers": dict.fromkeys(DEFINITIONS, OURS),
        "policies": frozenset(names),
        "bindings": tuple(bound(name) for name in names),
        "mutation_versions": frozenset({"v1"}),
    }
    return Installation(**{**whole, **change})


def statuses(checks: Any) -> set[str]:
    return {check.status for check in checks}


def test_everything_there_passes() -> None:
    assert statuses((*definition_checks(installed()), *policy_checks(installed()))) == {"pass"}


def test_an_absent_definition_is_nobody_s_and_a_vendor_s_stops() -> None:
    absent = definition_checks(installed(managers={}))
    assert statuses(absent) == {"not_applicable"}
    vendor = definition_checks(installed(managers={DEFINITIONS[0]: frozenset({"helm", "vendor"})}))
    assert vendor[0].status == "fail"
    assert "helm, vendor" in vendor[0].message
    both = definition_checks(installed(managers={DEFINITIONS[0]: OURS | {"kubectl-edit"}}))
    assert both[0].status == "pass"


@pytest.mark.parametrize("name", [*MUTATING, *VALIDATING])
def test_a_policy_that_is_missing_unbound_narrowed_or_soft_is_named(name: str) -> None:
    names = (*MUTATING, *VALIDATING)
    others = tuple(bound(one) for one in names if one != name)
    cases = {
        "is missing": installed(policies=frozenset(names) - {name}),
        "is not bound": installed(bindings=others),
        "narrows it": installed(bindings=(*others, bound(name, matchResources={"namespaceSelector": {}}))),
    }
    if name in VALIDATING:
        cases["does not deny"] = installed(bindings=(*others, bound(name, validationActions=["Audit"])))
    for words, installation in cases.items():
        failed = [check for check in policy_checks(installation) if check.status != "pass"]
        assert len(failed) == 1
        assert name in failed[0].message
        assert words in failed[0].message


def test_the_served_version_is_chosen_or_refused() -> None:
    assert mutation_version(["v1beta1", "v1"]) == "v1"
    assert mutation_version(["v1beta1"]) == "v1beta1"
    assert mutation_check(installed(mutation_versions=frozenset())).status == "fail"
    assert mutation_check(installed()).status == "pass"


def test_a_platform_namespace_that_does_not_exist_could_be_anybody_s() -> None:
    checks = namespace_checks(["kube-system", "storage"], ["kube-system", "default"])
    assert [check.object for check in checks] == ["namespace/storage"]
    assert statuses(checks) == {"fail"}


def workload(namespace: str, node_name: str = "", **toleration: str) -> Workload:
    given = (Toleration.model_validate(toleration),) if toleration else ()
    return Workload("DaemonSet", namespace, "agent", given, node_name)


def test_who_would_be_refused_and_why() -> None:
    found = refused_workloads(
        [
            workload("network", operator="Exists"),
            workload("kube-system", operator="Exists"),
            workload("quiet", operator="Exists", effect="PreferNoSchedule"),
            workload("keyed", key="nvidia.com/gpu", operator="Exists"),
            workload("greedy", key="reserved", operator="Exists"),
            workload("own", key="reserved", value="tenant-foo"),
            workload("fixed", "n1"),
        ],
        ["kube-system"],
    )
    assert found == (
        "DaemonSet fixed/agent (names node n1)",
        "DaemonSet greedy/agent (tolerates every taint with the key reserved)",
        "DaemonSet network/agent (tolerates every taint)",
    )


@pytest.mark.parametrize(
    ("refused", "accepted", "there", "status"),
    [
        ((), False, False, "pass"),
        (("x",), False, False, "fail"),
        (("x",), True, False, "not_applicable"),
        (("x",), False, True, "not_applicable"),
    ],
)
def test_the_operator_is_asked_before_the_first_installation(
    refused: tuple[str, ...], status: str, *, accepted: bool, there: bool
) -> None:
    assert workload_check(refused, accepted=accepted, installed=there).status == status


def test_a_policy_that_nobody_has_looked_at_is_not_known_to_work() -> None:
    assert observed_check(installed()).status == "pass"
    check = observed_check(installed(pending=frozenset({"gpuops-reservation-injected"})))
    assert check.status == "unknown"
    assert "gpuops-reservation-injected" in check.message
