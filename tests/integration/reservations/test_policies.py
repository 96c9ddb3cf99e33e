# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is injected, into what, and what is left as it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import GpuopsError
from ansible_collections.gpuops.reservations.tests.integration.reservations.stage import (
    RESERVATIONS,
    Stage,
    bindings,
    example,
    pods,
    refusal,
    shown_taints,
    stage_of,
    until,
)
from lab.directory import LabDirectory

Json = dict[str, Any]
FOO = "tenant-foo"
OURS = {"key": "reserved.tenant", "operator": "In", "values": [FOO]}
TOLERATION = {"key": "reserved", "operator": "Equal", "value": FOO, "effect": "NoSchedule"}
SELECTED = {"app.kubernetes.io/managed-by": FOO}


@pytest.fixture(scope="module")
def bound(lab: LabDirectory) -> Iterator[Stage]:
    stage = stage_of(lab)
    stage.clear()
    stage.bind(FOO, "foo")
    stage.injected(FOO)
    yield stage
    stage.clear()


def admitted(stage: Stage, labels: Json | None = None, **spec: Any) -> Json:
    """The spec as a server's dry run gives it."""
    document = stage.pod("probe", FOO, gpus=0, labels=labels, **spec)
    made: Json = stage.tenants[FOO].create(pods(FOO), document, dry_run=True)["spec"]
    return made


def terms(spec: Json) -> list[Json]:
    required = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    found: list[Json] = required["nodeSelectorTerms"]
    return found


def required(*given: Json) -> Json:
    return {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(given)}}
    }


def others(spec: Json) -> list[Json]:
    return [one for one in spec["tolerations"] if not one.get("key", "").startswith("node.kubernetes.io/")]


def test_a_plain_pod_gets_one_term_and_one_toleration(bound: Stage) -> None:
    spec = admitted(bound)
    assert terms(spec) == [{"matchExpressions": [OURS]}]
    assert others(spec) == [TOLERATION]


def test_every_term_gets_the_requirement_and_keeps_its_own(bound: Stage) -> None:
    zone = {"key": "zone", "operator": "In", "values": ["a"]}
    field = {"key": "metadata.name", "operator": "In", "values": ["train-01"]}
    spec = admitted(
        bound,
        affinity=required(
            {"matchExpressions": [zone]},
            {"matchFields": [field]},
            {"matchExpressions": [OURS]},
            {"matchExpressions": [zone], "matchFields": [field]},
        ),
    )
    assert terms(spec) == [
        {"matchExpressions": [zone, OURS]},
        {"matchFields": [field], "matchExpressions": [OURS]},
        {"matchExpressions": [OURS]},
        {"matchExpressions": [zone, OURS], "matchFields": [field]},
    ]


