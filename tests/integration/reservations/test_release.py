# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Growing and shrinking a Reservation: notice, cordon, drain, clean up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import (
    GpuopsError,
    PartialChange,
    PolicyBlocked,
)
from ansible_collections.gpuops.reservations.tests.integration.reservations.stage import (
    NODES,
    RESERVATIONS,
    Stage,
    pods,
    shown_taints,
    until,
)

Json = dict[str, Any]
FOO = "tenant-foo"
CORDON = "gpuops.reservations/cordon"


@pytest.fixture
def held(stage: Stage) -> Stage:
    """train-01 and train-04 are tenant-foo's."""
    stage.reserve("foo", FOO, ["train-01", "train-04"])
    stage.bind(FOO, "foo")
    stage.reconcile()
    stage.injected(FOO)
    return stage


def events(stage: Stage) -> list[Json]:
    found = stage.items(f"/api/v1/namespaces/{FOO}/events")
    return [one for one in found if one["involvedObject"]["kind"] == "ReservationBinding"]


def forget_events(stage: Stage) -> None:
    stage.admin.delete(f"/api/v1/namespaces/{FOO}/events")


def phases(stage: Stage) -> dict[str, str]:
    status = stage.get(f"{RESERVATIONS}/foo")["status"]
    return {node["name"]: node["phase"] for node in status["nodes"]}


def free(stage: Stage, name: str) -> bool:
    node = stage.node(name)
    marked = [key for key in node["metadata"].get("annotations", {}) if key.startswith("gpuops.")]
    return (
        "reserved.tenant" not in node["metadata"]["labels"]
        and not marked
        and not shown_taints(node)
        and not node["spec"].get("unschedulable")
    )


def fill(stage: Stage, node: str, name: str = "job", **spec: Any) -> None:
    """A Pod of the tenant on this very node."""
    stage.run_pod(name, FOO, nodeSelector={"kubernetes.io/hostname": node}, **spec)


def test_an_added_node_is_used_by_the_next_pod(held: Stage) -> None:
    for number, node in enumerate(("train-01", "train-04")):
        fill(held, node, f"job-{number}")
    held.edit_reservation("foo", reservedNodes=["train-01", "train-04", "train-05"])
    outcome = held.reconcile()
    assert outcome.changed
    assert held.run_pod("next", FOO) == "train-05"


def test_a_busy_node_drains_over_several_passes_and_is_free_only_then(held: Stage) -> None:
    forget_events(held)
    fill(held, "train-04")
    held.edit_reservation("foo", reservedNodes=["train-01"])
    first = held.reconcile()
    assert [one["kind"] for one in first.result["notices"]] == ["release"]
    told = [one for one in events(held) if "train-04" in one["message"]]
    assert len(told) == 1
    assert told[0]["involvedObject"]["name"] == "tenant-foo-binding"
    node = held.node("train-04")
    assert node["spec"]["unschedulable"]
    assert json.loads(node["metadata"]["annotations"][CORDON])["by"] == "reservation"
    assert shown_taints(node) == [f"reserved={FOO}:NoSchedule"]
    for _ in range(2):
        again = held.reconcile()
        assert not again.changed
        assert phases(held) == {"train-01": "Reserved", "train-04": "Draining"}
        assert again.result["reservations"][0]["nodes"][1]["tenantPods"] == 1
    held.delete_pod("job", FOO)
    last = held.reconcile()
    assert last.changed
    assert free(held, "train-04")
    assert phases(held) == {"train-01": "Reserved"}
    assert len([one for one in events(held) if "train-04" in one["message"]]) == 1


def test_an_idle_node_is_told_and_freed_in_one_pass(held: Stage) -> None:
    forget_events(held)
    held.edit_reservation("foo", reservedNodes=["train-01"])
    held.reconcile()
    assert free(held, "train-04")
    assert len(events(held)) == 1


