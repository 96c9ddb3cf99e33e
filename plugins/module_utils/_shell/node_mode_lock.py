# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The locks of a node's pools in the hands of one transition: taken, checked before each write, let go."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from .._adapters.fleet import BranchChange
from .._core.errors import ConflictError, PolicyBlocked
from .._core.lock import LOCK_FILE, LockDocument, read_lock, release, require_run, set_step, take
from .._core.names import lock_branch
from .._core.node_mode_facts import HeldPool, ModeFacts, ModeRequest
from .._core.unread import Unread
from .fences import FencePlace, keep_fences
from .node_mode_world import NodeModeWorld

_ATTEMPTS: Final = 8
QUIET_SECONDS: Final = 10.0
"""How long an earlier run's lock has to stand still before it is taken over without consent."""


@dataclass(frozen=True)
class PoolLocks:
    """The locks that one run needs.

    Attributes:
        world: the outside.
        request: the transition, in whose name they are held.
        run: this run's id, the fencing token.
        pools: the profiles; none means that there is nothing to lock.
    """

    world: NodeModeWorld
    request: ModeRequest
    run: str
    pools: tuple[str, ...]

    def acquire(self, facts: ModeFacts) -> bool:
        """Takes the locks, as they were seen at the first look.

        A lock that an earlier run of this transition left is taken over: at once with the consent
        resume_cordoned, else after it stood still for a while. One that appeared or changed since the
        first look belongs to a run that is alive.

        Returns:
            Whether an earlier run's lock was taken over.

        Raises:
            PolicyBlocked: lock-held.
            ConflictError: the lock branch did not come to rest.
        """
        if not self.pools:
            return False
        seen = facts.ledger.locks
        earlier = {} if isinstance(seen, Unread) else _of_earlier_runs(seen, self)
        if earlier and not self.request.resume_cordoned:
            self._wait_until_quiet(earlier)
        taken_over = False

        def change(document: LockDocument) -> LockDocument:
            nonlocal taken_over
            self._require_as_seen(document, earlier)
            taken = take(
                document, self.pools, self.request.lock_holder, self.run, now=self._now(), step="cordon"
            )
            taken_over = bool(taken.taken_over)
            return taken.document

        self._write(change, f"Lock {', '.join(self.pools)} for {self.request.lock_holder}, run {self.run}")
        return taken_over

    def keep_fences(self) -> None:
        """Raises or lowers the pools' fences as the locks stand, where fences are installed.

        Raises:
            GpuopsError: they could not be read or written.
        """
        if self.pools:
            place = FencePlace(self.request.cluster, self.world.fleet, self.world.kube)
            keep_fences(place, installed=False)

    def require(self) -> None:
        """Stops unless this very run still holds every lock.

        Raises:
            ConflictError: lock-lost.
        """
        if self.pools:
            _revision, document = self._read()
            require_run(document, self.pools, self.request.lock_holder, self.run)

    def step_change(self, step: str) -> dict[str, BranchChange]:
        """The change of the lock branch that notes a step: pushed with another one, both or none.

        Raises:
            ConflictError: lock-lost.
        """
        if not self.pools:
            return {}
        revision, document = self._read()
        noted = set_step(document, self.pools, self.request.lock_holder, self.run, now=self._now(), step=step)
        files: dict[str, bytes | None] = {LOCK_FILE: noted.to_yaml().encode()}
        return {lock_branch(self.request.cluster): BranchChange(revision, files, always=True)}

    def let_go(self) -> None:
        """Lets the locks go; what is not held any more is let go already.

        Raises:
            ConflictError: lock-lost; another run holds one of them.
        """
        if self.pools:
            self._write(
                lambda document: release(document, self.pools, self.request.lock_holder, self.run),
                f"Let go of {', '.join(self.pools)} for {self.request.lock_holder}, run {self.run}",
            )
            self.keep_fences()

    def let_go_of_earlier(self, facts: ModeFacts) -> tuple[str, ...]:
        """Lets go of what an earlier run of this transition left, as it would be taken over."""
        seen = facts.ledger.locks
        if isinstance(seen, Unread):
            return ()
        if not _of_earlier_runs(seen, self):
            self.keep_fences()  # a run that was killed after it had let go may have left them up
            return ()
        self.acquire(facts)
        self.let_go()
        return self.pools

    def _wait_until_quiet(self, earlier: Mapping[str, HeldPool]) -> None:
        clock = self.world.clock
        deadline = clock.now() + QUIET_SECONDS
        while clock.now() < deadline:
            clock.pause(QUIET_SECONDS / 5)
            _revision, document = self._read()
            self._require_as_seen(document, earlier)

    def _require_as_seen(self, document: LockDocument, earlier: Mapping[str, HeldPool]) -> None:
        for pool in self.pools:
            now, before = document.pools.get(pool), earlier.get(pool)
            if now is None or now.ticket != self.request.lock_holder or now.run == self.run:
                continue
            if before is None or (before.run, before.since, before.step) != (now.run, now.since, now.step):
                raise PolicyBlocked(
                    "lock-held",
                    f"another run of the transition of node {self.request.node} is at work: run {now.run} "
                    f"holds the lock of pool {pool} since {now.since}, step {now.step}",
                    next_action="let that run end; where it is known to be dead, run again with "
                    "resume_cordoned: true",
                )

    def _read(self) -> tuple[str, LockDocument]:
        tree = self.world.fleet.read_branch(lock_branch(self.request.cluster), [LOCK_FILE])
        return tree.revision, read_lock(tree)

    def _now(self) -> str:
        return self.world.kube.server_time

    def _write(self, change: Callable[[LockDocument], LockDocument], message: str) -> None:
        branch = lock_branch(self.request.cluster)
        for attempt in range(_ATTEMPTS):
            revision, document = self._read()
            after = change(document)
            if after == document:
                return
            try:
                self.world.fleet.commit(branch, revision, {LOCK_FILE: after.to_yaml().encode()}, message)
            except ConflictError:
                if attempt + 1 == _ATTEMPTS:
                    raise
            else:
                return


def _of_earlier_runs(locks: Mapping[str, HeldPool], mine: PoolLocks) -> dict[str, HeldPool]:
    holder = mine.request.lock_holder
    return {pool: held for pool, held in locks.items() if pool in mine.pools and held.ticket == holder}
