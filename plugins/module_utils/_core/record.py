# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A reservation's record in the capacity ledger (runbook: Required ledger record), key for key."""

from __future__ import annotations

from typing import Any, ClassVar, Final, Literal

from .approval import Approvers, two_approvers
from .document import ApiVersion
from .fields import Devices, Label, OptionalLabel, OptionalText, OptionalTime, RecordId, Text, Time
from .names import LEDGER_ROOT, RECORDS, require_cluster, ticket_of
from .ruled_model import Rule, RuledModel
from .strict_model import Field, StrictModel
from .times import end_after_start, moment
from .yaml_text import to_yaml

State = Literal["pending", "active", "releasing", "released", "canceled"]
Reason = Literal[
    "awaiting-activation",
    "active",
    "release-requested",
    "waiting-for-holders",
    "released",
    "canceled-before-activation",
]

REASONS: Final[dict[State, tuple[Reason, ...]]] = {
    "pending": ("awaiting-activation",),
    "active": ("active",),
    "releasing": ("release-requested", "waiting-for-holders"),
    "released": ("released",),
    "canceled": ("canceled-before-activation",),
}
"""The reasons that fit each state; the first is the one that a change of state writes."""

NEXT: Final[dict[State, tuple[State, ...]]] = {
    "pending": ("active", "canceled"),
    "active": ("releasing",),
    "releasing": ("released",),
    "released": (),
    "canceled": (),
}
"""Where each state may go: never back."""

HOLDING: Final[frozenset[State]] = frozenset({"pending", "active", "releasing"})
"""States whose devices the equation counts as reserved."""


class Metadata(StrictModel):
    id: RecordId


class Spec(StrictModel):
    organization: Label
    project: OptionalLabel
    profile_id: Label = Field(alias="profileId")
    devices: Devices
    state: State
    requested_at: Time = Field(alias="requestedAt")
    starts_at: Time = Field(alias="startsAt")
    ends_at: OptionalTime = Field(alias="endsAt")
    addon_id: Label = Field(alias="addonId")
    billing_reference: Text = Field(alias="billingReference")
    approved_by: Approvers = Field(alias="approvedBy")


class Status(StrictModel):
    activated_at: OptionalTime = Field(alias="activatedAt")
    released_at: OptionalTime = Field(alias="releasedAt")
    evidence_revision: OptionalText = Field(alias="evidenceRevision")
    reason: Reason


def _reason_fits(reason: Any, state: Any) -> str:
    allowed = REASONS[state]
    return "" if reason in allowed else f"does not fit the state {state}: it is {' or '.join(allowed)}"


def _activated_fits(activated_at: str, state: Any) -> str:
    if state in ("pending", "canceled"):
        return f"must be empty while the state is {state}" if activated_at else ""
    return "" if activated_at else f"must not be empty while the state is {state}"


def _released_fits(released_at: str, state: Any) -> str:
    if state != "released":
        return f"must be empty while the state is {state}" if released_at else ""
    return "" if released_at else "must not be empty once the state is released"


def _evidence_fits(evidence: str, state: Any) -> str:
    return "" if evidence or state in ("pending", "canceled") else "must not be empty from activation on"


def _activated_after_request(activated_at: str, requested_at: str) -> str:
    if not activated_at or moment(activated_at) >= moment(requested_at):
        return ""
    return f"is before requestedAt ({requested_at})"


def _activated_before_end(activated_at: str, ends_at: str) -> str:
    if not activated_at or not ends_at or moment(activated_at) <= moment(ends_at):
        return ""
    return f"is after endsAt ({ends_at})"


def _released_after_activation(released_at: str, activated_at: str) -> str:
    if not released_at or not activated_at or moment(released_at) >= moment(activated_at):
        return ""
    return f"is before activatedAt ({activated_at})"


class Record(RuledModel):
    """One reservation. An instance is always valid: making an invalid one raises ``ValidationError``."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(("spec.endsAt", "spec.startsAt"), end_after_start),
        Rule(("spec.approvedBy.product", "spec.approvedBy.sre"), two_approvers),
        Rule(("status.reason", "spec.state"), _reason_fits),
        Rule(("status.activatedAt", "spec.state"), _activated_fits),
        Rule(("status.releasedAt", "spec.state"), _released_fits),
        Rule(("status.evidenceRevision", "spec.state"), _evidence_fits),
        Rule(("status.activatedAt", "spec.requestedAt"), _activated_after_request),
        Rule(("status.activatedAt", "spec.endsAt"), _activated_before_end),
        Rule(("status.releasedAt", "status.activatedAt"), _released_after_activation),
    )

    api_version: ApiVersion = Field(alias="apiVersion")
    kind: Literal["GPUReservationRecord"]
    metadata: Metadata
    spec: Spec
    status: Status

    @property
    def id(self) -> str:
        """``gpu-res-<ticket>``."""
        return self.metadata.id

    @property
    def ticket(self) -> str:
        """The ticket that the id carries."""
        return ticket_of(self.metadata.id)

    @property
    def state(self) -> State:
        """The state."""
        return self.spec.state

    @property
    def holds(self) -> bool:
        """Whether its devices are reserved: pending, active or releasing."""
        return self.spec.state in HOLDING

    def value(self) -> dict[str, Any]:
        """The document as a JSON value, with the runbook's keys in the runbook's order."""
        return self.model_dump(mode="json", by_alias=True)

    def to_yaml(self) -> str:
        """The document's text, as it is written to the fleet repository."""
        return to_yaml(self.value())


def record_path(cluster: str, identifier: str) -> str:
    """Where a record lies in the fleet repository.

    Raises:
        InputError: not a cluster's name.
    """
    return f"{LEDGER_ROOT}/{require_cluster(cluster)}/{RECORDS}/{identifier}.yaml"
