# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a proof needs of the fleet repository: policy, records, freezes, locks, as far as readable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .document import Problem
from .errors import ObservationError
from .fleet_files import FleetTree
from .freeze import Freeze
from .ledger import Ledger, LedgerReading
from .lock import LOCK_FILE, LockDocument, read_lock
from .policy import Policy
from .record import Record


@dataclass(frozen=True)
class LedgerView:
    """The fleet repository's part of a proof.

    Attributes:
        revision: the fleet branch's commit.
        policy: None where it is missing or invalid.
        records: this cluster's records by id; None where the ledger is invalid.
        freezes: by profile, ended ones among them; None where one is invalid.
        lock: None where the lock document is invalid.
        problems: everything that is invalid, each naming its file.
    """

    revision: str
    policy: Policy | None
    records: Mapping[str, Record] | None
    freezes: Mapping[str, Freeze] | None
    lock: LockDocument | None
    problems: tuple[Problem, ...] = ()

    def of_pool(self, profile_id: str) -> tuple[Record, ...] | None:
        """Records of one pool, in any state; None where they are unknown."""
        if self.records is None:
            return None
        return tuple(record for record in self.records.values() if record.spec.profile_id == profile_id)

    def lock_ticket(self, profile_id: str) -> str:
        """The ticket that holds a pool's lock; empty where nobody does or it is unknown."""
        held = self.lock.pools.get(profile_id) if self.lock else None
        return held.ticket if held else ""

    def frozen(self, profile_id: str) -> bool:
        """Whether a pool's sales are frozen; they are while freezes cannot be read."""
        if self.freezes is None:
            return True
        freeze = self.freezes.get(profile_id)
        return freeze is not None and freeze.frozen


def _lock(tree: FleetTree) -> tuple[LockDocument | None, tuple[Problem, ...]]:
    try:
        return read_lock(tree), ()
    except ObservationError as error:
        file = f"{tree.branch}:{LOCK_FILE}"
        told = [Problem(**{**problem, "file": file}) for problem in error.details.get("problems", ())]
        return None, tuple(told) or (Problem(file, error.message),)


def view_of(ledger: Ledger | LedgerReading, lock: FleetTree) -> LedgerView:
    """The ledger and the lock branch, together.

    Args:
        ledger: a valid ledger, or a reading with its problems.
        lock: the lock branch.
    """
    document, problems = _lock(lock)
    if isinstance(ledger, LedgerReading):
        revision = ledger.ledger.revision if ledger.ledger else ""
        problems = (*ledger.problems, *problems)
    else:
        revision = ledger.revision
    return LedgerView(revision, ledger.policy, ledger.records, ledger.freezes, document, problems)
