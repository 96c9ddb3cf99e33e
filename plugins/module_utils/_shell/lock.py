# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_lock: take, show, let go of and break a pool's lock by compare-and-swap on the lock branch."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from .._adapters.observe import confirm_cluster
from .._core.checks import Check
from .._core.errors import ConflictError, InputError, PolicyBlocked
from .._core.ledger import load_ledger
from .._core.lock import LOCK_FILE, LockDocument, break_lock, read_lock, release, take
from .._core.names import LEDGER_ROOT, normalise_ticket
from .fences import keep_fences
from .outcome import Diff, Outcome
from .progress import report
from .run import Invocation
from .sources import Reach

ATTEMPTS = 10

Change = Callable[[LockDocument, str], LockDocument]
"""From the document and the API server's time to the document afterwards."""


@dataclass(frozen=True)
class LockChange:
    """A change of the lock document that was made, or would be."""

    before: LockDocument
    after: LockDocument


def change_lock(invocation: Invocation) -> Outcome:
    """The module's work."""
    reach = Reach(invocation.params)
    _confirm(reach)
    state = invocation.params["state"]
    if state == "info":
        return _shown(read_document(reach))
    if state == "held":
        return _take(invocation, reach)
    if state == "released":
        return _release(invocation, reach)
    return _break(invocation, reach)


def read_document(reach: Reach) -> LockDocument:
    """The lock document as it stands."""
    return read_lock(reach.fleet.read_branch(reach.lock_branch, (LOCK_FILE,)))


def apply_change(invocation: Invocation, reach: Reach, change: Change, message: str) -> LockChange:
    """Change the lock document by compare-and-swap; a lost race reads again and decides again.

    Raises:
        ConflictError: ``fleet-moved`` after bounded attempts.
    """
    for attempt in range(ATTEMPTS):
        tree = reach.fleet.read_branch(reach.lock_branch, (LOCK_FILE,))
        before = read_lock(tree)
        after = change(before, reach.client.server_time)
        if after == before or invocation.check_mode:
            return LockChange(before, after)
        try:
            reach.fleet.commit(
                reach.lock_branch, tree.revision, {LOCK_FILE: after.to_yaml().encode()}, message
            )
        except ConflictError:
            if attempt == ATTEMPTS - 1:
                raise
            continue
        return LockChange(before, after)
    raise AssertionError("unreachable: the last attempt returns or raises")


def _confirm(reach: Reach) -> None:
    ledger = load_ledger(reach.fleet.read((LEDGER_ROOT,)), reach.cluster)
    confirm_cluster(reach.client, ledger.policy.spec.cluster_uid, reach.cluster)


def _take(invocation: Invocation, reach: Reach) -> Outcome:
    params = invocation.params
    ticket, pool, run = normalise_ticket(params["ticket"]), params["profile_id"], params["run_id"]
    _require_pool(reach, pool)
    deadline = time.monotonic() + params["wait"]

    def take_it(document: LockDocument, now: str) -> LockDocument:
        return take(document, (pool,), ticket, run, now=now, step=params["step"]).document

    made: LockChange | None = None
    while made is None:
        try:
            made = apply_change(invocation, reach, take_it, f"Lock {pool} for {ticket}")
        except PolicyBlocked as blocked:
            if time.monotonic() >= deadline:
                raise
            report(f"waiting for the lock of {pool}: {blocked.message}")
            time.sleep(min(params["poll_interval"], max(0.0, deadline - time.monotonic())))
            reach.client.version()  # its answer carries the API server's time of now
    if not invocation.check_mode:
        namespace = params["smoke_namespace"]
        keep_fences(reach, {ticket: namespace} if namespace else {})
    held_before = made.before.pools.get(pool)
    taken_over = held_before is not None and held_before.run != run
    return _outcome(made, f"pool {pool} is locked for {ticket}", f"lock pool {pool} for {ticket}", taken_over)


def _release(invocation: Invocation, reach: Reach) -> Outcome:
    params = invocation.params
    ticket, pool, run = normalise_ticket(params["ticket"]), params["profile_id"], params["run_id"]
    if params["unless_recorded"] and is_recorded(reach, ticket):
        document = read_document(reach)
        return _outcome(
            LockChange(document, document),
            f"pool {pool} stays locked: {ticket} has a record that holds devices",
            "",
            taken_over=False,
        )
    made = apply_change(
        invocation,
        reach,
        lambda document, _now: release(document, (pool,), ticket, run),
        f"Let go of {pool} for {ticket}",
    )
    if not invocation.check_mode:
        keep_fences(reach)
    return _outcome(made, f"pool {pool} is let go of", f"let go of the lock of pool {pool}", taken_over=False)


def is_recorded(reach: Reach, ticket: str) -> bool:
    """Whether a record of the ticket holds devices: pending, active or releasing."""
    ledger = load_ledger(reach.fleet.read((LEDGER_ROOT,)), reach.cluster)
    return any(record.holds and record.ticket == ticket for record in ledger.records.values())


def _break(invocation: Invocation, reach: Reach) -> Outcome:
    params = invocation.params
    pool, holder, reason = params["profile_id"], _holder(params["ticket"]), params["reason"]
    made = apply_change(
        invocation,
        reach,
        lambda document, _now: break_lock(document, pool, holder, reason),
        f"Break the lock of {pool}, held for {holder}: {reason}",
    )
    if not invocation.check_mode:
        keep_fences(reach)
    return _outcome(
        made, f"the lock of {pool} is broken for {holder}", f"break the lock of {pool}", taken_over=False
    )


def _holder(text: str) -> str:
    return text if ":" in text else normalise_ticket(text)


def _require_pool(reach: Reach, pool: str) -> None:
    policy = load_ledger(reach.fleet.read((LEDGER_ROOT,)), reach.cluster).policy
    if pool not in policy.pools:
        raise InputError(
            "pool-not-approved",
            f"profile_id: the policy has no pool {pool}; it has {', '.join(sorted(policy.pools))}",
            next_action="name one of them, or have the pool reviewed into policy.yaml",
        )


def lines_of(document: LockDocument) -> list[str]:
    """Lines for the screen: who holds what, and who needs which gate closed."""
    lines = [
        f"{pool}: {lock.ticket} since {lock.since}, step {lock.step} (run {lock.run})"
        for pool, lock in sorted(document.pools.items())
    ] or ["no pool is locked"]
    for gate, use in (("vm", document.gate.vm), ("shared", document.gate.shared)):
        if use.closed_for:
            before = "open" if use.open_before else "closed"
            lines.append(f"gate {gate}: closed for {', '.join(use.closed_for)}; {before} before")
    return lines


def _shown(document: LockDocument) -> Outcome:
    lines = lines_of(document)
    result = {"lock": document.value(), "taken_over": False, "summary": lines}
    return Outcome(changed=False, msg="; ".join(lines), plan=(), result=result)


def _outcome(made: LockChange, msg: str, step: str, taken_over: bool) -> Outcome:
    changed = made.before != made.after
    return Outcome(
        changed=changed,
        msg=msg,
        checks=(Check(id="lock", status="pass", message=msg, object=LOCK_FILE),),
        plan=(step,) if changed and step else (),
        result={"lock": made.after.value(), "taken_over": taken_over, "summary": lines_of(made.after)},
        diffs=(Diff(LOCK_FILE, made.before.to_yaml(), made.after.to_yaml()),) if changed else (),
    )
