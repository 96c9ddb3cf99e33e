# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""An order (runbook: Qualify the order): read from the fleet repository, from survey variables, or both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal

from . import redaction
from .approval import Approvers, two_approvers
from .document import API_VERSION, ApiVersion, model_problems, require
from .errors import InputError
from .fields import Devices, Label, OptionalLabel, OptionalTime, Text, Ticket, Time
from .fleet_files import FleetFile
from .identity import is_blank
from .names import LEDGER_ROOT, ORDERS, normalise_ticket, require_cluster
from .ruled_model import Rule, RuledModel
from .strict_model import Field, StrictModel, ValidationError
from .strict_yaml import plain_value
from .times import TimeError, end_after_start, moment

KIND: Final = "GPUReservationOrder"

SURVEY_KEYS: Final = (
    "organization",
    "project",
    "profileId",
    "devices",
    "addonId",
    "requestedAt",
    "startsAt",
    "endsAt",
    "billingReference",
    "supportOwner",
    "maintenanceTerms",
    "approvedBy.product",
    "approvedBy.sre",
)
"""Every key of an order is also a survey variable."""

_MAY_BE_EMPTY: Final = frozenset({"project", "endsAt"})
_TIMES: Final = frozenset({"requestedAt", "startsAt", "endsAt"})


class Metadata(StrictModel):
    ticket: Ticket


class Spec(StrictModel):
    organization: Label
    project: OptionalLabel
    profile_id: Label = Field(alias="profileId")
    devices: Devices
    addon_id: Label = Field(alias="addonId")
    requested_at: Time = Field(alias="requestedAt")
    starts_at: Time = Field(alias="startsAt")
    ends_at: OptionalTime = Field(alias="endsAt")
    billing_reference: Text = Field(alias="billingReference")
    support_owner: Text = Field(alias="supportOwner")
    maintenance_terms: Text = Field(alias="maintenanceTerms")
    approved_by: Approvers = Field(alias="approvedBy")


class Order(RuledModel):
    """What was ordered; complete, so that a record can be made from it."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(("spec.endsAt", "spec.startsAt"), end_after_start),
        Rule(("spec.approvedBy.product", "spec.approvedBy.sre"), two_approvers),
    )

    api_version: ApiVersion = Field(alias="apiVersion")
    kind: Literal["GPUReservationOrder"]
    metadata: Metadata
    spec: Spec

    @property
    def ticket(self) -> str:
        """The ticket, in its normal form."""
        return self.metadata.ticket

    def value(self) -> dict[str, Any]:
        """The document as a JSON value."""
        return self.model_dump(mode="json", by_alias=True)


def order_path(cluster: str, ticket: str) -> str:
    """Where an order lies in the fleet repository.

    Raises:
        InputError: not a cluster's name, or no ticket.
    """
    return f"{LEDGER_ROOT}/{require_cluster(cluster)}/{ORDERS}/{normalise_ticket(ticket)}.yaml"


def resolve_order(ticket: str, files: Mapping[str, FleetFile], survey: Mapping[str, Any]) -> Order:
    """The order of a ticket, from its file, from survey variables, or from both where they agree.

    Args:
        ticket: as the operator typed it.
        files: order files of the fleet repository, by ticket.
        survey: values by key (SURVEY_KEYS; approvers also as a mapping ``approvedBy``). None and empty
            text say nothing, because a survey sends empty text for a question that was not answered.

    Raises:
        InputError: ``ticket-invalid``; ``order-missing``: neither says anything; ``order-differs``: both
            say something and it is not the same, naming each key; ``order-invalid``: incomplete or wrong,
            naming each key; ``identifier-in-document``.
        ObservationError: ``ledger-invalid``: the file is invalid.
    """
    ticket = normalise_ticket(ticket)
    answers = _answers(survey)
    redaction.refuse_value(answers, f"survey variables of {ticket}")
    file = files.get(ticket)
    if file is None:
        if not answers:
            raise InputError(
                "order-missing",
                f"no order {ORDERS}/{ticket}.yaml in the fleet repository, and no survey variable was given",
                next_action="add the order's file by a reviewed change, or give every key as a variable",
            )
        return _from_survey(ticket, answers)
    order = require(Order, file)
    if order.ticket != ticket:
        raise InputError(
            "order-invalid",
            f"{redaction.mask_text(file.path)}: metadata.ticket: is {order.ticket}, not {ticket}",
            next_action="let metadata.ticket and the file's name agree",
        )
    _require_same(file.path, order, answers)
    return order


def _answers(survey: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in survey.items():
        if key == "approvedBy" and isinstance(value, Mapping):
            flat.update({f"approvedBy.{part}": below for part, below in value.items()})
        else:
            flat[key] = value
    unknown = sorted(set(flat) - set(SURVEY_KEYS))
    if unknown:
        raise InputError(
            "order-invalid",
            f"an order has no key {', '.join(unknown)}",
            next_action=f"give only: {', '.join(SURVEY_KEYS)}",
        )
    return {key: value for key, value in flat.items() if not _says_nothing(value)}


def _says_nothing(value: object) -> bool:
    return value is None or (isinstance(value, str) and is_blank(value))


def _from_survey(ticket: str, answers: Mapping[str, Any]) -> Order:
    spec: dict[str, Any] = dict.fromkeys(_MAY_BE_EMPTY, "")
    approvers: dict[str, Any] = {}
    for key, value in answers.items():
        if key.startswith("approvedBy."):
            approvers[key.partition(".")[2]] = value
        else:
            spec[key] = _number(value) if key == "devices" else value
    spec["approvedBy"] = approvers
    value = {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"ticket": ticket}, "spec": spec}
    try:
        return Order.model_validate(value)
    except ValidationError as error:
        problems = [
            f"{field.removeprefix('spec.')}: {message}" for field, message, _path in model_problems(error)
        ]
        raise InputError(
            "order-invalid",
            redaction.mask_text(f"order {ticket} from survey variables: {'; '.join(problems)}"),
            next_action="give or correct the named variables",
            details={"problems": [redaction.mask_text(text) for text in problems]},
        ) from error


def _number(value: Any) -> Any:
    """A survey sends numbers as text; the digits are judged as in a file."""
    return plain_value(value) if isinstance(value, str) else value


def _require_same(path: str, order: Order, answers: Mapping[str, Any]) -> None:
    spec = order.value()["spec"]
    in_file = {**spec, **{f"approvedBy.{part}": name for part, name in spec["approvedBy"].items()}}
    differing = [key for key, value in answers.items() if not _same(key, in_file[key], value)]
    if differing:
        raise InputError(
            "order-differs",
            redaction.mask_text(
                f"{path} and the survey variables differ in "
                + "; ".join(
                    f"{key} ({in_file[key]!r} in the file, {answers[key]!r} given)" for key in differing
                )
            ),
            next_action="leave the variables out, or correct the order's file by a reviewed change",
            details={"keys": differing},
        )


def _same(key: str, in_file: Any, given: Any) -> bool:
    if key == "devices":
        number = _number(given)
        return not isinstance(number, bool) and in_file == number
    if key in _TIMES and in_file:
        try:
            return moment(in_file) == moment(str(given))
        except TimeError:
            return False
    return bool(in_file == given)
