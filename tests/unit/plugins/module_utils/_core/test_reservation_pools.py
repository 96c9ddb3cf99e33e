# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which pools a pass would take nodes from."""

from __future__ import annotations

from ansible_collections.gpuops.reservations.plugins.module_utils._core.reservation_claims import (
    Consent,
    claims_of,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.reservation_pools import (
    Needs,
    pools_needed,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.reservation_world import (
    ReservationWorld,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.tenant_nodes import (
    held_node,
    node,
    reservation,
    taint,
    world,
)

POOLS = {"h100-vm": ("n1", "n2"), "v100-vm": ("n3",)}


def needed(seen: ReservationWorld) -> Needs:
    return pools_needed(seen, claims_of(seen, Consent()).values(), POOLS)


def test_only_nodes_that_are_about_to_be_taken_count() -> None:
    seen = world(
        [held_node("n1"), node("n2"), node("n3"), node("n4")],
        [reservation(nodes=["n1", "n2", "n3", "n4"], phases={"n1": "Reserved"})],
    )
    assert needed(seen) == {"foo": {"h100-vm": {"n2"}, "v100-vm": {"n3"}}}


def test_nodes_of_no_pool_need_no_proof() -> None:
    assert needed(world([node("n4")], [reservation(nodes=["n4"])])) == {}


def test_a_claim_that_is_rejected_anyway_needs_none() -> None:
    foreign = node("n1", taints=[taint("somebody")])
    assert needed(world([foreign], [reservation(nodes=["n1"])])) == {}
