# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Proves a pool, reading node health again before it stops anything."""

from __future__ import annotations

import time
from dataclasses import dataclass

from .._core.checks import told
from .._core.errors import PolicyBlocked
from .._core.invariant import Purpose, prove
from .._core.order import Order
from .._core.proof import Proof
from .._core.report import report_result
from .observation import Observation, look_again, observe
from .progress import report
from .run import Invocation
from .selection import select
from .sources import Reach

READS_AGAIN = 3
"""Findings of health are read again so often before they stop anything."""


@dataclass(frozen=True)
class Question:
    """What is to be proved.

    Attributes:
        profile_id: the pool's profile.
        purpose: what the proof is for.
        order: its devices are added, unless its own record holds them.
        ticket: the run that asks.
    """

    profile_id: str
    purpose: Purpose = "audit"
    order: Order | None = None
    ticket: str = ""

    def answer(self, seen: Observation) -> Proof:
        """The proof on one observation."""
        return prove(
            seen.snapshot,
            seen.ledger,
            self.profile_id,
            select=select,
            order=self.order,
            ticket=self.ticket,
            purpose=self.purpose,
        )


def proved(
    invocation: Invocation, reach: Reach, seen: Observation, question: Question
) -> tuple[Observation, Proof]:
    """The proof on this observation, or on a later one where only health or use stands against a yes.

    Args:
        invocation: the call; its option health_interval is the time between two reads, in seconds.
        reach: how it reaches the world.
        seen: the first observation.
        question: what is to be proved.
    """
    proof = question.answer(seen)
    if invocation.params.get("snapshot"):
        return seen, proof
    for attempt in range(READS_AGAIN):
        if not proof.worth_reading_again:
            break
        what = told(finding.message for finding in proof.stops)
        report(f"reading health again ({attempt + 1} of {READS_AGAIN}): {what}")
        time.sleep(invocation.params.get("health_interval", 0.0))
        seen = look_again(invocation, reach, seen)
        proof = question.answer(seen)
    return seen, proof


def require_proof(proof: Proof) -> None:
    """Stop unless the answer is yes.

    Raises:
        PolicyBlocked: with the code of the first finding that stops, the first few in the message, and the
            whole report as result.
    """
    if proof.allowed:
        return
    stops = proof.refusals
    raise PolicyBlocked(
        stops[0].id,
        f"pool {proof.profile_id}: {told(check.message for check in stops)}",
        next_action=told(check.next_action for check in stops),
        report=report_result(proof),
    )


def look_and_prove(invocation: Invocation, reach: Reach, question: Question) -> tuple[Observation, Proof]:
    """Look, prove, and stop unless the answer is yes.

    Raises:
        PolicyBlocked: as for :func:`require_proof`.
    """
    seen, proof = proved(invocation, reach, observe(invocation, reach), question)
    require_proof(proof)
    return seen, proof
