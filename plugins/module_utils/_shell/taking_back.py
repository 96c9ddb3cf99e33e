# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What still has to be taken back with a record, in words for a plan and for an operator who clicks."""

from __future__ import annotations

from .._core.project_cap import CapChange
from .._core.record import Record
from .entitlement import Entitling, entitling
from .giving_back import GivingBack
from .observation import Observation


def reduction_of(record: Record, seen: Observation) -> tuple[str, ...]:
    """The add-on's reduction, and what else does not show it yet; empty where all is taken back."""
    state = entitling(record, seen, without=True)
    if not state.missing:
        return ()
    step = _step(state)
    later = [text for place, text in state.missing.items() if place != "annotation"]
    return (step,) if step else tuple(later)


def _step(state: Entitling) -> str:
    if state.before == state.target.quantity:
        return ""
    target = state.target
    return f"reduce {target.addon_id} of {target.organization} from {state.before} to {target.quantity}"


def cap_step(cap: CapChange | None, record: Record) -> str:
    """What is to be done with the project's cap; empty where nothing."""
    if cap is None or not cap.changed:
        return ""
    project = record.spec.project
    if cap.after is None:
        return f"take the cap of {cap.before} devices off project {project}"
    return f"put the cap of project {project} back to {cap.after} devices"


def operator_steps(state: GivingBack, reduction: tuple[str, ...]) -> list[str]:
    """What an operator clicks, where the policy has a person do it; in the order in which it is done."""
    spec, record = state.seen.ledger.policy.spec, state.record
    steps = []
    if spec.entitlement_transport == "observe" and reduction:
        where = f"Admin > Organization > {record.spec.organization} > Billing > Manage add-ons"
        steps.append(f"{where}: {reduction[0]}; not before nobody uses the devices, which the run waits for")
    cap = cap_step(state.cap, record)
    if spec.project_cap == "observe" and cap:
        steps.append(f"in the product: {cap}")
    return steps
