# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The fences' parameters: which pools are fenced, and which VM may start all the same.

Both fences of a pool stand while it is locked or frozen. The parameters follow from lock document,
freezes and policy, so that setting them twice is setting them once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .ledger import Ledger
from .ledger_view import LedgerView
from .lock import LockDocument

CREATION: Final = "creation."
ENTITLEMENT: Final = "entitlement."
NOBODY: Final = "-"


def smoke_name(ticket: str) -> str:
    """The name of a ticket's smoke VM."""
    return f"gpu-smoke-{ticket}"


def wanted_parameters(
    ledger: Ledger | LedgerView,
    lock: LockDocument | None,
    resources: Mapping[str, str],
    present: Mapping[str, str],
    smoke: Mapping[str, str],
    *,
    frozen: frozenset[str] = frozenset(),
) -> dict[str, str]:
    """The keys that fence pools, as they have to be.

    Args:
        ledger: policy and freezes; where freezes cannot be read, every pool counts as frozen.
        lock: who holds which pool; None where that cannot be read, and fences that stand stay.
        resources: the device resource of each pool's profile; a pool without one, now or before, cannot
            be fenced.
        present: the parameters as they stand, to keep what a holder was allowed before.
        smoke: the namespace in which a ticket's smoke VM may start, by ticket.
        frozen: pools that are about to be frozen.
    """
    wanted: dict[str, str] = {}
    for profile, pool in sorted(ledger.policy.pools.items() if ledger.policy else ()):
        standing = {
            key: present[key] for key in (CREATION + profile, ENTITLEMENT + profile) if key in present
        }
        held = lock.pools.get(profile) if lock else None
        if held is None and not ledger.frozen(profile) and profile not in frozen:
            wanted.update(standing if lock is None else {})
            continue
        wanted[ENTITLEMENT + profile] = " ".join(pool.reservation_addons)
        resource = resources.get(profile) or standing.get(CREATION + profile, "").partition(" ")[0]
        if resource:
            may_start = _may_start(profile, held.ticket if held else "", present, smoke)
            wanted[CREATION + profile] = f"{resource} {may_start}"
    return wanted


def _may_start(profile: str, ticket: str, present: Mapping[str, str], smoke: Mapping[str, str]) -> str:
    """The VM that may start: the lock holder's smoke VM, in the namespace that it named, now or before."""
    if not ticket:
        return NOBODY
    if ticket in smoke:
        return f"{smoke[ticket]}/{smoke_name(ticket)}"
    before = present.get(CREATION + profile, "").rpartition(" ")[2]
    return before if before.endswith(f"/{smoke_name(ticket)}") else NOBODY


def parameter_patch(present: Mapping[str, str], wanted: Mapping[str, str]) -> dict[str, str | None]:
    """A merge patch of the parameters' data; empty where nothing has to change."""
    ours = {key for key in present if key.startswith((CREATION, ENTITLEMENT))}
    patch: dict[str, str | None] = dict.fromkeys(ours - wanted.keys())
    patch.update({key: value for key, value in wanted.items() if present.get(key) != value})
    return dict(sorted(patch.items()))


def is_fenced(present: Mapping[str, str], profile: str) -> bool:
    """Whether both fences of a pool are up."""
    return CREATION + profile in present and ENTITLEMENT + profile in present
