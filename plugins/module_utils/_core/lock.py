# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lock document: who changes which pool, and the pure changes of who does.

The document is changed by compare-and-swap on its branch and never deleted. A lock never expires.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from .document import require
from .errors import ConflictError, InputError, ObservationError, PolicyBlocked
from .fields import Count, Label, LockHolder, Switch, Text, Ticket, Time
from .fleet_files import FleetTree
from .names import lock_holder_problem
from .ruled_model import Rule, RuledModel
from .strict_model import Field, StrictModel
from .yaml_text import to_yaml

LOCK_FILE: Final = "lock.yaml"


class PoolLock(StrictModel):
    """Who holds a pool.

    Attributes:
        ticket: the holder: a ticket, ``transition:<node>`` or ``reservation:<name>``.
        run: the run that may write; a fencing token.
        since: when the present step began, by the API server's clock.
        step: the step.
    """

    ticket: LockHolder
    run: Text
    since: Time
    step: Text


def _once(closed_for: tuple[str, ...]) -> str:
    return "" if len(set(closed_for)) == len(closed_for) else "names a holder twice: keep one"


class GateUse(RuledModel):
    """For whom a creation gate is closed.

    Attributes:
        open_before: whether it was open when the first of them had it closed.
        closed_for: holders, in the order in which they came.
    """

    RULES: ClassVar[tuple[Rule, ...]] = (Rule(("closedFor",), _once),)

    open_before: Switch = Field(alias="openBefore")
    closed_for: tuple[LockHolder, ...] = Field(alias="closedFor")


class Gates(StrictModel):
    vm: GateUse
    shared: GateUse


class LockDocument(StrictModel):
    """lock.yaml on the lock branch. Every section has to be there: an absent one is not an empty one.

    Attributes:
        project_caps: by ticket the project's device cap before us; None where there was none.
    """

    pools: dict[Label, PoolLock]
    gate: Gates
    project_caps: dict[Ticket, Count | None] = Field(alias="projectCaps")

    def value(self) -> dict[str, Any]:
        """The document as a JSON value, pools and caps sorted."""
        value = self.model_dump(mode="json", by_alias=True)
        return {
            "pools": dict(sorted(value["pools"].items())),
            "gate": value["gate"],
            "projectCaps": dict(sorted(value["projectCaps"].items())),
        }

    def to_yaml(self) -> str:
        """The document's text, as it is written to the lock branch."""
        return to_yaml(self.value())

    def held_by(self, holder: str) -> tuple[str, ...]:
        """The pools that a holder has, sorted."""
        return tuple(sorted(profile for profile, lock in self.pools.items() if lock.ticket == holder))


def nobody() -> LockDocument:
    """The document in which nobody holds anything."""
    unused = GateUse(openBefore=False, closedFor=())
    return LockDocument(pools={}, gate=Gates(vm=unused, shared=unused), projectCaps={})


@dataclass(frozen=True)
class Taken:
    """A lock that was taken.

    Attributes:
        document: the document afterwards.
        taken_over: pools that an earlier run of the same holder had.
    """

    document: LockDocument
    taken_over: tuple[str, ...]


def read_lock(tree: FleetTree) -> LockDocument:
    """The lock document of a cluster; nobody holds anything where the branch was never made.

    Raises:
        ObservationError: ``ledger-invalid``: the branch is there and its document is not, or is invalid.
    """
    file = tree.file(LOCK_FILE)
    if file is not None:
        return require(LockDocument, file)
    if tree.revision:
        raise ObservationError(
            "ledger-invalid",
            f"branch {tree.branch} has no {LOCK_FILE}, which is never deleted: holders are unknown",
            next_action=f"restore {LOCK_FILE} from the branch's history, then run again",
        )
    return nobody()


def take(
    document: LockDocument, pools: Iterable[str], holder: str, run: str, *, now: str, step: str
) -> Taken:
    """Take all of the pools, or none. The holder's next run takes over with its own run id.

    Args:
        document: as it stands.
        pools: profiles.
        holder: a ticket, ``transition:<node>`` or ``reservation:<name>``.
        run: this run's id.
        now: the API server's time, RFC 3339.
        step: what the run is about to do.

    Raises:
        InputError: ``lock-holder-invalid``.
        PolicyBlocked: ``lock-held``, naming who holds each pool, since when and at which step.
    """
    _require_holder(holder)
    wanted = sorted(set(pools))
    blocked = [name for name in wanted if name in document.pools and document.pools[name].ticket != holder]
    if blocked:
        raise _held(document, blocked, holder)
    changed: dict[str, PoolLock] = dict(document.pools)
    taken_over: list[str] = []
    for profile in wanted:
        before = changed.get(profile)
        if before is not None and before.run == run and before.step == step:
            continue
        if before is not None and before.run != run:
            taken_over.append(profile)
        changed[profile] = PoolLock(ticket=holder, run=run, since=now, step=step)
    return Taken(_with(document, pools=changed), tuple(taken_over))