def test_preferences_pod_affinity_and_node_selector_stay(bound: Stage) -> None:
    preferred = [{"weight": 5, "preference": {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}}]
    apart = {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "x"}}}
        ]
    }
    affinity = {
        "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred},
        "podAntiAffinity": apart,
    }
    spec = admitted(bound, affinity=affinity, nodeSelector={"zone": "a"})
    assert spec["nodeSelector"] == {"zone": "a"}
    assert spec["affinity"]["podAntiAffinity"] == apart
    assert spec["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] == preferred
    assert terms(spec) == [{"matchExpressions": [OURS]}]


@pytest.mark.parametrize(
    "there",
    [
        TOLERATION,
        {"key": "reserved", "value": FOO},
        {"key": "reserved", "operator": "Equal", "value": FOO},
        {"key": "reserved", "value": FOO, "effect": "NoSchedule"},
    ],
)
def test_a_toleration_that_is_there_is_not_doubled(bound: Stage, there: Json) -> None:
    assert others(admitted(bound, tolerations=[there])) == [there]


def test_a_toleration_of_another_effect_is_not_enough(bound: Stage) -> None:
    there = {"key": "reserved", "value": FOO, "effect": "NoExecute"}
    assert others(admitted(bound, tolerations=[there])) == [there, TOLERATION]


def test_without_a_taint_no_toleration_is_injected(bound: Stage) -> None:
    bound.reserve("foo", FOO, ["train-05"], applyTaint=False)
    try:
        bound.reconcile()
        assert bound.get(f"{bindings(FOO)}/{FOO}-binding")["status"]["tolerationEffects"] == []
        until("the status is in force", lambda: others(admitted(bound)) == [])
        assert terms(admitted(bound)) == [{"matchExpressions": [OURS]}]
        assert shown_taints(bound.node("train-05")) == []
        assert bound.run_pod("job", FOO, gpus=1) == "train-05"
    finally:
        bound.delete_pod("job", FOO)
        bound.admin.delete(f"{RESERVATIONS}/foo")
        bound.reconcile()
        bound.tenants[FOO].delete(f"{bindings(FOO)}/{FOO}-binding")
        bound.bind(FOO, "foo")
        until("as before", lambda: others(admitted(bound)) == [TOLERATION])


ADMISSION = "/apis/admissionregistration.k8s.io/v1"


@contextmanager
def another_policy(stage: Stage, expression: str) -> Iterator[None]:
    """A mutating policy of somebody else that runs after ours, and is run again like ours."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
    spec = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "IfNeeded",
        "matchConstraints": {
            "namespaceSelector": {"matchLabels": {"reserved.tenant": FOO}},
            "resourceRules": [rule],
        },
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}],
    }
    kinds = {
        "MutatingAdmissionPolicy": ("mutatingadmissionpolicies", spec),
        "MutatingAdmissionPolicyBinding": ("mutatingadmissionpolicybindings", {"policyName": "zz-others"}),
    }
    try:
        for kind, (path, content) in kinds.items():
            document = {"kind": kind, "metadata": {"name": "zz-others"}, "spec": content}
            stage.admin.create(
                f"{ADMISSION}/{path}", {"apiVersion": "admissionregistration.k8s.io/v1", **document}
            )
        yield
    finally:
        for path, _ in kinds.values():
            stage.admin.delete(f"{ADMISSION}/{path}/zz-others")

        def as_before() -> bool:
            return not refusal(lambda: admitted(stage)) and len(terms(admitted(stage))) == 1

        until("it is gone", as_before)


TERMS = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms"


def test_a_term_that_another_policy_appends_gets_the_requirement_too(bound: Stage) -> None:
    """Ours runs again after it: terms are OR-ed, and one without the requirement would be a way out."""
    append = (
        "has(object.spec.affinity) && "
        "!object.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
        ".exists(t, t.?matchExpressions.orValue([]).exists(e, e.key == 'zone'))"
        f" ? [JSONPatch{{op: 'add', path: '{TERMS}/-', value: Object.spec.affinity.nodeAffinity"
        ".requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms{matchExpressions: [Object.spec"
        ".affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
        ".matchExpressions{key: 'zone', operator: 'Exists'}]}}] : []"
    )
    with another_policy(bound, append):
        until("it appends", lambda: len(terms(admitted(bound))) == 2)
        for term in terms(admitted(bound)):
            assert OURS in term["matchExpressions"]


def test_a_pod_that_somebody_strips_of_the_injection_is_refused_or_injected_again(bound: Stage) -> None:
    """In which order the server runs policies is its own affair: never is a Pod admitted without."""
    strip = (
        "has(object.spec.affinity) ? [JSONPatch{op: 'remove', path: '/spec/affinity'},"
        " JSONPatch{op: 'add', path: '/metadata/labels/stripped', value: 'yes'}] : []"
    )
    probe = bound.pod("probe", FOO, gpus=0)
    with another_policy(bound, strip):

        def stripped() -> str:
            try:
                made = bound.tenants[FOO].create(pods(FOO), probe, dry_run=True)
            except GpuopsError as error:
                return error.message
            assert terms(made["spec"]) == [{"matchExpressions": [OURS]}]
            return str(made["metadata"]["labels"].get("stripped", ""))

        said = until("it strips", stripped)
        assert said == "yes" or "gpuops-reservation-injected" in said
        assert said == "yes" or "something takes the injection away" in said


def test_what_is_not_selected_is_left_alone(bound: Stage) -> None:
    spec = admitted(bound, labels={"app": "debug"})
    assert "affinity" not in spec
    assert others(spec) == []


SELECTORS: dict[str, tuple[Json, bool]] = {
    "everything": ({}, True),
    "In": ({"matchExpressions": [{"key": "tier", "operator": "In", "values": ["a", "b"]}]}, True),
    "In without values": ({"matchExpressions": [{"key": "tier", "operator": "In"}]}, False),
    "In of others": ({"matchExpressions": [{"key": "tier", "operator": "In", "values": ["c"]}]}, False),
    "NotIn": ({"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["c"]}]}, True),
    "NotIn of its own": (
        {"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["a"]}]},
        False,
    ),
    "NotIn of an absent key": (
        {"matchExpressions": [{"key": "none", "operator": "NotIn", "values": ["a"]}]},
        True,
    ),
    "Exists": ({"matchExpressions": [{"key": "tier", "operator": "Exists"}]}, True),
    "DoesNotExist": ({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}, False),
    "both, of which one fails": (
        {"matchLabels": {"tier": "a"}, "matchExpressions": [{"key": "none", "operator": "Exists"}]},
        False,
    ),
    "a label without the value": ({"matchLabels": {"tier": "b"}}, False),
}


@pytest.mark.parametrize("what", SELECTORS)
def test_selectors_mean_what_they_mean_elsewhere(bound: Stage, what: str) -> None:
    selector, selects = SELECTORS[what]
    path = f"{bindings(FOO)}/{FOO}-binding"
    stored = bound.get(path)
    bound.tenants[FOO].replace(path, {**stored, "spec": {**stored["spec"], "podSelector": selector}})
    try:
        # Two Pods: one shows that the new selector is in force, the other is what it is about.
        probe: Json = {"tier": "a"}
        until(
            f"{what}: the selector is in force",
            lambda: ("affinity" in admitted(bound, labels=probe)) is selects,
            seconds=10,
        )
    finally:
        stored = bound.get(path)
        selector = {"matchLabels": SELECTED}
        bound.tenants[FOO].replace(path, {**stored, "spec": {**stored["spec"], "podSelector": selector}})
        until(
            "as before",
            lambda: "affinity" in admitted(bound) and "affinity" not in admitted(bound, labels={}),
        )


@pytest.mark.parametrize("affinity", [True, False])
@pytest.mark.parametrize("toleration", [True, False])
def test_switches_are_obeyed_one_by_one(bound: Stage, *, affinity: bool, toleration: bool) -> None:
    path = f"{bindings(FOO)}/{FOO}-binding"
    switches = {"injectAffinity": affinity, "injectToleration": toleration}
    bound.tenants[FOO].patch(path, {"spec": switches})
    try:

        def obeyed() -> bool:
            spec = admitted(bound)
            return ("affinity" in spec, bool(others(spec))) == (affinity, toleration)

        until(f"{switches} in force", obeyed, seconds=10)
    finally:
        bound.tenants[FOO].patch(path, {"spec": {"injectAffinity": True, "injectToleration": True}})
        bound.injected(FOO)


def test_two_bindings_inject_once(bound: Stage) -> None:
    document = bound.get(f"{bindings(FOO)}/{FOO}-binding")
    second = {"name": "second", "namespace": FOO}
    bound.tenants[FOO].create(
        bindings(FOO), {**document, "metadata": second, "spec": {**document["spec"], "podSelector": {}}}
    )
    try:
        until("the second one selects", lambda: "affinity" in admitted(bound, labels={"app": "x"}))
        spec = admitted(bound)
        assert terms(spec) == [{"matchExpressions": [OURS]}]
        assert others(spec) == [TOLERATION]
    finally:
        bound.tenants[FOO].delete(f"{bindings(FOO)}/second")
        until("it is gone", lambda: "affinity" not in admitted(bound, labels={"app": "x"}))


def test_a_daemonset_s_template_is_injected_at_creation_and_update(bound: Stage) -> None:
    path = f"/apis/apps/v1/namespaces/{FOO}/daemonsets"
    document = example("daemonset")
    document["spec"]["template"]["metadata"]["labels"] = {"app": "training-agent"}
    made = bound.tenants[FOO].create(path, document)
    assert "affinity" not in made["spec"]["template"]["spec"]
    patch = {"spec": {"template": {"metadata": {"labels": SELECTED}}}}
    made = bound.tenants[FOO].patch(f"{path}/training-agent", patch)
    spec = made["spec"]["template"]["spec"]
    assert terms(spec) == [{"matchExpressions": [OURS]}]
    assert spec["tolerations"] == [TOLERATION]
    bound.admin.delete(f"{path}/training-agent")
    bound.no_pods(FOO)


def test_a_pod_that_was_not_injected_can_be_written_again(bound: Stage) -> None:
    """What was not there before is not put in: these fields of a Pod cannot change."""
    bound.tenants[FOO].create(pods(FOO), bound.pod("plain", FOO, gpus=0, labels={"app": "x"}))
    try:
        bound.tenants[FOO].patch(f"{pods(FOO)}/plain", {"metadata": {"labels": SELECTED}})
        assert "affinity" not in bound.get(f"{pods(FOO)}/plain")["spec"]
    finally:
        bound.delete_pod("plain", FOO)


def test_a_binding_needs_a_selector(bound: Stage) -> None:
    document = bound.get(f"{bindings(FOO)}/{FOO}-binding")
    spec = {"reservationName": "foo"}
    said = refusal(
        lambda: bound.tenants[FOO].create(
            bindings(FOO), {**document, "metadata": {"name": "x", "namespace": FOO}, "spec": spec}
        )
    )
    assert "podSelector" in said


INVALID: dict[str, tuple[Json, str]] = {
    "neither names nor selector": ({"tenant": "a"}, "nothing ever means every node"),
    "no names": ({"tenant": "a", "reservedNodes": []}, "at least 1"),
    "an empty selector": ({"tenant": "a", "nodeSelector": {}}, "would mean every node"),
    "no labels": ({"tenant": "a", "nodeSelector": {"matchLabels": {}}}, "would mean every node"),
    "exclusions alone": (
        {"tenant": "a", "nodeSelector": {"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}},
        "would mean every node",
    ),
    "no tenant": ({"tenant": "", "reservedNodes": ["n"]}, "at least 1 chars"),
    "a tenant that is no label": ({"tenant": "a b", "reservedNodes": ["n"]}, "should match"),
    "a name twice": ({"tenant": "a", "reservedNodes": ["n", "n"]}, "Duplicate"),
    "a preference": (
        {"tenant": "a", "reservedNodes": ["n"], "taintEffect": "PreferNoSchedule"},
        "supported values",
    ),
}


@pytest.mark.parametrize("what", INVALID)
def test_a_reservation_that_says_too_little_is_refused(bound: Stage, what: str) -> None:
    spec, reason = INVALID[what]
    assert reason in refusal(lambda: bound.create_reservation("bad", spec))


def test_what_cannot_change_cannot_change(bound: Stage) -> None:
    selector = {"matchLabels": {"hardware-pool": "gpu-h100-rack-a"}}
    spec = {"tenant": FOO, "reservedNodes": ["train-01"], "nodeSelector": selector}
    bound.create_reservation("fixed", spec)
    try:
        for change, reason in (
            ({"tenant": "tenant-bar"}, "tenant cannot be changed"),
            ({"applyTaint": False}, "applyTaint cannot be changed"),
            ({"taintEffect": "NoExecute"}, "taintEffect cannot be changed"),
            ({"reservedNodes": None}, "widen"),
            ({"reservedNodes": []}, "at least 1"),
        ):
            said = refusal(lambda change=change: bound.edit_reservation("fixed", **change))  # type: ignore[misc]
            assert reason in said
    finally:
        bound.admin.delete("/apis/scheduling.coreweave.cloud/v1alpha1/reservations/fixed")
