# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a transition does about one whole look at fleet and cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpuops.reservations.plugins.module_utils._core.checks import stopping
from ansible_collections.gpuops.reservations.plugins.module_utils._core.cluster_objects import (
    ConfigMap,
    GateCopies,
    Node,
    Pod,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import (
    InputError,
    ObservationError,
    PolicyBlocked,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.fleet_files import (
    FleetFile,
    FleetTree,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.modes import MODES, PLUGIN_OWNER
from ansible_collections.gpuops.reservations.plugins.module_utils._core.node_mode import (
    Action,
    CordonWrite,
    Verdict,
    judge,
    refusal,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.node_mode_facts import (
    HeldPool,
    LedgerFacts,
    LiveRecord,
    ModeFacts,
    ModeRequest,
    NodeState,
    validate_timing,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.node_mode_plan import planned_steps
from ansible_collections.gpuops.reservations.plugins.module_utils._core.unread import Unread

FROM, TO = "pod-hami", "vm-passthrough"
UNREAD = Unread("it", "no answer", "look")
LOCKED = {"v100-vm": HeldPool("lab-1", "01RUN", "2026-01-02T03:04:05Z", "entitle")}


def rule_file(mode: str, node: str = "acc-7") -> str:
    config = "container" if mode.startswith("pod") else mode
    return f"""\
apiVersion: nfd.k8s-sigs.io/v1alpha1
kind: NodeFeatureRule
metadata: {{name: lab-gpu-node-modes}}
spec:
  rules:
    - name: {node}-{mode}
      labels:
        kube-dc.com/gpu.workload-mode: {mode}
        kube-dc.com/gpu.expected-workload-mode: {mode}
        nvidia.com/gpu.workload.config: {config}
      matchFeatures:
        - feature: system.name
          matchExpressions: {{nodename: {{op: In, value: [{node}]}}}}
"""


def node(
    active: str | None = FROM,
    expected: str | None = FROM,
    *,
    cordoned: bool = False,
    ready: str = "True",
    annotations: dict[str, str] | None = None,
) -> Node:
    labels = {"kube-dc.com/gpu.workload-mode": active, "kube-dc.com/gpu.expected-workload-mode": expected}
    return Node.model_validate(
        {
            "metadata": {
                "name": "acc-7",
                "labels": {key: value for key, value in labels.items() if value},
                "annotations": annotations or {},
            },
            "spec": {"unschedulable": cordoned},
            "status": {"conditions": [{"type": "Ready", "status": ready}]},
        }
    )


def plugin(owner: str, *, terminating: bool = False, namespace: str = "gpu-operator") -> Pod:
    metadata: dict[str, Any] = {
        "name": f"{owner}-x",
        "namespace": namespace,
        "ownerReferences": [{"kind": "DaemonSet", "name": owner, "controller": True}],
    }
    if terminating:
        metadata["deletionTimestamp"] = "2026-01-02T03:04:05Z"
    return Pod.model_validate(
        {"metadata": metadata, "spec": {"nodeName": "acc-7"}, "status": {"phase": "Running"}}
    )


def holder() -> Pod:
    return Pod.model_validate(
        {
            "metadata": {"name": "train-0", "namespace": "org-a"},
            "spec": {"nodeName": "acc-7", "containers": [{"resources": {"limits": {"nvidia.com/gpu": "1"}}}]},
            "status": {"phase": "Running"},
        }
    )


def facts(
    *,
    fleet: str = FROM,
    state: NodeState | None = None,
    gates: str = "false",
    live: str = "false",
    modes: str | None = None,
    **more: Any,
) -> ModeFacts:
    settings = f"GPU_SHARED_CREATION_ENABLED={gates}\nGPU_VM_CREATION_ENABLED=false\n"
    if modes is not None:
        settings += f"GPU_NODE_MODES={modes}\n"
    files = (
        FleetFile(path="clusters/lab/cluster-config.env", text=settings),
        FleetFile(path="clusters/lab/gpu-node-modes/nodefeaturerule.yaml", text=rule_file(fleet)),
    )
    data = {"GPU_SHARED_CREATION_ENABLED": live, "GPU_VM_CREATION_ENABLED": "false"}
    seen: dict[str, Any] = {
        "fleet": FleetTree(branch="main", revision="a" * 40, files=files),
        "ledger": LedgerFacts({"v100-vm": frozenset({"acc-7"})}, {}, ()),
        "push": None,
        "config": ConfigMap.model_validate({"metadata": {"name": "cluster-config"}, "data": data}),
        "copies": GateCopies(),
        "state": state or NodeState(node(), (plugin(PLUGIN_OWNER[FROM]),)),
    }
    return ModeFacts(**{**seen, **more})


def request(**more: Any) -> ModeRequest:
    return ModeRequest("lab", "acc-7", FROM, TO, **more)


def at_target(**more: Any) -> NodeState:
    return NodeState(node(TO, TO, **more), (plugin(PLUGIN_OWNER[TO]),))


def stops(verdict: Verdict) -> set[str]:
    assert verdict.action is Action.REFUSED
    return {check.id for check in stopping(verdict.checks)}


# Inputs


@pytest.mark.parametrize(
    ("from_mode", "to_mode", "code"),
    [
        ("pod-hami", "vm-vgpu", "mode-unsupported"),
        ("shared", "vm-passthrough", "mode-unsupported"),
        ("", "", "mode-unsupported"),
        ("pod-hami", "Pod-hami", "mode-unsupported"),
        ("pod-hami", "pod-hami", "mode-pair-pointless"),
    ],
)
def test_modes_are_known_and_different(from_mode: str, to_mode: str, code: str) -> None:
    with pytest.raises(InputError) as stopped:
        ModeRequest("lab", "acc-7", from_mode, to_mode).validate()
    assert stopped.value.code == code
    assert "acc-7" in stopped.value.message


@pytest.mark.parametrize("name", ["", "Acc-7", "acc_7", "a" * 300, "acc-7/x"])
def test_the_node_has_a_nodes_name(name: str) -> None:
    with pytest.raises(InputError):
        ModeRequest("lab", name, FROM, TO).validate()


@pytest.mark.parametrize(("timeout", "poll"), [(0, 5), (-1, 5), (900, 0), (900, -1)])
def test_a_wait_has_a_length_and_is_no_busy_loop(timeout: float, poll: float) -> None:
    with pytest.raises(InputError, match="more than zero"):
        validate_timing(timeout, poll)


# No-op


@pytest.mark.parametrize("consent", [True, False])
def test_a_healthy_target_is_left_alone_whatever_else(consent: bool) -> None:
    pods = (plugin(PLUGIN_OWNER[TO]), holder())
    seen = facts(
        fleet=TO,
        gates="true",
        live="true",
        state=NodeState(node(TO, TO), pods),
        push=UNREAD,
        copies=UNREAD,
        ledger=LedgerFacts({"v100-vm": frozenset({"acc-7"})}, LOCKED, UNREAD),
    )
    verdict = judge(request(resume_cordoned=consent), seen)
    assert verdict.action is Action.UNCHANGED
    assert planned_steps(request(), verdict, branch="main", timeout=900, poll=5) == ()


@pytest.mark.parametrize(
    "state",
    [
        at_target(cordoned=True),
        at_target(ready="False"),
        at_target(ready="Unknown"),
        NodeState(node(TO, TO), ()),
        NodeState(node(TO, TO), (plugin(PLUGIN_OWNER[TO], terminating=True),)),
        NodeState(node(TO, TO), (plugin(PLUGIN_OWNER[TO]), plugin(PLUGIN_OWNER[FROM], terminating=True))),
        NodeState(node(TO, TO), (plugin(PLUGIN_OWNER[TO]), plugin("nvidia-device-plugin-daemonset"))),
        NodeState(node(TO, TO), UNREAD),
        NodeState(UNREAD, (plugin(PLUGIN_OWNER[TO]),)),
        NodeState(node(TO, FROM), (plugin(PLUGIN_OWNER[TO]),)),
    ],
)
def test_anything_less_is_no_no_op(state: NodeState) -> None:
    assert judge(request(), facts(fleet=TO, gates="true", state=state)).action is Action.REFUSED


# Stages, in their order


def test_a_normal_run_begins() -> None:
    verdict = judge(request(), facts(modes="acc-7=pod-hami,acc-8=pod-hami"))
    assert verdict.action is Action.BEGIN
    assert verdict.cordon is CordonWrite.CORDON
    assert verdict.pools == ("v100-vm",)
    assert verdict.edit is not None
    assert [after.path.rsplit("/", 1)[1] for _, after in verdict.edit.files] == [
        "nodefeaturerule.yaml",
        "cluster-config.env",
    ]
    assert b"GPU_NODE_MODES=acc-7=vm-passthrough,acc-8=pod-hami" in (verdict.edit.files[1][1].content)


BROKEN: dict[str, dict[str, Any]] = {
    "fleet-pushable": {"push": UNREAD},
    "creation-gate": {"gates": "true"},
    "node-readable": {"state": NodeState(UNREAD, ())},
    "mode-agreement": {"state": NodeState(node(FROM, None), ())},
    "holders": {"state": NodeState(node(), (holder(),))},
    "cordon": {"state": NodeState(node(cordoned=True), ())},
}


@pytest.mark.parametrize("first", range(len(BROKEN)))
@pytest.mark.parametrize("second", range(len(BROKEN)))
def test_the_first_stage_with_a_problem_decides(first: int, second: int) -> None:
    codes = list(BROKEN)
    if first >= second or ("state" in BROKEN[codes[first]] and "state" in BROKEN[codes[second]]):
        return
    verdict = judge(request(), facts(**{**BROKEN[codes[second]], **BROKEN[codes[first]]}))
    assert stops(verdict) == {codes[first]}


def test_every_problem_of_a_stage_is_reported() -> None:
    seen = facts(state=NodeState(None, UNREAD))
    tree = replace_files(seen, {})
    assert stops(judge(request(), replace(seen, fleet=tree))) == {"creation-gate"}
    no_rule = replace_files(seen, {"clusters/lab/cluster-config.env": settings()})
    assert stops(judge(request(), replace(seen, fleet=no_rule))) == {
        "node-readable",
        "pods-readable",
        "node-rule",
    }


def settings() -> str:
    return "GPU_SHARED_CREATION_ENABLED=false\nGPU_VM_CREATION_ENABLED=false\n"


def replace_files(seen: ModeFacts, files: dict[str, str]) -> FleetTree:
    return FleetTree(
        branch="main",
        revision=seen.fleet.revision,
        files=tuple(FleetFile(path=path, text=text) for path, text in files.items()),
    )


def test_a_lock_of_somebody_else_stops_and_our_own_does_not() -> None:
    theirs = facts(ledger=LedgerFacts({"v100-vm": frozenset({"acc-7"})}, LOCKED, ()))
    verdict = judge(request(), theirs)
    assert stops(verdict) == {"pool-lock"}
    assert "lab-1" in stopping(verdict.checks)[0].message
    ours = {"v100-vm": HeldPool("transition:acc-7", "01RUN", "2026-01-02T03:04:05Z", "cordon")}
    mine = facts(ledger=LedgerFacts({"v100-vm": frozenset({"acc-7"})}, ours, ()))
    assert judge(request(), mine).action is Action.BEGIN


def test_without_a_pool_no_lock_is_looked_at() -> None:
    verdict = judge(request(), facts(ledger=LedgerFacts({"h100-vm": frozenset({"gpu-01"})}, UNREAD, UNREAD)))
    assert verdict.action is Action.BEGIN
    assert verdict.pools == ()


@pytest.mark.parametrize(
    "ledger", [LedgerFacts(UNREAD, {}, ()), LedgerFacts({"v100-vm": frozenset({"acc-7"})}, UNREAD, ())]
)
def test_an_unreadable_ledger_is_not_an_empty_one(ledger: LedgerFacts) -> None:
    assert stops(judge(request(), facts(ledger=ledger))) == {"ledger-invalid"}


@pytest.mark.parametrize("config", [None, UNREAD])
def test_a_live_copy_that_is_missing_or_unreadable_is_open(config: Any) -> None:
    assert stops(judge(request(), facts(config=config))) == {"creation-gate"}


def test_unreadable_copies_and_a_rollout_on_its_way_are_not_closed() -> None:
    closed = {"GPU_SHARED_CREATION_ENABLED": "false", "GPU_VM_CREATION_ENABLED": "false"}
    going = GateCopies(deployment=closed, deployment_rolled_out=False)
    for copies in (UNREAD, going, GateCopies(helmrelease={})):
        assert stops(judge(request(), facts(copies=copies))) == {"creation-gate"}
    done = GateCopies(deployment=closed, deployment_rolled_out=True, helmrelease=closed)
    assert judge(request(), facts(copies=done)).action is Action.BEGIN


def test_a_preview_may_take_open_gates_for_closed_but_no_unread_ones() -> None:
    later = request(gates_closed_first=True)
    verdict = judge(later, facts(gates="true", live="true"))
    assert verdict.action is Action.BEGIN
    assert planned_steps(later, verdict, branch="main", timeout=900, poll=5)[0] == "close both creation gates"
    assert stops(judge(later, facts(config=UNREAD))) == {"creation-gate"}


@pytest.mark.parametrize("modes", ["acc-7=vm-passthrough", "acc-7=pod-hami,acc-7=pod-hami", "acc-7="])
def test_the_list_of_modes_must_not_contradict_the_rule(modes: str) -> None:
    assert stops(judge(request(), facts(modes=modes))) == {"node-modes-entry"}


# Modes, resume, cordon


@pytest.mark.parametrize("fleet", MODES)
@pytest.mark.parametrize("active", [*MODES, None, "odd"])
@pytest.mark.parametrize("expected", [*MODES, None])
@pytest.mark.parametrize("cordoned", [True, False])
@pytest.mark.parametrize("consent", [True, False])
def test_what_is_drift_and_what_is_on_its_way(
    fleet: str, active: str | None, expected: str | None, cordoned: bool, consent: bool
) -> None:
    state = NodeState(node(active, expected, cordoned=cordoned), ())
    verdict = judge(request(resume_cordoned=consent), facts(fleet=fleet, state=state))
    labels = (active, expected)
    begins = fleet == FROM and labels == (FROM, FROM)
    resumes = fleet == TO and (
        labels == (TO, TO) or (cordoned and consent and all(label in (FROM, TO) for label in labels))
    )
    if not begins and not resumes:
        assert stops(verdict) == {"mode-agreement"}
    elif cordoned and not consent:
        assert stops(verdict) == {"cordon"}
    else:
        assert verdict.action is (Action.RESUME if resumes else Action.BEGIN)
        assert (verdict.edit is None) is resumes


OURS = {"gpuops.reservations/cordon": '{"by": "transition", "id": "01RUN", "since": "2026-01-02T03:04:05Z"}'}
RESERVED = {
    "gpuops.reservations/cordon": '{"by": "reservation", "id": "foo", "since": "2026-01-02T03:04:05Z"}'
}
ODD = {"gpuops.reservations/cordon": "yes"}


@pytest.mark.parametrize(
    ("annotations", "write"),
    [
        ({}, CordonWrite.ANNOTATE),
        (RESERVED, CordonWrite.ANNOTATE),
        (ODD, CordonWrite.ANNOTATE),
        (OURS, CordonWrite.NOTHING),
    ],
)
def test_consent_adopts_a_cordon_with_our_annotation(annotations: dict[str, str], write: CordonWrite) -> None:
    state = NodeState(node(cordoned=True, annotations=annotations), ())
    assert judge(request(resume_cordoned=True), facts(state=state)).cordon is write


def test_a_resumption_writes_no_cordon_unless_there_is_none() -> None:
    consenting = request(resume_cordoned=True)
    assert judge(consenting, facts(fleet=TO, state=at_target(cordoned=True))).cordon is CordonWrite.NOTHING
    verdict = judge(consenting, facts(fleet=TO, state=at_target(ready="False")))
    assert (verdict.action, verdict.cordon) == (Action.RESUME, CordonWrite.CORDON)


def test_a_person_who_keeps_the_node_is_asked() -> None:
    kept = NodeState(node(cordoned=True, annotations={"gpuops.reservations/keep-cordoned": ""}), ())
    assert stops(judge(request(resume_cordoned=True), facts(state=kept))) == {"kept-cordoned"}


@pytest.mark.parametrize("broken", ["fleet-pushable", "creation-gate", "holders"])
def test_consent_waives_nothing_else(broken: str) -> None:
    verdict = judge(request(resume_cordoned=True), facts(**BROKEN[broken]))
    assert stops(verdict) == {broken}


# Sequential pools


BACK = ModeRequest("lab", "acc-7", TO, FROM)


@pytest.mark.parametrize("state", ["pending", "active", "releasing"])
def test_a_live_reservation_of_the_pool_keeps_the_node(state: str) -> None:
    live = (LiveRecord("gpu-res-lab-3", "v100-vm", "borealis", state),)
    ledger = LedgerFacts({"v100-vm": frozenset({"acc-7"})}, {}, live)
    verdict = judge(BACK, facts(fleet=TO, state=NodeState(node(TO, TO), ()), ledger=ledger))
    assert stops(verdict) == {"sequential-pool-conflict"}
    assert "gpu-res-lab-3" in stopping(verdict.checks)[0].message


def test_reservations_of_other_pools_do_not() -> None:
    live = (LiveRecord("gpu-res-lab-0", "h100-vm", "cumulus", "active"),)
    ledger = LedgerFacts({"v100-vm": frozenset({"acc-7"})}, {}, live)
    verdict = judge(BACK, facts(fleet=TO, state=NodeState(node(TO, TO), ()), ledger=ledger))
    assert verdict.action is Action.BEGIN


def test_an_invalid_ledger_keeps_the_node_too() -> None:
    ledger = LedgerFacts({"v100-vm": frozenset({"acc-7"})}, {}, UNREAD)
    verdict = judge(BACK, facts(fleet=TO, state=NodeState(node(TO, TO), ()), ledger=ledger))
    assert stops(verdict) == {"ledger-invalid"}


# What is said


def test_a_refusal_carries_everything_and_its_class_says_whether_all_was_known() -> None:
    verdict = judge(request(), facts(**BROKEN["holders"]))
    error = refusal(request(), verdict, cordoned=False)
    assert isinstance(error, PolicyBlocked)
    assert error.report["holders"][0]["name"] == "train-0"
    assert error.report["cordoned"] is False
    unknown = judge(request(), facts(**BROKEN["node-readable"]))
    assert isinstance(refusal(request(), unknown, cordoned=None), ObservationError)


def test_the_plan_is_in_the_order_of_the_steps() -> None:
    verdict = judge(request(), facts(modes="acc-7=pod-hami"))
    steps = planned_steps(request(), verdict, branch="main", timeout=900, poll=5)
    begins = [
        "take the lock",
        "cordon node",
        "read the node",
        "edit",
        "edit",
        "commit",
        "push",
        "wait",
        "uncordon",
        "let go",
    ]
    assert len(steps) == len(begins)
    assert all(step.startswith(word) for step, word in zip(steps, begins, strict=True))


# Properties: doubt is never a yes


DOUBTS: list[dict[str, Any]] = [
    {"push": UNREAD},
    {"config": UNREAD},
    {"config": None},
    {"copies": UNREAD},
    {"state": NodeState(UNREAD, ())},
    {"state": NodeState(node(), UNREAD)},
    {"state": NodeState(None, ())},
    {"ledger": LedgerFacts(UNREAD, {}, ())},
    {"ledger": LedgerFacts({"v100-vm": frozenset({"acc-7"})}, UNREAD, ())},
]


@given(st.lists(st.sampled_from(DOUBTS), min_size=1, max_size=4), st.booleans(), st.sampled_from([FROM, TO]))
def test_whatever_is_unread_nothing_begins(doubts: list[dict[str, Any]], consent: bool, fleet: str) -> None:
    broken: dict[str, Any] = {}
    for doubt in doubts:
        broken.update(doubt)
    verdict = judge(request(resume_cordoned=consent), facts(fleet=fleet, **broken))
    assert verdict.action is Action.REFUSED
    assert any(check.status == "unknown" for check in verdict.checks) or fleet == TO


@given(st.lists(st.sampled_from(["holder", "open", "locked"]), min_size=1, unique=True))
def test_more_problems_never_make_a_yes(problems: list[str]) -> None:
    more: dict[str, Any] = {}
    if "holder" in problems:
        more["state"] = NodeState(node(), (holder(),))
    if "open" in problems:
        more["live"] = "true"
    if "locked" in problems:
        more["ledger"] = LedgerFacts({"v100-vm": frozenset({"acc-7"})}, LOCKED, ())
    assert judge(request(), facts(**more)).action is Action.REFUSED
