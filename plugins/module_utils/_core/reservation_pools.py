# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which capacity pools a pass would take nodes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from .reservation_claims import Claim
from .reservation_world import ReservationWorld

HOLDER: Final = "reservation:"
"""Prefix of a lock's holder; no ticket can be one."""

Needs = dict[str, dict[str, frozenset[str]]]
"""From Reservation to pool to the nodes of the pool that it would take."""


def pools_needed(
    world: ReservationWorld, claims: Iterable[Claim], pools: Mapping[str, Iterable[str]]
) -> Needs:
    """The pools that declare a node which is about to be taken.

    Args:
        world: the observation.
        claims: those that the pass is about.
        pools: the declared nodes of each pool of the policy.
    """
    found: Needs = {}
    for claim in claims:
        new = claim.hold - world.marked(claim.reservation)
        touched = {pool: new & frozenset(nodes) for pool, nodes in sorted(pools.items())}
        if any(touched.values()):
            found[claim.reservation.name] = {pool: nodes for pool, nodes in touched.items() if nodes}
    return found