def test_back_on_the_list_while_it_drains(held: Stage) -> None:
    fill(held, "train-04")
    held.edit_reservation("foo", reservedNodes=["train-01"])
    held.reconcile()
    held.edit_reservation("foo", reservedNodes=["train-01", "train-04"])
    held.reconcile()
    node = held.node("train-04")
    assert not node["spec"].get("unschedulable")
    assert CORDON not in node["metadata"]["annotations"]
    assert phases(held) == {"train-01": "Reserved", "train-04": "Reserved"}


def test_a_budget_that_allows_nothing_holds_the_eviction(held: Stage) -> None:
    fill(held, "train-04")
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "none", "namespace": FOO},
        "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app.kubernetes.io/managed-by": FOO}}},
    }
    path = f"/apis/policy/v1/namespaces/{FOO}/poddisruptionbudgets"
    held.admin.create(path, budget)
    until(
        "the budget is observed", lambda: held.get(f"{path}/none").get("status", {}).get("observedGeneration")
    )
    held.edit_reservation("foo", reservedNodes=["train-01"], evictOnRelease=True)
    for _ in range(2):
        outcome = held.reconcile()
        said = [one for one in outcome.result["notices"] if one["kind"] == "eviction"]
        assert len(said) == 1
        assert "PodDisruptionBudget allows no eviction" in said[0]["message"]
        assert phases(held)["train-04"] == "Draining"
        assert held.exists(f"{pods(FOO)}/job")
    held.admin.delete(f"{path}/none")
    held.reconcile()
    until("the Pod is gone", lambda: not held.exists(f"{pods(FOO)}/job"))
    held.reconcile()
    assert free(held, "train-04")


