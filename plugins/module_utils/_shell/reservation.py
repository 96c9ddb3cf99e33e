# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpu_reservation: reconciles one Reservation or all, and creates, changes or deletes one."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping

from .._adapters.observe_reservations import observe_reservations
from .._core.checks import Check
from .._core.reservation_access import CREATES, DELETES, READS, WRITES
from .._core.reservation_claims import Claim, Consent, claims_of
from .._core.reservation_pools import Needs, pools_needed
from .._core.reservation_steps import findings, node_steps, step_text
from .._core.reservation_world import ReservationWorld
from .outcome import Outcome
from .progress import report
from .reservation_answer import answer, draining_nodes
from .reservation_course import drain_nodes, hold_nodes
from .reservation_gate import Confirmed, access_checks, canary_checks, confirm, require
from .reservation_object import Edit, edit_reservation
from .reservation_pools import PoolGuard, guarded
from .reservation_records import record_after, record_before
from .reservation_state import PassOptions, PassState
from .run import Invocation
from .sources import Reach


def reconcile_reservations(invocation: Invocation) -> Outcome:
    """The module's work."""
    params, reach = invocation.params, Reach(invocation.params)
    confirmed = confirm(reach)
    checks = _gate(invocation, reach)
    edit = edit_reservation(reach.client, params, check_mode=invocation.check_mode)
    deadline = time.monotonic() + params["wait_timeout"]
    done = [edit.text] if edit.text else []
    plan: tuple[str, ...] | None = None
    while True:
        with guarded(invocation, reach) as guard:
            state = _one_pass(invocation, reach, edit, confirmed, guard)
        done += state.done
        if plan is None:
            plan = (
                *done[: 1 if edit.text else 0],
                *(text for step in state.steps for text in step_text(step)),
            )
        draining = draining_nodes(state)
        if not (params["wait"] and draining) or invocation.check_mode or time.monotonic() >= deadline:
            break
        report(f"waiting for tenants' Pods to leave: {', '.join(draining)}")
        time.sleep(min(params["poll_interval"], max(0.0, deadline - time.monotonic())))
        reach.client.version()  # its answer carries the API server's time of now
    timed_out = bool(params["wait"] and draining and not invocation.check_mode)
    return answer(state, checks, plan, done, timed_out=timed_out)


def _gate(invocation: Invocation, reach: Reach) -> tuple[Check, ...]:
    state = invocation.params["state"]
    writes = WRITES + (CREATES if state == "present" else DELETES if state == "absent" else ())
    needed, later = (READS, writes) if invocation.check_mode else (READS + writes, ())
    checks = access_checks(reach.client, needed, later)
    require(checks)
    checks += canary_checks(reach.client)
    require(checks)
    return checks


def _one_pass(
    invocation: Invocation, reach: Reach, edit: Edit, confirmed: Confirmed, guard: PoolGuard
) -> PassState:
    params = invocation.params
    world = _projected(observe_reservations(reach.client), edit, reach.client.server_time)
    consent = Consent(daemonset_loss=params["allow_daemonset_loss"], eviction=params["allow_eviction"])
    claims = claims_of(world, consent)
    needs = _secured(world, claims, confirmed, guard, params["name"] or "")
    if guard.refused:
        consent = dataclasses.replace(consent, holds=guard.refused)
        claims = claims_of(world, consent)
    steps = node_steps(world, claims, params["name"] or "")
    options = PassOptions(
        now=reach.client.server_time,
        consent=consent,
        check_mode=invocation.check_mode,
        only=params["name"] or "",
        notified=params["notified"],
    )
    state = PassState(
        reach.client, world, claims, steps, options, guard.require, notices=list(findings(world, steps))
    )
    current = {} if invocation.check_mode else record_before(state)
    hold_nodes(state)
    drain_nodes(state)
    if not invocation.check_mode:
        record_after(state, current)
    guard.let_go_of_earlier(
        confirmed.lock,
        needs,
        lambda name: name in state.chosen or not (options.only or name in world.reservations),
    )
    return state


def _secured(
    world: ReservationWorld,
    claims: Mapping[str, Claim],
    confirmed: Confirmed,
    guard: PoolGuard,
    only: str,
) -> Needs:
    """Lock and prove the pools that the pass would take nodes from; which ones they are."""
    chosen = [claim for name, claim in claims.items() if only in ("", name)]
    pools = {name: tuple(pool.nodes) for name, pool in confirmed.ledger.policy.pools.items()}
    needs = pools_needed(world, chosen, pools)
    guard.secure(needs)
    return needs


def _projected(world: ReservationWorld, edit: Edit, now: str) -> ReservationWorld:
    """The world as check mode's edit of the object would make it."""
    reservations = dict(world.reservations)
    if edit.projected is not None:
        reservations[edit.projected.name] = edit.projected
    if edit.deleted in reservations:
        there = reservations[edit.deleted]
        meta = there.metadata.model_copy(update={"deletion_timestamp": now})
        reservations[edit.deleted] = there.model_copy(update={"metadata": meta})
    return dataclasses.replace(world, reservations=reservations)
