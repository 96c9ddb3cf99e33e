# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Nodes of a capacity hold's pool: taken under its lock, and only when the equation holds without them.

Whatever is not known refuses: a lock that somebody holds, a proof that could not be made.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from .._adapters.identity import new_run_id
from .._core.errors import ConflictError, GpuopsError
from .._core.invariant import prove
from .._core.lock import LockDocument, release, require_run, take
from .._core.reservation_pools import HOLDER, Needs
from .lock import apply_change, read_document
from .observation import observe
from .proof import require_proof
from .run import Invocation
from .selection import select
from .sources import Reach


@dataclass
class PoolGuard:
    """The pools of one pass.

    Attributes:
        invocation: the call.
        reach: how it reaches the world.
        run: this run's id, the fencing token.
        held: the pools that are locked, by Reservation.
        refused: why a node cannot be taken, by node.
    """

    invocation: Invocation
    reach: Reach
    run: str = field(default_factory=new_run_id)
    held: dict[str, list[str]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def secure(self, needs: Needs) -> None:
        """Lock and prove every pool that is needed; what fails refuses the nodes of it."""
        left_out: dict[str, frozenset[str]] = {}
        for reservation, pools in needs.items():
            for pool, nodes in pools.items():
                without = left_out.get(pool, frozenset()) | nodes
                try:
                    self._lock(reservation, pool)
                    self._prove(pool, without)
                except GpuopsError as error:
                    self.refused.update(dict.fromkeys(nodes, f"pool {pool}: {error.message}"))
                else:
                    left_out[pool] = without

    def require(self, reservation: str) -> None:
        """Stop where another run has taken a lock over.

        Raises:
            ConflictError: ``lock-lost``.
        """
        pools = self.held.get(reservation, [])
        if pools and not self.invocation.check_mode:
            require_run(read_document(self.reach), pools, HOLDER + reservation, self.run)

    def let_go(self) -> None:
        """Release what is held; what another run has taken over is its."""
        for reservation, pools in self.held.items():
            with contextlib.suppress(ConflictError):
                self._release(reservation, pools, self.run)

    def let_go_of_earlier(self, lock: LockDocument, needs: Needs, done: Callable[[str], bool]) -> None:
        """Release what a killed run left locked for a Reservation that needs it no more.

        Args:
            lock: the document as it was when the run began.
            needs: what the pass needed itself.
            done: whether a Reservation was looked at by the pass, or is gone.
        """
        for pool, held in sorted(lock.pools.items()):
            reservation = held.ticket.removeprefix(HOLDER)
            left = held.ticket.startswith(HOLDER) and pool not in needs.get(reservation, {})
            if left and done(reservation) and not self.invocation.check_mode:
                with contextlib.suppress(ConflictError):
                    self._release(reservation, [pool], held.run)

    def _lock(self, reservation: str, pool: str) -> None:
        def change(document: LockDocument, now: str) -> LockDocument:
            return take(
                document, (pool,), HOLDER + reservation, self.run, now=now, step="reserve-nodes"
            ).document

        apply_change(self.invocation, self.reach, change, f"Lock {pool} for {HOLDER}{reservation}")
        self.held.setdefault(reservation, []).append(pool)

    def _prove(self, pool: str, without: frozenset[str]) -> None:
        seen = observe(self.invocation, self.reach)
        require_proof(prove(seen.snapshot, seen.ledger, pool, select=select, without_nodes=without))

    def _release(self, reservation: str, pools: list[str], run: str) -> None:
        apply_change(
            self.invocation,
            self.reach,
            lambda document, _now: release(document, pools, HOLDER + reservation, run),
            f"Let go of {', '.join(pools)} for {HOLDER}{reservation}",
        )


@contextmanager
def guarded(invocation: Invocation, reach: Reach) -> Iterator[PoolGuard]:
    """A guard whose locks are let go of whatever happens; a kill leaves them to the next run."""
    guard = PoolGuard(invocation, reach)
    try:
        yield guard
    finally:
        guard.let_go()
