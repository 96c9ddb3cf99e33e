# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which Reservations are accepted, and what each is given."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpuops.reservations.plugins.module_utils._core.reservation_claims import (
    Claim,
    Consent,
    claims_of,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.reservation_objects import (
    Reservation,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.reservation_world import (
    ReservationWorld,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.tenant_nodes import (
    BAR,
    FOO,
    RESERVED_BY,
    daemonset,
    draining_node,
    held_node,
    node,
    owned_by,
    pod,
    reservation,
    taint,
    world,
)

NOTHING: frozenset[str] = frozenset()
EARLIER, LATER = "2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z"


def judged(seen: ReservationWorld, **consent: object) -> dict[str, Claim]:
    return claims_of(seen, Consent(**consent))  # type: ignore[arg-type]


def test_names_are_the_reserved_set_and_absent_ones_are_missing() -> None:
    claim = judged(world([node("n1"), node("n2")], [reservation(nodes=["n1", "n9"])]))["foo"]
    assert claim.accepted
    assert (claim.hold, claim.missing, claim.release) == (frozenset({"n1"}), frozenset({"n9"}), NOTHING)


def test_a_selector_alone_is_its_matches() -> None:
    seen = world(
        [node("n1", labels={"rack": "a"}), node("n2", labels={"rack": "b"})],
        [reservation(nodeSelector={"matchLabels": {"rack": "a"}})],
    )
    assert judged(seen)["foo"].hold == {"n1"}


def test_without_names_or_requirement_nothing_is_meant_and_nothing_released() -> None:
    specs: list[dict[str, Any]] = [{}, {"nodeSelector": {}}, {"nodeSelector": {"matchLabels": {}}}]
    for spec in specs:
        seen = world([held_node("n1"), node("n2")], [reservation(phases={"n1": "Reserved"}, **spec)])
        claim = judged(seen)["foo"]
        assert (claim.accepted, claim.reason) == (False, "Invalid")
        assert (claim.hold, claim.release) == (frozenset({"n1"}), NOTHING)


def test_every_name_has_to_match_the_selector_and_a_mismatch_releases_nothing() -> None:
    spec: dict[str, Any] = {"nodeSelector": {"matchLabels": {"rack": "a"}}}
    seen = world(
        [held_node("n1", labels={"rack": "b"}), node("n2", labels={"rack": "a"})],
        [reservation(nodes=["n1", "n2"], phases={"n1": "Reserved"}, **spec)],
    )
    claim = judged(seen)["foo"]
    assert (claim.accepted, claim.reason) == (False, "SelectorMismatch")
    assert "n1 (rack In [a], but rack is b)" in claim.message
    assert (claim.hold, claim.release) == (frozenset({"n1"}), NOTHING)


def test_a_missing_name_is_no_mismatch() -> None:
    spec: dict[str, Any] = {"nodeSelector": {"matchLabels": {"rack": "a"}}}
    claim = judged(world([node("n1", labels={"rack": "a"})], [reservation(nodes=["n1", "n9"], **spec)]))[
        "foo"
    ]
    assert claim.accepted
    assert claim.missing == {"n9"}


def test_a_new_claim_on_a_held_node_is_rejected_as_a_whole() -> None:
    seen = world(
        [held_node("n1"), node("n2")],
        [
            reservation("foo", nodes=["n1"], phases={"n1": "Reserved"}),
            reservation("bar", BAR, nodes=["n1", "n2"]),
        ],
    )
    claims = judged(seen)
    assert claims["foo"].hold == {"n1"}
    assert (claims["bar"].accepted, claims["bar"].reason, claims["bar"].hold) == (False, "Overlap", NOTHING)
    assert "n1 is held by Reservation foo of tenant tenant-foo" in claims["bar"].message


def test_an_older_one_that_is_edited_keeps_what_it_has() -> None:
    seen = world(
        [held_node("n1", "old", BAR), held_node("n2")],
        [
            reservation(
                "old", BAR, nodes=["n2"], created=EARLIER, generation=2, observed=1, phases={"n1": "Reserved"}
            ),
            reservation("foo", created=LATER, nodes=["n2"], phases={"n2": "Reserved"}),
        ],
    )
    claims = judged(seen)
    assert claims["foo"].hold == {"n2"}
    assert (claims["old"].accepted, claims["old"].hold, claims["old"].release) == (
        False,
        frozenset({"n1"}),
        NOTHING,
    )


def test_of_two_new_ones_the_earlier_wins_then_the_name() -> None:
    nodes = [node("n1")]
    for first, second in ((("b", EARLIER), ("a", LATER)), (("a", EARLIER), ("b", EARLIER))):
        seen = world(
            nodes,
            [
                reservation(second[0], BAR, nodes=["n1"], created=second[1]),
                reservation(first[0], FOO, nodes=["n1"], created=first[1]),
            ],
        )
        claims = judged(seen)
        assert claims[first[0]].accepted
        assert not claims[second[0]].accepted


def test_a_rejected_one_blocks_nobody() -> None:
    seen = world(
        [held_node("n1"), node("n2")],
        [
            reservation("foo", nodes=["n1"], phases={"n1": "Reserved"}),
            reservation("bad", BAR, nodes=["n1", "n2"], created=EARLIER),
            reservation("good", BAR, nodes=["n2"], created=LATER),
        ],
    )
    claims = judged(seen)
    assert not claims["bad"].accepted
    assert claims["good"].hold == {"n2"}


def test_a_node_that_is_being_released_is_not_free_yet() -> None:
    seen = world(
        [draining_node("n1")],
        [
            reservation("foo", nodes=["n1"], phases={"n1": "Draining"}, deleting=True),
            reservation("bar", BAR, nodes=["n1"], created=LATER),
        ],
    )
    claims = judged(seen)
    assert claims["foo"].release == {"n1"}
    assert not claims["bar"].accepted
    assert "which is releasing it" in claims["bar"].message


def test_a_node_of_a_reservation_that_is_gone_is_not_free_yet() -> None:
    claim = judged(world([held_node("n1", "ghost", BAR)], [reservation(nodes=["n1"])]))["foo"]
    assert (claim.accepted, claim.reason) == (False, "Overlap")
    assert "ghost" in claim.message


def test_acceptance_on_record_comes_before_an_earlier_creation() -> None:
    """Its run was killed before the first node was taken."""
    seen = world(
        [node("n1")],
        [
            reservation("older", BAR, nodes=["n1"], created=EARLIER),
            reservation("foo", nodes=["n1"], created=LATER, observed=1),
        ],
    )
    claims = judged(seen)
    assert claims["foo"].hold == {"n1"}
    assert not claims["older"].accepted


def test_an_annotation_alone_is_a_title_after_a_killed_run() -> None:
    seen = world(
        [held_node("n1")],
        [reservation("foo", nodes=["n1"], created=LATER), reservation("bar", BAR, nodes=["n1"])],
    )
    claims = judged(seen)
    assert claims["foo"].hold == {"n1"}
    assert not claims["bar"].accepted


def test_a_status_counts_before_an_annotation_that_a_kubelet_may_have_written() -> None:
    forged = held_node("n1", annotations={RESERVED_BY: "bar"})
    seen = world(
        [forged],
        [
            reservation("foo", nodes=["n1"], phases={"n1": "Reserved"}),
            reservation("bar", BAR, nodes=["n1"]),
        ],
    )
    claims = judged(seen)
    assert claims["foo"].hold == {"n1"}
    assert not claims["bar"].accepted


def test_a_released_node_that_was_not_struck_off_the_record_is_nobody_s() -> None:
    """The run was killed between cleaning the node and writing the status."""
    seen = world(
        [node("n1")],
        [
            reservation("foo", nodes=["n2"], generation=2, observed=2, phases={"n1": "Draining"}),
            reservation("bar", BAR, nodes=["n1"], created=LATER),
        ],
    )
    claims = judged(seen)
    assert claims["foo"].release == set()
    assert claims["bar"].hold == {"n1"}


def test_a_rejected_generation_freezes_what_was_draining() -> None:
    seen = world(
        [held_node("n1"), draining_node("n2"), held_node("n3", "bar", BAR)],
        [
            reservation(
                nodes=["n1", "n3"],
                generation=3,
                observed=2,
                phases={"n1": "Reserved", "n2": "Draining"},
            ),
            reservation("bar", BAR, nodes=["n3"], phases={"n3": "Reserved"}),
        ],
    )
    claim = judged(seen)["foo"]
    assert (claim.accepted, claim.hold, claim.frozen, claim.release) == (
        False,
        frozenset({"n1"}),
        frozenset({"n2"}),
        NOTHING,
    )


def test_a_foreign_taint_of_our_key_rejects_the_claim() -> None:
    for foreign in (taint("somebody"), taint(FOO, "NoExecute"), taint(FOO, "PreferNoSchedule")):
        claim = judged(world([node("n1", taints=[foreign])], [reservation(nodes=["n1"])]))["foo"]
        assert (claim.accepted, claim.reason) == (False, "ForeignTaint")
        assert f"n1 (reserved={foreign['value']}:{foreign['effect']})" in claim.message


def test_the_very_taint_and_other_keys_are_no_obstacle() -> None:
    taints = [taint(), taint("x", key="dedicated")]
    assert judged(world([node("n1", taints=taints)], [reservation(nodes=["n1"])]))["foo"].accepted


def test_a_daemonset_that_would_lose_the_node_rejects_unless_allowed() -> None:
    plugin = daemonset("plugin")
    exporter = daemonset("exporter", tolerations=[{"operator": "Exists"}], app="exporter")
    seen = world(
        [node("n1"), node("n2")],
        [reservation(nodes=["n1", "n2"])],
        pods=[
            pod("plugin-1", "n1", "gpu-operator", owner=owned_by(plugin), labels={"app": "agent"}),
            pod("exporter-1", "n1", "gpu-operator", owner=owned_by(exporter), labels={"app": "exporter"}),
        ],
        daemonsets=[plugin, exporter],
    )
    claim = judged(seen)["foo"]
    assert (claim.accepted, claim.reason) == (False, "DaemonSetLoss")
    assert "n1: gpu-operator/plugin" in claim.message
    assert "exporter" not in claim.message
    assert judged(seen, daemonset_loss=True)["foo"].accepted


def test_without_a_taint_no_daemonset_is_lost() -> None:
    plugin = daemonset("plugin")
    on = pod("plugin-1", "n1", "gpu-operator", owner=owned_by(plugin), labels={"app": "agent"})
    seen = world([node("n1")], [reservation(nodes=["n1"], applyTaint=False)], pods=[on], daemonsets=[plugin])
    assert judged(seen)["foo"].accepted


def test_no_execute_needs_consent_for_new_nodes() -> None:
    seen = world([node("n1")], [reservation(nodes=["n1"], taintEffect="NoExecute")])
    claim = judged(seen)["foo"]
    assert (claim.accepted, claim.reason) == (False, "EvictionNotAllowed")
    assert judged(seen, eviction=True)["foo"].accepted


def test_a_node_that_a_pool_needs_is_refused_with_the_reason() -> None:
    seen = world([node("n1")], [reservation(nodes=["n1"])])
    claim = judged(seen, holds={"n1": "the equation of pool h100-vm does not hold without it"})["foo"]
    assert (claim.accepted, claim.reason) == (False, "CapacityHold")
    assert "h100-vm" in claim.message
    assert judged(seen, holds={"n1": ""})["foo"].accepted


NAMES = ("n1", "n2", "n3", "n4")


@st.composite
def worlds(draw: st.DrawFn) -> ReservationWorld:
    """Any state, reachable or not: marks and records that contradict each other too."""
    reservations: list[Reservation] = []
    for index, name in enumerate(("a", "b", "c")):
        phases = draw(
            st.dictionaries(st.sampled_from(NAMES), st.sampled_from(("Reserved", "Draining", "Missing")))
        )
        reservations.append(
            reservation(
                name,
                draw(st.sampled_from((FOO, BAR))),
                draw(st.lists(st.sampled_from((*NAMES, "n9")), min_size=1, unique=True)),
                created=f"2026-11-0{draw(st.integers(1, 3))}T00:00:0{index}Z",
                generation=2,
                observed=draw(st.sampled_from((1, 2))),
                accepted=draw(st.booleans()),
                phases=phases,
                deleting=draw(st.booleans()),
            )
        )
    nodes = []
    for name in draw(st.lists(st.sampled_from(NAMES), unique=True)):
        marked = draw(st.sampled_from(("", "a", "b", "c", "ghost")))
        tenant = draw(st.sampled_from(("", FOO, BAR)))
        nodes.append(
            node(
                name,
                labels={"reserved.tenant": tenant} if tenant else {},
                annotations={RESERVED_BY: marked} if marked else {},
                taints=[taint(tenant)] if tenant and draw(st.booleans()) else [],
            )
        )
    return world(nodes, reservations)


@given(worlds())
def test_no_node_is_ever_given_to_two(seen: ReservationWorld) -> None:
    claims = judged(seen)
    for name in seen.nodes:
        given_to = [c for c in claims.values() if name in c.hold | c.release | c.frozen]
        assert len(given_to) <= 1


@given(worlds())
def test_the_incumbent_never_loses_to_a_claim(seen: ReservationWorld) -> None:
    claims = judged(seen)
    for name, holder in seen.holders.items():
        for other, claim in claims.items():
            if other != holder:
                assert name not in claim.hold


@given(worlds())
def test_a_rejection_releases_nothing(seen: ReservationWorld) -> None:
    for claim in judged(seen).values():
        if not claim.accepted:
            assert claim.release == set()
            assert claim.hold | claim.frozen == seen.marked(claim.reservation)


@given(worlds())
def test_only_named_nodes_are_taken(seen: ReservationWorld) -> None:
    for claim in judged(seen).values():
        new = claim.hold - seen.marked(claim.reservation)
        assert new <= set(claim.reservation.spec.reserved_nodes or ())
