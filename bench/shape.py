# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How big a generated fleet is, and what follows from that."""

from __future__ import annotations

from dataclasses import dataclass

DEVICES_OF_A_NODE = 8
DEVICES_OF_A_HOLD = 2


@dataclass(frozen=True)
class Shape:
    """Sizes of a fleet. Everything else is derived, so that the equation holds at any size.

    Of the nodes 60 % belong to the pool; of the organizations 40 % have a hold of two devices, 30 % one
    ordinary device, the others none; 70 % of those with devices run one machine.
    """

    name: str
    nodes: int
    organizations: int
    pods: int
    records: int

    @property
    def pool_nodes(self) -> int:
        """Nodes of the pool."""
        return self.nodes * 6 // 10

    @property
    def holds(self) -> int:
        """Organizations with an active record."""
        return self.organizations * 4 // 10

    @property
    def ordinary(self) -> int:
        """Organizations with one ordinary device."""
        return self.organizations * 3 // 10

    @property
    def machines(self) -> int:
        """Machines that run, each with one device."""
        return (self.holds + self.ordinary) * 7 // 10

    def hard(self, number: int) -> int:
        """Devices that an organization is entitled to."""
        if number < self.holds:
            return DEVICES_OF_A_HOLD
        return 1 if number < self.holds + self.ordinary else 0

    def used(self, number: int) -> int:
        """Devices that an organization's machines hold."""
        return 1 if number < self.machines else 0


FULL = Shape("full", nodes=1_000, organizations=2_000, pods=20_000, records=5_000)
TENTH = Shape("tenth", nodes=100, organizations=200, pods=2_000, records=500)
SHAPES = {shape.name: shape for shape in (TENTH, FULL)}