def require_run(document: LockDocument, pools: Iterable[str], holder: str, run: str) -> None:
    """Stop unless this very run holds every one of the pools; asked before every mutation.

    Raises:
        ConflictError: ``lock-lost``, saying who holds what now.
    """
    lost = []
    for profile in sorted(set(pools)):
        lock = document.pools.get(profile)
        if lock is None:
            lost.append(f"nobody holds {profile}")
        elif lock.ticket != holder or lock.run != run:
            lost.append(f"{profile} is held by {_told(lock)}")
    if lost:
        raise ConflictError(
            "lock-lost",
            f"run {run} of {holder} no longer holds its lock: {'; '.join(lost)}",
            next_action="let the run that holds the lock end, or run again to take over your own ticket",
            details={"holder": holder, "run": run, "lost": lost},
        )


def set_step(
    document: LockDocument, pools: Iterable[str], holder: str, run: str, *, now: str, step: str
) -> LockDocument:
    """Note the step that this run is at, and since when.

    Raises:
        ConflictError: ``lock-lost``.
    """
    wanted = sorted(set(pools))
    require_run(document, wanted, holder, run)
    return take(document, wanted, holder, run, now=now, step=step).document


def release(document: LockDocument, pools: Iterable[str], holder: str, run: str) -> LockDocument:
    """Let the pools go; one that nobody holds any more is let go already.

    Raises:
        ConflictError: ``lock-lost``: somebody else, or another run, holds one of them.
    """
    held = [profile for profile in sorted(set(pools)) if profile in document.pools]
    require_run(document, held, holder, run)
    return _with(document, pools={name: lock for name, lock in document.pools.items() if name not in held})


def break_lock(document: LockDocument, pool: str, holder: str, reason: str) -> LockDocument:
    """Take a pool's lock from its holder. What the creation gates are closed for stays: nothing reopens.

    Args:
        document: as it stands.
        pool: the profile.
        holder: who is thought to hold it; somebody else's lock is not broken by mistake.
        reason: why, for the branch's history.

    Raises:
        InputError: ``lock-break-reason-missing``, or ``lock-not-held``: nobody or somebody else has it.
    """
    if not reason.strip():
        raise InputError(
            "lock-break-reason-missing",
            f"breaking the lock of {pool} needs a reason",
            next_action="give the reason: it stays in the lock branch's history",
        )
    lock = document.pools.get(pool)
    if lock is None or lock.ticket != holder:
        now = f"it is held by {_told(lock)}" if lock else "nobody holds it"
        raise InputError(
            "lock-not-held",
            f"the lock of {pool} cannot be broken for {holder}: {now}",
            next_action="show the lock with playbooks/lock.yml and name its holder",
        )
    return _with(document, pools={name: kept for name, kept in document.pools.items() if name != pool})


def remember_cap(document: LockDocument, ticket: str, cap: int | None) -> LockDocument:
    """Note a project's cap as it was before us; what is noted first stays."""
    if ticket in document.project_caps:
        return document
    return _with(document, project_caps={**document.project_caps, ticket: cap})


def forget_cap(document: LockDocument, ticket: str) -> LockDocument:
    """Drop the note; it stays in the branch's history."""
    return _with(
        document, project_caps={name: cap for name, cap in document.project_caps.items() if name != ticket}
    )


def with_gates(document: LockDocument, gates: Gates) -> LockDocument:
    """The document with other gates."""
    return _with(document, gates=gates)


def _with(
    document: LockDocument,
    *,
    pools: Mapping[str, PoolLock] | None = None,
    gates: Gates | None = None,
    project_caps: Mapping[str, int | None] | None = None,
) -> LockDocument:
    return LockDocument(
        pools=dict(document.pools if pools is None else pools),
        gate=document.gate if gates is None else gates,
        projectCaps=dict(document.project_caps if project_caps is None else project_caps),
    )


def _require_holder(holder: str) -> None:
    problem = lock_holder_problem(holder)
    if problem:
        raise InputError(
            "lock-holder-invalid",
            problem,
            next_action="name a ticket in lower case, transition:<node> or reservation:<name>",
        )


def _told(lock: PoolLock) -> str:
    return f"{lock.ticket} (run {lock.run}) since {lock.since}, step {lock.step}"


def _held(document: LockDocument, blocked: list[str], holder: str) -> PolicyBlocked:
    told = "; ".join(f"{profile} is held by {_told(document.pools[profile])}" for profile in blocked)
    return PolicyBlocked(
        "lock-held",
        f"{holder} cannot take the lock: {told}",
        next_action="wait for that run (lock_wait), run that ticket again to let it go on, or break the lock "
        "with playbooks/lock.yml, giving a reason",
        details={"held": {profile: document.pools[profile].model_dump(mode="json") for profile in blocked}},
    )
