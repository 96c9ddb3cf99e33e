# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of a rehearsal: what assign, release and cancel decide with the core and write by the adapter.

Each is a generator that stops after every write: left there, it was killed. The next run of the ticket
finds out from the world what is done, as the playbooks do.
"""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.gpuops.reservations.plugins.module_utils._core.addon import set_quantity
from ansible_collections.gpuops.reservations.plugins.module_utils._core.addon_target import target_of
from ansible_collections.gpuops.reservations.plugins.module_utils._core.gate_use import (
    close_for,
    let_go,
    may_open,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.invariant import prove_in
from ansible_collections.gpuops.reservations.plugins.module_utils._core.lock import (
    release as release_lock,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.lock import (
    require_run,
    take,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.order import Order
from ansible_collections.gpuops.reservations.plugins.module_utils._core.record import Record
from ansible_collections.gpuops.reservations.plugins.module_utils._core.record_change import (
    advance,
    pending_from_order,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.release_judgement import (
    judge_release,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.fleet_builder import (
    BILLING,
    select,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.rehearsal.stage import POOL, Seen, Stage

Steps = Iterator[str]
EVIDENCE = "sha256:" + "0f" * 32


class Refused(Exception):
    """The answer is no; nothing of it was written, or what was written waits."""


def assign(stage: Stage, order: Order, run: str, *, reopen: bool) -> Steps:
    """Assign a ticket's order; yields after every write."""
    ticket = order.ticket
    seen = stage.look()
    record = seen.record(ticket)
    if record is not None and record.state == "active" and not _left_over(seen, ticket):
        return
    if record is None:
        _require_yes(seen, order)
    yield from _locked(stage, ticket, run)
    seen = stage.look()
    record = seen.record(ticket)
    if record is None:
        try:
            _require_yes(seen, order)
        except Refused:
            yield from _let_go(stage, ticket, run, reopen=True)
            raise
        _write(stage, seen, ticket, run, pending_from_order(order))
        yield "pending"
    yield from _entitled(stage, ticket, without=False)
    seen = stage.look()
    record = seen.record(ticket)
    assert record is not None
    if record.state == "pending":
        proof = prove_in(seen.world, POOL, select=select, ticket=ticket, purpose="entitled")
        if not proof.allowed:
            raise Refused("; ".join(check.message for check in proof.refusals))
        _write(stage, seen, ticket, run, advance(record, "active", at=seen.now, evidence=EVIDENCE))
        yield "active"
    yield from _let_go(stage, ticket, run, reopen=reopen)


def release(stage: Stage, ticket: str, run: str, *, reopen: bool) -> Steps:
    """Release a ticket's record; yields after every write."""
    seen = stage.look()
    record = seen.record(ticket)
    assert record is not None
    if record.state == "released" and not _left_over(seen, ticket):
        return
    yield from _locked(stage, ticket, run)
    seen = stage.look()
    record = seen.record(ticket)
    assert record is not None
    if record.state == "active":
        _write(stage, seen, ticket, run, advance(record, "releasing"))
        yield "releasing"
    if record.state != "released":
        seen = stage.look()
        record = seen.record(ticket)
        assert record is not None
        judgement = judge_release(
            prove_in(seen.world, POOL, select=select, ticket=ticket), record, seen.world
        )
        if not judgement.clear:
            waiting = advance(record, "releasing", reason="waiting-for-holders")
            _write(stage, seen, ticket, run, waiting)
            raise Refused("; ".join(judgement.waits_for))
        yield from _entitled(stage, ticket, without=True)
        seen = stage.look()
        _write(stage, seen, ticket, run, advance(record, "released", at=seen.now, evidence=EVIDENCE))
        yield "released"
    yield from _let_go(stage, ticket, run, reopen=reopen)


def cancel(stage: Stage, ticket: str, run: str, *, reopen: bool) -> Steps:
    """Cancel a ticket's pending record; yields after every write."""
    seen = stage.look()
    record = seen.record(ticket)
    if record is None or (record.state == "canceled" and not _left_over(seen, ticket)):
        return
    yield from _locked(stage, ticket, run)
    if record.state == "pending":
        yield from _entitled(stage, ticket, without=True)
        seen = stage.look()
        _write(stage, seen, ticket, run, advance(record, "canceled"))
        yield "canceled"
    yield from _let_go(stage, ticket, run, reopen=reopen)


def _require_yes(seen: Seen, order: Order) -> None:
    proof = prove_in(seen.world, POOL, select=select, order=order, ticket=order.ticket, purpose="assign")
    if not proof.allowed:
        raise Refused("; ".join(check.message for check in proof.refusals))


def _left_over(seen: Seen, ticket: str) -> bool:
    return bool(seen.lock.held_by(ticket)) or ticket in seen.lock.gate.vm.closed_for


def _locked(stage: Stage, ticket: str, run: str) -> Steps:
    """The lock, or PolicyBlocked naming who holds it, and creation closed."""
    seen = stage.look()
    taken = take(seen.lock, (POOL,), ticket, run, now=seen.now, step="freeze").document
    is_open = stage.cluster.gates["GPU_VM_CREATION_ENABLED"] == "true"
    closed = close_for(taken, "vm", ticket, open_now=is_open)
    stage.commit(seen, closed, f"Close gate vm for {ticket}", gate="false" if is_open else "")
    yield "closed"


def _write(stage: Stage, seen: Seen, ticket: str, run: str, record: Record) -> None:
    require_run(seen.lock, (POOL,), ticket, run)
    stage.commit(seen, seen.lock, f"{record.id}: {record.state}", record=record)


def _entitled(stage: Stage, ticket: str, *, without: bool) -> Steps:
    """The add-on at the sum of the records, and quota that follows."""
    seen = stage.look()
    record = seen.record(ticket)
    assert record is not None
    target = target_of(record, seen.ledger.records.values(), seen.world.catalogue, without=without)
    annotations = stage.cluster.organizations[target.organization]["metadata"]["annotations"]
    before = annotations[f"{BILLING}/addons"]
    change = set_quantity(before, target.addon_id, target.quantity)
    if change.text is not None and change.text != before:
        stage.grant(target.organization, change.text, target.devices)
        yield "entitled"


def _let_go(stage: Stage, ticket: str, run: str, *, reopen: bool) -> Steps:
    """Gate and lock at once: the story is long enough."""
    seen = stage.look()
    require_run(seen.lock, (POOL,), ticket, run)
    opens = may_open(seen.lock, "vm", ticket, frozen=seen.ledger.frozen(POOL), reopen=reopen)
    is_closed = stage.cluster.gates["GPU_VM_CREATION_ENABLED"] == "false"
    after = release_lock(let_go(seen.lock, "vm", ticket), (POOL,), ticket, run)
    stage.commit(seen, after, f"{ticket} lets go", gate="true" if opens and is_closed else "")
    yield "let go"
