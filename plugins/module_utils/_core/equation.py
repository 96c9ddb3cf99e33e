# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The capacity equation of a pool, term by term ("Capacity invariant")."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from .amount import UNLIMITED, Amount, Unlimited
from .claims import OrganizationTerms, shown
from .entitlement import total
from .record import Record


@dataclass(frozen=True)
class Equation:
    """healthy schedulable >= reserved + non-reserved + spare; in devices, None where a term is unknown.

    Attributes:
        healthy: healthy schedulable devices.
        pending: held by pending records.
        active: held by active records.
        releasing: held by releasing records.
        non_reserved: what organizations can claim beside their records.
        spare: the operator's spare that is asked for.
    """

    healthy: int | None
    pending: int | None
    active: int | None
    releasing: int | None
    non_reserved: Amount | None
    spare: int | None

    @property
    def reserved(self) -> int | None:
        """All reserved devices."""
        return total((self.pending, self.active, self.releasing))

    @property
    def headroom(self) -> int | None:
        """What is left, possibly below zero; None where it would rest on an unknown or on no limit."""
        if isinstance(self.non_reserved, Unlimited):
            return None
        demand = total((self.reserved, self.non_reserved, self.spare))
        return None if self.healthy is None or demand is None else self.healthy - demand

    @property
    def holds(self) -> bool:
        """Whether the equation is known to hold; an unknown is never a yes."""
        headroom = self.headroom
        return headroom is not None and headroom >= 0

    def result(self) -> dict[str, Any]:
        """The equation as a module returns it; unknown terms say so."""
        return {
            "healthy": shown(self.healthy),
            "reserved": {
                "pending": shown(self.pending),
                "active": shown(self.active),
                "releasing": shown(self.releasing),
            },
            "non_reserved": shown(self.non_reserved),
            "spare": shown(self.spare),
            "headroom": shown(self.headroom),
            "holds": self.holds,
        }

    def with_pending(self, devices: int) -> Equation:
        """The equation with another pending hold."""
        return replace(self, pending=None if self.pending is None else self.pending + devices)


def sum_amounts(values: Iterable[Amount | None]) -> Amount | None:
    """The sum; no limit in one is no limit in all, and an unknown makes it unknown."""
    found = 0
    unlimited = False
    for value in values:
        if value is None:
            return None
        if isinstance(value, Unlimited):
            unlimited = True
        else:
            found += value
    return UNLIMITED if unlimited else found


def equation_of(
    healthy: int | None,
    organizations: Iterable[OrganizationTerms],
    records: tuple[Record, ...] | None,
    spare: int,
    *,
    ordered: bool,
) -> Equation:
    """The equation as it stands.

    Spare is asked for where the pool has claims or an order, and where its claims are unknown; a pool of
    which nothing is sold is not in service.

    Args:
        healthy: healthy schedulable devices.
        organizations: everybody's terms.
        records: the pool's records in any state; None where the ledger cannot be read.
        spare: the policy's spare.
        ordered: whether an order is at hand.
    """

    def held(state: str) -> int | None:
        if records is None:
            return None
        return sum(record.spec.devices for record in records if record.state == state)

    non_reserved = sum_amounts(terms.non_reserved for terms in organizations)
    pending, active, releasing = held("pending"), held("active"), held("releasing")
    idle = non_reserved == 0 and total((pending, active, releasing)) == 0
    return Equation(healthy, pending, active, releasing, non_reserved, 0 if idle and not ordered else spare)