def test_two_budgets_over_one_pod_are_named_as_what_never_resolves(held: Stage) -> None:
    fill(held, "train-04")
    path = f"/apis/policy/v1/namespaces/{FOO}/poddisruptionbudgets"
    for name in ("one", "two"):
        selector = {"matchLabels": {"app.kubernetes.io/managed-by": FOO}}
        budget = {"metadata": {"name": name}, "spec": {"minAvailable": 0, "selector": selector}}
        held.admin.create(path, {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", **budget})
    held.edit_reservation("foo", reservedNodes=["train-01"], evictOnRelease=True)
    outcome = held.reconcile()
    [said] = [one for one in outcome.result["notices"] if one["kind"] == "eviction"]
    assert f"{FOO}/job: more than one PodDisruptionBudget covers it" in said["message"]
    assert phases(held)["train-04"] == "Draining"


def test_eviction_that_is_switched_on_during_a_drain_takes_effect(held: Stage) -> None:
    fill(held, "train-04")
    held.edit_reservation("foo", reservedNodes=["train-01"])
    held.reconcile()
    assert held.exists(f"{pods(FOO)}/job")
    held.edit_reservation("foo", evictOnRelease=True)
    held.reconcile()
    until("the Pod is gone", lambda: not held.exists(f"{pods(FOO)}/job"))
    held.reconcile()
    assert free(held, "train-04")


def test_out_of_time_fails_and_leaves_it_draining(held: Stage) -> None:
    fill(held, "train-04")
    held.edit_reservation("foo", reservedNodes=["train-01"])
    with pytest.raises(PartialChange) as caught:
        held.reconcile(wait=True, wait_timeout=1, poll_interval=0.2)
    assert caught.value.code == "drain-timeout"
    assert phases(held)["train-04"] == "Draining"
    assert not free(held, "train-04")


def test_waiting_ends_when_the_pod_has_gone(held: Stage) -> None:
    fill(held, "train-04", terminationGracePeriodSeconds=0)
    held.edit_reservation("foo", reservedNodes=["train-01"], evictOnRelease=True)
    outcome = held.reconcile(wait=True, wait_timeout=60, poll_interval=0.2)
    assert outcome.changed
    assert free(held, "train-04")


def test_an_administrator_s_cordon_stays(held: Stage) -> None:
    held.admin.patch(f"{NODES}/train-04", {"spec": {"unschedulable": True}})
    held.edit_reservation("foo", reservedNodes=["train-01"])
    held.reconcile()
    node = held.node("train-04")
    assert node["spec"]["unschedulable"]
    assert "reserved.tenant" not in node["metadata"]["labels"]
    assert CORDON not in node["metadata"].get("annotations", {})


def test_a_cordon_that_a_person_keeps_stays(held: Stage) -> None:
    keep = {"gpuops.reservations/keep-cordoned": "disk is replaced"}
    fill(held, "train-04")
    held.edit_reservation("foo", reservedNodes=["train-01"])
    held.reconcile()
    held.admin.patch(f"{NODES}/train-04", {"metadata": {"annotations": keep}})
    held.delete_pod("job", FOO)
    held.reconcile()
    node = held.node("train-04")
    assert node["spec"]["unschedulable"]
    assert CORDON not in node["metadata"]["annotations"]
    assert shown_taints(node) == []


def test_uncordoned_by_a_person_it_is_cordoned_again(held: Stage) -> None:
    fill(held, "train-04")
    held.edit_reservation("foo", reservedNodes=["train-01"])
    held.reconcile()
    held.admin.patch(f"{NODES}/train-04", {"spec": {"unschedulable": False}})
    outcome = held.reconcile()
    assert [one["kind"] for one in outcome.result["notices"]] == ["uncordoned"]
    assert held.node("train-04")["spec"]["unschedulable"]


def test_a_deleted_reservation_goes_when_its_last_node_is_free(held: Stage) -> None:
    fill(held, "train-04")
    held.admin.delete(f"{RESERVATIONS}/foo")
    held.reconcile()
    assert free(held, "train-01")
    assert held.exists(f"{RESERVATIONS}/foo")
    held.delete_pod("job", FOO)
    outcome = held.reconcile()
    assert outcome.result["reservations"][0]["deleted"]
    assert free(held, "train-04")
    assert not held.exists(f"{RESERVATIONS}/foo")


def test_a_node_whose_reservation_is_gone_is_released_in_the_same_way(held: Stage) -> None:
    fill(held, "train-04")
    held.admin.patch(f"{RESERVATIONS}/foo", {"metadata": {"finalizers": None}})
    held.admin.delete(f"{RESERVATIONS}/foo")
    held.reconcile()
    assert free(held, "train-01")
    assert held.node("train-04")["spec"]["unschedulable"]
    held.delete_pod("job", FOO)
    held.reconcile()
    assert free(held, "train-04")


def test_a_notice_that_cannot_be_given_cordons_nothing(held: Stage) -> None:
    held.edit_reservation("foo", reservedNodes=["train-01"])
    with pytest.raises(GpuopsError) as caught:
        held.reconcile(notified=[])
    assert caught.value.code == "notice-not-given"
    node = held.node("train-04")
    assert not node["spec"].get("unschedulable")
    assert node["metadata"]["labels"]["reserved.tenant"] == FOO
    ahead = held.reconcile(check_mode=True)
    held.reconcile(notified=ahead.result["release_ids"])
    assert free(held, "train-04")


TELL = """
- name: Remember what was told
  ansible.builtin.lineinfile:
    path: {path}
    line: "{{{{ gpuops_event.kind }}}} {{{{ gpuops_event.organization }}}} {{{{ gpuops_event.message }}}}"
    create: true
    mode: "0600"
"""


def test_hooks_tell_the_tenant_before_the_node_is_cordoned(held: Stage, tmp_path: Path) -> None:
    fill(held, "train-04")
    held.edit_reservation("foo", reservedNodes=["train-01"])
    broken, hook, told = tmp_path / "broken.yml", tmp_path / "tell.yml", tmp_path / "told"
    hook.write_text(TELL.format(path=told))
    broken.write_text("- name: The chat is down\n  ansible.builtin.fail:\n    msg: the chat is down\n")

    def play(*hooks: Path, check: bool = True) -> str:
        names = json.dumps({"notify_tasks": [str(one) for one in hooks]})
        return held.play("reservations", "-e", names, check=check).stdout

    assert "the chat is down" in play(hook, broken, check=False)
    assert not held.node("train-04")["spec"].get("unschedulable")
    told.unlink()
    play(hook)
    assert held.node("train-04")["spec"]["unschedulable"]
    [line] = told.read_text().splitlines()
    assert line.startswith(f"reservation-release {FOO} node train-04 is taken out of Reservation foo")
    play(hook)
    assert len(told.read_text().splitlines()) == 1


def test_a_newcomer_on_a_draining_node_is_named(held: Stage) -> None:
    fill(held, "train-04")
    held.edit_reservation("foo", reservedNodes=["train-01"])
    held.reconcile()
    stamp = json.loads(held.node("train-04")["metadata"]["annotations"][CORDON])
    stamp["since"] = "2020-01-01T00:00:00Z"
    held.admin.patch(f"{NODES}/train-04", {"metadata": {"annotations": {CORDON: json.dumps(stamp)}}})
    outcome = held.reconcile()
    named = [one for one in outcome.result["notices"] if one["kind"] == "newcomers"]
    assert len(named) == 1
    assert f"{FOO}/job" in named[0]["message"]


def test_check_mode_writes_nothing(held: Stage) -> None:
    held.edit_reservation("foo", reservedNodes=["train-05"])
    before = held.get(NODES)["metadata"]["resourceVersion"]
    nodes = {node["metadata"]["name"]: node["spec"] for node in held.items(NODES)}
    outcome = held.reconcile(check_mode=True)
    assert outcome.changed
    assert outcome.plan
    assert {node["metadata"]["name"]: node["spec"] for node in held.items(NODES)} == nodes
    assert held.get(f"{RESERVATIONS}/foo")["status"]["observedGeneration"] == 1
    assert before


def test_the_module_creates_changes_and_deletes(stage: Stage) -> None:
    wish = {"state": "present", "name": "foo", "tenant": FOO, "reserved_nodes": ["train-01"]}
    ahead = stage.reconcile(**wish, check_mode=True)
    assert ahead.plan is not None
    assert ahead.plan[0] == "create Reservation foo"
    assert not stage.exists(f"{RESERVATIONS}/foo")
    assert stage.reconcile(**wish).changed
    assert not stage.reconcile(**wish).changed
    assert phases(stage) == {"train-01": "Reserved"}
    with pytest.raises(GpuopsError) as caught:
        stage.reconcile(state="present", name="foo", taint_effect="NoExecute")
    assert caught.value.code == "field-immutable"
    stage.reconcile(state="absent", name="foo")
    assert not stage.exists(f"{RESERVATIONS}/foo")
    assert free(stage, "train-01")
    assert not stage.reconcile(state="absent", name="foo").changed


def test_no_execute_is_set_with_consent_only(stage: Stage) -> None:
    stage.reserve("foo", FOO, ["train-01"], taintEffect="NoExecute")
    stage.bind(FOO, "foo")
    with pytest.raises(PolicyBlocked) as caught:
        stage.reconcile()
    assert caught.value.report["reservations"][0]["reason"] == "EvictionNotAllowed"
    stage.reconcile(allow_eviction=True)
    assert shown_taints(stage.node("train-01")) == [f"reserved={FOO}:NoExecute"]
    stage.injected(FOO)

    def both() -> bool:
        made = stage.tenants[FOO].create(pods(FOO), stage.pod("probe", FOO), dry_run=True)
        effects = {one["effect"] for one in made["spec"]["tolerations"] if one.get("key") == "reserved"}
        return effects == {"NoSchedule", "NoExecute"}

    until("both effects are tolerated", both)
    assert stage.run_pod("job", FOO) == "train-01"
    assert not stage.reconcile().changed
