# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The one patch that makes a node carry its marks, or lose them."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpuops.reservations.plugins.module_utils._core.reservation_marks import (
    Title,
    drain_patch,
    drift,
    free_patch,
    hold_patch,
    orphan_title,
    sets_no_execute,
    shown,
    strange_taints,
    title_of,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.reservation_objects import (
    ReservableNode,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.tenant_nodes import (
    BAR,
    CORDON,
    FOO,
    NOW,
    RESERVED_BY,
    cordon_mark,
    draining_node,
    held_node,
    node,
    reservation,
    taint,
)

KEEP = "gpuops.reservations/keep-cordoned"
TITLE = title_of(reservation(nodes=["n1"]))
OTHERS = [{"key": "dedicated", "value": "x", "effect": "NoExecute", "timeAdded": "2026-11-01T00:00:00Z"}]


def applied(before: ReservableNode, patch: dict[str, Any] | None) -> ReservableNode:
    """The node after a merge patch, as the API server makes it."""

    def merge(target: Any, change: Any) -> Any:
        if not isinstance(change, dict):
            return change
        result = dict(target) if isinstance(target, dict) else {}
        for key, value in change.items():
            if value is None:
                result.pop(key, None)
            else:
                result[key] = merge(result.get(key), value)
        return result

    document = copy.deepcopy(before.model_dump(by_alias=True, mode="json"))
    return ReservableNode.model_validate(merge(document, patch or {}))


def test_taking_is_one_patch_of_label_annotation_and_taint() -> None:
    assert hold_patch(node("n1", taints=OTHERS), TITLE) == {
        "metadata": {"labels": {"reserved.tenant": FOO}, "annotations": {RESERVED_BY: "foo"}},
        "spec": {"taints": [*OTHERS, taint()]},
    }


def test_without_apply_taint_none_is_set() -> None:
    title = title_of(reservation(nodes=["n1"], applyTaint=False))
    assert "spec" not in (hold_patch(node("n1"), title) or {})


def test_a_node_that_is_right_needs_nothing() -> None:
    assert hold_patch(held_node("n1", taints=OTHERS), TITLE) is None


@pytest.mark.parametrize(
    ("changed", "lacks"),
    [
        (node("n1", labels={"reserved.tenant": FOO}, annotations={RESERVED_BY: "foo"}), "taint"),
        (held_node("n1", labels={"reserved.tenant": BAR}), "label"),
        (held_node("n1", annotations={RESERVED_BY: "bar"}), "annotation"),
    ],
)
def test_what_was_changed_by_hand_comes_back(changed: ReservableNode, lacks: str) -> None:
    assert len(drift(changed, TITLE)) == 1
    assert drift(changed, TITLE)[0].startswith(lacks)
    after = applied(changed, hold_patch(changed, TITLE))
    assert drift(after, TITLE) == ()


def test_another_value_in_our_taint_s_place_is_drift_another_effect_is_not_ours() -> None:
    changed = node(
        "n1",
        labels={"reserved.tenant": FOO},
        annotations={RESERVED_BY: "foo"},
        taints=[taint(BAR), taint(FOO, "NoExecute")],
    )
    after = applied(changed, hold_patch(changed, TITLE))
    assert list(after.spec.taints) == [taint(FOO, "NoExecute"), taint()]
    assert strange_taints(after, TITLE) == ("reserved=tenant-foo:NoExecute",)


def test_draining_cordons_and_stamps_and_keeps_the_marks() -> None:
    patch = drain_patch(held_node("n1"), TITLE, NOW)
    assert patch is not None
    assert patch["spec"] == {"unschedulable": True}
    stamp = json.loads(patch["metadata"]["annotations"][CORDON])
    assert stamp == {"by": "reservation", "id": "foo", "since": NOW}


def test_a_cordon_of_somebody_else_is_not_stamped() -> None:
    assert drain_patch(held_node("n1", unschedulable=True), TITLE, NOW) is None
    mark = {CORDON: cordon_mark("n1", by="transition")}
    assert drain_patch(held_node("n1", annotations=mark), TITLE, NOW) is None


def test_uncordoned_while_it_drains_it_is_cordoned_again_with_the_first_stamp() -> None:
    loose = held_node("n1", annotations={CORDON: cordon_mark()})
    assert drain_patch(loose, TITLE, NOW) == {"spec": {"unschedulable": True}}


def test_back_on_the_list_our_cordon_goes() -> None:
    after = applied(draining_node("n1"), hold_patch(draining_node("n1"), TITLE))
    assert not after.spec.unschedulable
    assert CORDON not in after.metadata.annotations


def test_a_person_s_cordon_stays_when_it_is_held_again() -> None:
    assert hold_patch(held_node("n1", unschedulable=True), TITLE) is None
    kept = draining_node("n1", annotations={KEEP: ""})
    assert applied(kept, hold_patch(kept, TITLE)).spec.unschedulable


def test_freeing_takes_ours_and_nothing_else() -> None:
    before = draining_node("n1", taints=OTHERS, labels={"rack": "a"}, annotations={"owner": "x"})
    after = applied(before, free_patch(before, TITLE))
    assert after.metadata.labels == {"rack": "a"}
    assert after.metadata.annotations == {"owner": "x"}
    assert list(after.spec.taints) == OTHERS
    assert not after.spec.unschedulable
    assert free_patch(after, TITLE) is None


def test_freeing_keeps_a_cordon_that_is_not_ours_or_that_a_person_keeps() -> None:
    for before in (
        held_node("n1", unschedulable=True),
        draining_node("n1", annotations={KEEP: "disk"}),
        held_node("n1", unschedulable=True, annotations={CORDON: cordon_mark("n1", by="transition")}),
    ):
        after = applied(before, free_patch(before, TITLE))
        assert after.spec.unschedulable
        assert RESERVED_BY not in after.metadata.annotations


def test_an_orphan_loses_its_tenant_s_taint_whatever_the_effect() -> None:
    orphan = held_node("n1", "ghost", taints=[taint(FOO, "NoExecute"), taint(BAR, "PreferNoSchedule")])
    after = applied(orphan, free_patch(orphan, orphan_title(orphan)))
    assert list(after.spec.taints) == [taint(BAR, "PreferNoSchedule")]
    assert "reserved.tenant" not in after.metadata.labels


def test_an_orphan_is_cordoned_without_new_marks() -> None:
    orphan = node("n1", annotations={RESERVED_BY: "ghost"})
    patch = drain_patch(orphan, orphan_title(orphan), NOW)
    assert patch is not None
    assert "labels" not in patch["metadata"]
    assert "taints" not in patch["spec"]


def test_no_execute_is_noticed_only_where_it_is_new() -> None:
    title = Title("foo", FOO, taint(FOO, "NoExecute"))
    fresh = node("n1")
    assert sets_no_execute(fresh, hold_patch(fresh, title))
    there = node("n1", taints=[taint(FOO, "NoExecute")])
    assert not sets_no_execute(there, hold_patch(there, title))
    assert not sets_no_execute(fresh, hold_patch(fresh, TITLE))
    assert not sets_no_execute(fresh, None)


def test_a_diff_line_shows_the_marks_before_and_after() -> None:
    before = node("n1")
    assert shown(before) == "n1: reserved.tenant=- by=- taints=[] schedulable"
    assert shown(before, hold_patch(before, TITLE)) == (
        "n1: reserved.tenant=tenant-foo by=foo taints=[reserved=tenant-foo:NoSchedule] schedulable"
    )


@st.composite
def nodes(draw: st.DrawFn) -> ReservableNode:
    marks: dict[str, str] = {}
    if (by := draw(st.sampled_from(("", "foo", "bar", "ghost")))) != "":
        marks[RESERVED_BY] = by
    if (cordon := draw(st.sampled_from(("", "reservation", "transition", "broken")))) != "":
        marks[CORDON] = "no json" if cordon == "broken" else cordon_mark(by=cordon)
    if draw(st.booleans()):
        marks[KEEP] = ""
    tenant = draw(st.sampled_from(("", FOO, BAR)))
    effects = st.sampled_from(("NoSchedule", "NoExecute", "PreferNoSchedule"))
    keys = st.sampled_from(("reserved", "dedicated"))
    taints = draw(
        st.lists(
            st.builds(
                lambda key, effect, value: taint(value, effect, key),
                keys,
                effects,
                st.sampled_from((FOO, BAR)),
            ),
            unique_by=lambda one: (one["key"], one["effect"]),
            max_size=4,
        )
    )
    return node(
        "n1",
        labels={"reserved.tenant": tenant} if tenant else {},
        annotations=marks,
        taints=taints,
        unschedulable=draw(st.booleans()),
    )


def strangers(one: ReservableNode) -> list[Any]:
    return [found for found in one.spec.taints if found["key"] != "reserved"]


@given(nodes())
def test_every_patch_is_settled_after_one_application_and_spares_others(before: ReservableNode) -> None:
    def drained(one: ReservableNode) -> dict[str, Any] | None:
        return drain_patch(one, TITLE, NOW)

    def held(one: ReservableNode) -> dict[str, Any] | None:
        return hold_patch(one, TITLE)

    def freed(one: ReservableNode) -> dict[str, Any] | None:
        return free_patch(one, TITLE)

    for make in (held, drained, freed):
        after = applied(before, make(before))
        assert make(after) is None
        assert strangers(after) == strangers(before)
