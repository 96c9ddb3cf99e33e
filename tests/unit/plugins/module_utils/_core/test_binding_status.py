# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a binding binds, and which tolerations its Pods need."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.binding_status import (
    binding_status,
    judge_binding,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.reservation_claims import (
    Consent,
    claims_of,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.reservation_objects import (
    ReservationBinding,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.reservation_world import (
    ReservationWorld,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.tenant_nodes import (
    BAR,
    FOO,
    NOW,
    binding,
    held_node,
    node,
    reservation,
    world,
)


def judged(seen: ReservationWorld, one: ReservationBinding) -> tuple[bool, str]:
    accepted, reason, message = judge_binding(seen, claims_of(seen, Consent()), one)
    assert message
    return accepted, reason


def status(seen: ReservationWorld, one: ReservationBinding) -> dict[str, Any] | None:
    return binding_status(seen, claims_of(seen, Consent()), one, NOW)


@pytest.mark.parametrize(
    ("one", "verdict"),
    [
        (binding(), (True, "Accepted")),
        (binding(reservation_name="nobody"), (False, "ReservationNotFound")),
        (binding(namespace=BAR), (False, "TenantMismatch")),
        (binding(namespace="default"), (False, "NamespaceWithoutTenant")),
        (binding(namespace=BAR, reservation_name="bar"), (False, "ReservationNotAccepted")),
    ],
)
def test_who_is_accepted(one: ReservationBinding, verdict: tuple[bool, str]) -> None:
    reservations = [
        reservation(nodes=["n1"], phases={"n1": "Reserved"}),
        reservation("bar", BAR, nodes=["n1"]),
    ]
    assert judged(world([held_node("n1")], reservations, bindings=[one]), one) == verdict


def test_a_reservation_that_keeps_nodes_keeps_its_bindings() -> None:
    seen = world(
        [held_node("n1"), held_node("n2", "bar", BAR)],
        [
            reservation(nodes=["n2"], generation=2, observed=1, phases={"n1": "Reserved"}),
            reservation("bar", BAR, nodes=["n2"], phases={"n2": "Reserved"}),
        ],
    )
    assert judged(seen, binding()) == (True, "Accepted")


@pytest.mark.parametrize(
    ("spec", "effects"),
    [
        ({}, ["NoSchedule"]),
        ({"taintEffect": "NoExecute"}, ["NoSchedule", "NoExecute"]),
        ({"applyTaint": False}, []),
    ],
)
def test_what_its_pods_have_to_tolerate(spec: dict[str, Any], effects: list[str]) -> None:
    made = reservation(nodes=["n1"], phases={"n1": "Reserved"}, **spec)
    written = status(world([held_node("n1")], [made]), binding())
    assert written is not None
    assert written["tolerationEffects"] == effects
    assert written["tenant"] == FOO


def test_what_is_stored_is_not_written_again_and_a_refusal_takes_effects_away() -> None:
    seen = world([node("n1")], [reservation(nodes=["n1"])])
    first = status(seen, binding())
    assert first is not None
    assert status(seen, binding(status=first)) is None
    gone = status(world(), binding(status=first))
    assert gone is not None
    assert gone["tolerationEffects"] is None
    assert gone["conditions"][0]["status"] == "False"


def test_the_canary_s_binding_is_left_alone() -> None:
    canary = "gpuops-reservation-canary"
    one = binding("canary", canary, canary)
    assert status(world(bindings=[one], tenants={canary: canary}), one) is None
