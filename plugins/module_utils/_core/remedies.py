# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The smallest ways to make a failing equation hold ("3. Prove the invariant before mutation")."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from .claims import OrganizationTerms
from .equation import Equation

ADD_DEVICES: Final = "add-devices"
REDUCE_ENTITLEMENT: Final = "reduce-entitlement"
LIMIT_ENTITLEMENT: Final = "limit-entitlement"


@dataclass(frozen=True)
class Remedy:
    """One way; counts in devices.

    Attributes:
        kind: add-devices, reduce-entitlement or limit-entitlement.
        devices: how many at least; for a reduction what this organization can contribute at most.
        organization: whose entitlement; empty for devices to add.
        unused: of those, how many nobody uses now.
        message: the same in words.
    """

    kind: str
    devices: int
    organization: str
    unused: int
    message: str

    def result(self) -> dict[str, Any]:
        """The remedy as a module returns it."""
        return {
            "kind": self.kind,
            "devices": self.devices,
            "organization": self.organization,
            "unused": self.unused,
            "message": self.message,
        }


def _reduction(terms: OrganizationTerms, missing: int) -> Remedy | None:
    """What an organization's non-reserved entitlement could contribute."""
    rest = terms.non_reserved
    if not isinstance(rest, int) or rest == 0:
        return None
    idle = (
        max(rest - max((terms.recounted or 0) - (terms.covered or 0), 0), 0)
        if terms.recounted is not None
        else 0
    )
    part = min(rest, missing)
    free = min(idle, part)
    return Remedy(
        REDUCE_ENTITLEMENT,
        part,
        terms.organization,
        free,
        f"reduce non-reserved entitlement of {terms.organization} by {part} of {rest}, holder-safely "
        f"({free} unused)",
    )


def remedies_of(
    equation: Equation, organizations: Iterable[OrganizationTerms], profile_id: str
) -> tuple[Remedy, ...]:
    """What would make the equation hold; empty where it holds or where terms are unknown.

    Devices to add come first, then each organization that could give some of its entitlement back, those
    that use least of it first.

    Args:
        equation: with the order, where there is one.
        organizations: everybody's terms.
        profile_id: the pool's profile.
    """
    everybody = tuple(organizations)
    unlimited = [terms for terms in everybody if terms.quota.unlimited_because]
    if unlimited:
        return tuple(
            Remedy(
                LIMIT_ENTITLEMENT,
                0,
                terms.organization,
                0,
                f"give {terms.organization} a hard quota of {profile_id}: {terms.quota.unlimited_because}",
            )
            for terms in unlimited
        )
    headroom = equation.headroom
    if headroom is None or headroom >= 0:
        return ()
    missing = -headroom
    add = Remedy(ADD_DEVICES, missing, "", 0, f"add {missing} healthy schedulable devices of {profile_id}")
    reductions = [item for item in (_reduction(terms, missing) for terms in everybody) if item is not None]
    return (add, *sorted(reductions, key=lambda item: (-item.unused, -item.devices, item.organization)))
