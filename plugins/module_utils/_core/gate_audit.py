# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the creation gates stand as lock and freezes want them ("Locks and gates")."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from . import finding_ids as ids
from .cluster_config import config_path
from .finding import Finding
from .gate import GateState, gate_state
from .gate_use import GATE_KEYS, Gate, use_of
from .instants import instant
from .world import World

FOLLOWS_WITHIN: Final = timedelta(minutes=15)
"""How long copies may take to follow the fleet's file: an interval and a time-out of Flux."""


def _needs(gate: Gate, world: World) -> list[str]:
    """Who needs the gate closed: tickets, and freezes of any pool (the VM gate's)."""
    ledger = world.ledger
    needs = list(use_of(ledger.lock, gate).closed_for) if ledger.lock is not None else []
    if gate == "vm" and ledger.freezes is not None:
        needs += [f"freeze of {name}" for name, freeze in sorted(ledger.freezes.items()) if freeze.frozen]
    return needs


def _following(gate: Gate, state: GateState, world: World) -> bool:
    """Whether copies only lag behind the fleet's file for a run that is under way.

    A gate that is being closed for a ticket may lag for a while after its lock was taken; one that is
    being opened only errs on the safe side.
    """
    lock, now = world.ledger.lock, world.now
    if lock is None or now is None or not lock.pools:
        return False
    if state.file != "closed":
        return state.file == "open" and not use_of(lock, gate).closed_for
    users = use_of(lock, gate).closed_for
    began = [instant(held.since) for held in lock.pools.values() if held.ticket in users]
    return any(since is not None and abs(now - since) <= FOLLOWS_WITHIN for since in began)


def _finding(gate: Gate, state: GateState, fault: str, expected: str, *, following: bool) -> Finding:
    key = GATE_KEYS[gate]
    told = ", ".join(f"{place}: {said}" for place, said in state.copies().items())
    return Finding(
        id=ids.GATE_CONVERGING if following else ids.GATE_STATE_UNEXPECTED,
        severity="warning" if following else "error",
        object=f"gate/{gate}",
        message=f"creation gate {key}: {fault} ({told})",
        expected=expected,
        observed=told,
        values=dict(state.copies()),
        next_action="wait for Flux, Helm and the roll-out to follow the fleet's file"
        if following
        else f"set {key} with playbooks/creation_gate.yml; where a copy lags, look at Flux and Helm",
        transient=True,
        unknown="unknown" in state.copies().values(),
    )


def gate_findings(world: World, creation_control: str) -> tuple[Finding, ...]:
    """Copies of one gate that differ, and a gate that is open while somebody needs it closed.

    Args:
        world: the observation.
        creation_control: the policy's; with ``fence`` alone a gate may be open.
    """
    found: list[Finding] = []
    gates: tuple[Gate, ...] = ("vm", "shared")
    for gate in gates:
        found.extend(_of_gate(gate, world, creation_control))
    return tuple(found)


def _of_gate(gate: Gate, world: World, creation_control: str) -> Iterable[Finding]:
    observed, cluster = world.snapshot.observed, world.snapshot.cluster
    file = world.snapshot.fleet.file(config_path(cluster))
    state = gate_state(gate, file, observed.cluster_config, observed.gate_copies)
    following = _following(gate, state, world)
    needs = _needs(gate, world)
    if needs and creation_control != "fence" and not state.closed:
        fault = f"it is not closed everywhere, needed closed for {', '.join(needs)}"
        yield _finding(gate, state, fault, "closed in every copy", following=following)
    elif not state.agree:
        yield _finding(gate, state, "its copies differ", "the same in every copy", following=following)
