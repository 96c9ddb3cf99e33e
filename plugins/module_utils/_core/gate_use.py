# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""For whom a creation gate is closed, as the lock document has it, and when it may open again."""

from __future__ import annotations

from typing import Final, Literal

from .lock import Gates, GateUse, LockDocument, with_gates

Gate = Literal["vm", "shared"]

GATE_KEYS: Final[dict[Gate, str]] = {"vm": "GPU_VM_CREATION_ENABLED", "shared": "GPU_SHARED_CREATION_ENABLED"}
"""Each gate's key in the fleet's cluster-config.env."""


def use_of(document: LockDocument, gate: Gate) -> GateUse:
    """The bookkeeping of one gate."""
    return document.gate.vm if gate == "vm" else document.gate.shared


def close_for(document: LockDocument, gate: Gate, holder: str, *, open_now: bool) -> LockDocument:
    """Note that a holder needs a gate closed.

    Whether the gate is open now is noted by the first holder only: those who come later find it closed
    because of the first.
    """
    use = use_of(document, gate)
    if holder in use.closed_for:
        return document
    before = use.open_before if use.closed_for else open_now
    return _with(document, gate, GateUse(openBefore=before, closedFor=(*use.closed_for, holder)))


def let_go(document: LockDocument, gate: Gate, holder: str) -> LockDocument:
    """Note that a holder no longer needs a gate closed."""
    use = use_of(document, gate)
    if holder not in use.closed_for:
        return document
    left = tuple(other for other in use.closed_for if other != holder)
    return _with(document, gate, GateUse(openBefore=use.open_before, closedFor=left))


def why_not_open(document: LockDocument, gate: Gate, holder: str, *, frozen: bool, reopen: bool) -> str:
    """Why a holder that lets go may not open a gate; empty where it may.

    It opens when the last one lets go, it was open before, no freeze stands, and reopening is asked for.

    Args:
        document: the lock document, before or after the holder let go.
        gate: the gate.
        holder: who lets go.
        frozen: whether a freeze of any pool stands.
        reopen: whether opening was asked for.
    """
    use = use_of(document, gate)
    others = [other for other in use.closed_for if other != holder]
    key = GATE_KEYS[gate]
    if others:
        return f"{key} stays closed for {', '.join(others)}"
    if not use.open_before:
        return f"{key} was not open before {holder} had it closed"
    if frozen:
        return f"{key} stays closed: a freeze stands"
    if not reopen:
        return f"{key} stays closed: reopen was not asked for"
    return ""


def may_open(document: LockDocument, gate: Gate, holder: str, *, frozen: bool, reopen: bool) -> bool:
    """Whether a holder that lets go may open a gate; see :func:`why_not_open`."""
    return not why_not_open(document, gate, holder, frozen=frozen, reopen=reopen)


def _with(document: LockDocument, gate: Gate, use: GateUse) -> LockDocument:
    gates = document.gate
    vm, shared = (use, gates.shared) if gate == "vm" else (gates.vm, use)
    return with_gates(document, Gates(vm=vm, shared=shared))
