# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The status of a Reservation after a pass.

Ready means that every node is Reserved. A time changes only with its condition's status.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from .cluster_objects import Condition
from .reservation_claims import Claim
from .reservation_objects import ReservationStatus, ReservedNode
from .reservation_world import ACCEPTED, READY

NOT_ACCEPTED: Final = "NotAccepted"
NO_NODES: Final = "NoNodes"
NODES_MISSING: Final = "NodesMissing"
NODES_DRAINING: Final = "NodesDraining"
NODES_PENDING: Final = "NodesPending"
ALL_RESERVED: Final = "AllReserved"
LONGEST: Final = 32768
"""Characters of a condition's message that the definitions allow; a thousand held nodes take more."""


def condition(
    earlier: Iterable[Condition],
    kind: str,
    *,
    status: bool,
    reason: str,
    message: str,
    generation: int,
    now: str,
) -> dict[str, Any]:
    """A condition as it is stored; its time stays where the status was the same before.

    Args:
        earlier: the conditions that are stored.
        kind: Accepted or Ready.
        status: true or false.
        reason: a constant.
        message: the facts.
        generation: which generation of the object it is about.
        now: RFC 3339 time.
    """
    text = "True" if status else "False"
    since = next(
        (one.last_transition_time for one in earlier if one.type == kind and one.status == text), now
    )
    return {
        "type": kind,
        "status": text,
        "reason": reason,
        "message": _fitting(message),
        "observedGeneration": generation,
        "lastTransitionTime": since or now,
    }


def _fitting(message: str) -> str:
    if len(message) <= LONGEST:
        return message
    more = f" … and {len(message)} characters in all: a reconcile shows the rest"
    return message[: LONGEST - len(more)] + more


def reservation_status(claim: Claim, nodes: Sequence[ReservedNode], now: str) -> dict[str, Any]:
    """The status document of a Reservation.

    Args:
        claim: how it was judged.
        nodes: its nodes as they are after the pass.
        now: RFC 3339 time.
    """
    reservation = claim.reservation
    meta, earlier = reservation.metadata, reservation.status.conditions
    ready, reason, message = _readiness(claim, nodes)
    hint = f"; {claim.next_action}" if claim.next_action else ""
    return {
        "observedGeneration": meta.generation,
        "reserved": sum(node.phase == "Reserved" for node in nodes),
        "nodes": [
            {"name": node.name, "phase": node.phase, "tenantPods": node.tenant_pods}
            for node in sorted(nodes, key=lambda one: one.name)
        ],
        "conditions": [
            condition(
                earlier,
                ACCEPTED,
                status=claim.accepted,
                reason=claim.reason,
                message=f"{claim.message}{hint}",
                generation=meta.generation,
                now=now,
            ),
            condition(
                earlier,
                READY,
                status=ready,
                reason=reason,
                message=message,
                generation=meta.generation,
                now=now,
            ),
        ],
    }


def _readiness(claim: Claim, nodes: Sequence[ReservedNode]) -> tuple[bool, str, str]:
    by_phase: dict[str, list[str]] = {}
    for node in nodes:
        by_phase.setdefault(node.phase, []).append(node.name)
    pending = sorted((claim.hold | claim.missing) - {node.name for node in nodes})
    if not claim.accepted:
        return False, NOT_ACCEPTED, "this generation is not accepted; what was reserved before stays so"
    if by_phase.get("Missing"):
        return False, NODES_MISSING, f"no such nodes: {', '.join(sorted(by_phase['Missing']))}"
    if by_phase.get("Draining"):
        return False, NODES_DRAINING, f"being released: {', '.join(sorted(by_phase['Draining']))}"
    if pending:
        return False, NODES_PENDING, f"not yet reserved: {', '.join(pending)}"
    if not nodes:
        return False, NO_NODES, "no node is reserved"
    return True, ALL_RESERVED, f"{len(nodes)} node(s) reserved"


def needs_write(before: ReservationStatus, status: Mapping[str, Any]) -> bool:
    """Whether a status differs from the one that is stored."""
    return (
        status["observedGeneration"] != before.observed_generation
        or status["reserved"] != before.reserved
        or status["nodes"]
        != [{"name": n.name, "phase": n.phase, "tenantPods": n.tenant_pods} for n in before.nodes]
        or not same_conditions(status["conditions"], before.conditions)
    )


def same_conditions(wanted: Sequence[Mapping[str, Any]], there: Sequence[Condition]) -> bool:
    """Whether conditions say the same as those that are stored, times aside."""
    return [(one["type"], one["status"], one["reason"], one["message"]) for one in wanted] == [
        (one.type, one.status, one.reason, one.message) for one in there
    ]
