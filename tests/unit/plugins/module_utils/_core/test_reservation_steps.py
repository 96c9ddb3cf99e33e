# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What one pass does with each node, and what it tells."""

from __future__ import annotations

from ansible_collections.gpuops.reservations.plugins.module_utils._core.reservation_claims import (
    Consent,
    claims_of,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.reservation_steps import (
    NodeStep,
    findings,
    node_steps,
    step_text,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.reservation_world import (
    ReservationWorld,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.tenant_nodes import (
    BAR,
    CORDON,
    FOO,
    RESERVED_BY,
    binding,
    cordon_mark,
    draining_node,
    held_node,
    node,
    pod,
    reservation,
    taint,
    world,
)


def steps(seen: ReservationWorld, only: str = "") -> tuple[NodeStep, ...]:
    return node_steps(seen, claims_of(seen, Consent()), only)


def kinds(seen: ReservationWorld) -> list[tuple[str, str]]:
    return [(one.kind, one.node) for one in findings(seen, steps(seen))]


def releasing(*, phase: str = "Reserved", one: object = None, evict: bool = False) -> ReservationWorld:
    return world(
        [held_node("n1") if one is None else one],  # type: ignore[list-item]
        [reservation(nodes=["n9"], generation=2, phases={"n1": phase}, evictOnRelease=evict)],
        bindings=[binding(), binding(namespace=BAR)],
        pods=[pod("job", "n1")],
    )


def test_a_new_node_is_taken_and_a_held_one_kept() -> None:
    seen = world([held_node("n1"), node("n2")], [reservation(nodes=["n1", "n2"], phases={"n1": "Reserved"})])
    found = steps(seen)
    assert [(one.kind, one.node.name, one.new) for one in found] == [
        ("hold", "n1", False),
        ("hold", "n2", True),
    ]
    owner = "Reservation foo of tenant tenant-foo"
    assert [step_text(one) for one in found] == [
        (),
        (f"take node n2 for {owner}: label and taint reserved=tenant-foo:NoSchedule",),
    ]


def test_the_tenant_is_told_once_by_its_own_bindings() -> None:
    [step] = steps(releasing())
    assert step.notice is not None
    assert step.notice.bindings == (f"{FOO}/binding",)
    assert "n1" in step.notice.message
    assert "once its Pods there are gone" in step.notice.message
    assert step_text(step) == ("tell tenant tenant-foo that node n1 is released", "cordon node n1")
    assert steps(releasing(phase="Draining"))[0].notice is None
    assert steps(releasing(one=draining_node("n1")))[0].notice is None


def test_the_next_release_of_a_node_is_another_notice() -> None:
    first = steps(releasing())[0].notice
    again = world([held_node("n1")], [reservation(nodes=["n9"], generation=4, phases={"n1": "Reserved"})])
    second = steps(again)[0].notice
    assert first is not None
    assert second is not None
    assert first.id != second.id
    assert first.id == steps(releasing())[0].notice.id  # type: ignore[union-attr]


def test_eviction_is_announced_and_planned() -> None:
    [step] = steps(releasing(evict=True))
    assert step.notice is not None
    assert "evicted, within their disruption budgets" in step.notice.message
    assert step_text(step)[-1] == f"evict from node n1: {FOO}/job"


def test_an_orphan_is_released_unless_one_reservation_is_meant() -> None:
    seen = world([held_node("n1", "ghost"), node("n2")], [reservation(nodes=["n2"])])
    assert [(one.kind, one.node.name) for one in steps(seen)] == [("hold", "n2"), ("drain", "n1")]
    assert [(one.kind, one.node.name) for one in steps(seen, "foo")] == [("hold", "n2")]


def test_a_node_that_carries_nothing_any_more_is_not_released_twice() -> None:
    assert steps(releasing(phase="Draining", one=node("n1"))) == ()


def test_findings_on_held_nodes() -> None:
    seen = world(
        [
            held_node("n1", labels={"reserved.tenant": BAR}),
            held_node("n2", taints=[taint(FOO, "NoExecute")]),
            node("n3"),
        ],
        [reservation(nodes=["n1", "n2", "n3"], phases={"n1": "Reserved", "n2": "Reserved"})],
        pods=[pod("stranger", "n3", BAR)],
    )
    assert kinds(seen) == [("restored", "n1"), ("strange-taint", "n2"), ("strangers", "n3")]


def test_findings_on_draining_nodes() -> None:
    loose = held_node("n1", annotations={CORDON: cordon_mark(since="2026-11-30T09:00:00Z")})
    assert kinds(releasing(one=loose)) == [("uncordoned", "n1"), ("newcomers", "n1")]
    moving = held_node("n1", annotations={CORDON: cordon_mark("n1", by="transition")})
    assert kinds(releasing(one=moving)) == [("uncordoned", "n1")]


def test_marks_that_nothing_explains_are_told_and_left() -> None:
    seen = world([node("n1", labels={"reserved.tenant": BAR}), node("n2", taints=[taint("x")])])
    assert steps(seen) == ()
    assert kinds(seen) == [("unexplained", "n1"), ("unexplained", "n2")]


def test_marks_that_are_explained_are_not_told() -> None:
    labelled = node("n1", labels={"reserved.tenant": FOO})
    assert kinds(world([labelled], [reservation(nodes=["n1"])])) == []
    assert kinds(world([held_node("n1", annotations={RESERVED_BY: "ghost"})])) == []


def test_a_frozen_node_is_left_as_it_is() -> None:
    seen = world(
        [draining_node("n1"), held_node("n2", "bar", BAR)],
        [
            reservation(nodes=["n2"], generation=3, observed=2, phases={"n1": "Draining"}),
            reservation("bar", BAR, nodes=["n2"], phases={"n2": "Reserved"}),
        ],
    )
    [frozen] = [one for one in steps(seen) if one.node.name == "n1"]
    assert frozen.kind == "freeze"
    assert step_text(frozen) == ()
