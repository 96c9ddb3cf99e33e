# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a record changes: pending from an order, on to its next state, and never back."""

from __future__ import annotations

from typing import Any, Final

from . import redaction
from .approval import Approvers
from .document import API_VERSION, Problem, model_problems, problem
from .errors import InputError, PolicyBlocked
from .names import record_id
from .order import Order
from .record import NEXT, REASONS, Metadata, Reason, Record, Spec, State, Status
from .strict_model import ValidationError
from .times import TimeError, to_second

CHANGING: Final = frozenset(
    {"spec.state", "status.activatedAt", "status.releasedAt", "status.evidenceRevision", "status.reason"}
)
"""The fields that may change together with the state."""

_WRITTEN_ONCE: Final = frozenset({"status.activatedAt", "status.releasedAt"})


def pending_from_order(order: Order) -> Record:
    """The pending record of an order (runbook: Create the hold and entitlement).

    Raises:
        InputError: code ``identifier-in-document``: the order holds what must not be in the ledger.
    """
    spec = order.spec
    record = Record(
        apiVersion=API_VERSION,
        kind="GPUReservationRecord",
        metadata=Metadata(id=record_id(order.ticket)),
        spec=Spec(
            organization=spec.organization,
            project=spec.project,
            profileId=spec.profile_id,
            devices=spec.devices,
            state="pending",
            requestedAt=spec.requested_at,
            startsAt=spec.starts_at,
            endsAt=spec.ends_at,
            addonId=spec.addon_id,
            billingReference=spec.billing_reference,
            approvedBy=Approvers(product=spec.approved_by.product, sre=spec.approved_by.sre),
        ),
        status=Status(activatedAt="", releasedAt="", evidenceRevision="", reason="awaiting-activation"),
    )
    redaction.refuse_value(record.value(), f"order {order.ticket}")
    return record


def advance(
    record: Record, state: State, *, at: str = "", evidence: str = "", reason: Reason | None = None
) -> Record:
    """The record in its next state, or in the same state with another reason.

    Args:
        record: the record as it stands in the ledger.
        state: the state to go to.
        at: the API server's time, RFC 3339; needed for active and released, written to the second in UTC.
        evidence: the evidence revision; needed for active, and kept where it is empty.
        reason: one that fits the state; the state's first where it is left out.

    Raises:
        PolicyBlocked: ``record-never-goes-back``: the states allow no such step; ``record-invalid``: the
            record would break a rule (an activation after endsAt, no evidence).
        InputError: ``identifier-in-document``.
    """
    if state != record.state and state not in NEXT[record.state]:
        allowed = " or ".join(NEXT[record.state]) or "no other state"
        raise PolicyBlocked(
            "record-never-goes-back",
            f"{record.id}: spec.state: is {record.state}; from there it goes to {allowed}, not to {state}",
            next_action="show the record with gpu_ledger_info; a new order needs a ticket of its own",
            details={"id": record.id, "from": record.state, "to": state},
        )
    value = record.value()
    value["spec"]["state"] = state
    status = value["status"]
    status["reason"] = reason or (status["reason"] if state == record.state else REASONS[state][0])
    status["evidenceRevision"] = evidence or status["evidenceRevision"]
    if state != record.state and state in ("active", "released"):
        status["activatedAt" if state == "active" else "releasedAt"] = _written(at)
    return _checked(record, value)


def _written(at: str) -> str:
    """The time as we write it; what is no time stays, for the record's own check to name."""
    try:
        return to_second(at)
    except TimeError:
        return at


def _checked(record: Record, value: dict[str, Any]) -> Record:
    redaction.refuse_value(value, record.id)
    try:
        return Record.model_validate(value)
    except ValidationError as error:
        problems = [f"{field}: {message}" for field, message, _path in model_problems(error)]
        raise PolicyBlocked(
            "record-invalid",
            f"{record.id} cannot go to {value['spec']['state']}: {'; '.join(problems)}",
            next_action="correct what is named, then run again",
            details={"id": record.id, "problems": problems},
        ) from error


def as_recorded(value: dict[str, Any], where: str) -> Record:
    """A record from a JSON value, such as a module's result.

    Raises:
        InputError: code ``record-invalid``, naming every field that is wrong.
    """
    try:
        return Record.model_validate(value)
    except ValidationError as error:
        problems = [f"{field}: {message}" for field, message, _path in model_problems(error)]
        raise InputError(
            "record-invalid",
            f"{where}: {'; '.join(problems)}",
            next_action="correct the named fields",
            details={"problems": problems},
        ) from error


def change_problems(file: str, before: Record, after: Record) -> tuple[Problem, ...]:
    """What is wrong with a change of a record between two versions of the ledger.

    Only the state and what goes with it may change, only to a state that may follow; within a state
    only the reason may. What was written once (the billable instants) stays.

    Args:
        file: the record's path in the repository.
        before: the earlier version.
        after: the later one.
    """
    found: list[Problem] = []
    moved = before.state != after.state
    if moved and after.state not in NEXT[before.state]:
        allowed = " or ".join(NEXT[before.state]) or "no other state"
        message = f"went from {before.state} to {after.state}; from there a record goes to {allowed}"
        found.append(problem(file, f"{message}: restore the earlier version", field="spec.state"))
    old, new = _flat(before.value()), _flat(after.value())
    for field, value in old.items():
        if new[field] == value or field == "spec.state":
            continue
        if field not in (CHANGING if moved else {"status.reason"}):
            message = f"changed from {value!r} to {new[field]!r}, which no change of state brings about"
            found.append(problem(file, f"{message}: restore the earlier value", field=field))
        elif field in _WRITTEN_ONCE and value:
            found.append(problem(file, f"was written as {value!r} and stays: restore it", field=field))
    return tuple(found)


def _flat(value: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, below in value.items():
        if isinstance(below, dict):
            flat.update(_flat(below, f"{prefix}{key}."))
        else:
            flat[prefix + key] = below
    return flat
