# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Orders: from a file, from survey variables, from both where they agree."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import (
    InputError,
    ObservationError,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.fleet_files import FleetFile
from ansible_collections.gpuops.reservations.plugins.module_utils._core.order import (
    SURVEY_KEYS,
    order_path,
    resolve_order,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.ledger_texts import ORDER

PATH = "gpu-reservations/lab/orders/lab-1.yaml"
SURVEY: dict[str, Any] = {
    "organization": "borealis",
    "project": "ml",
    "profileId": "h100-vm",
    "devices": "8",
    "addonId": "gpu-h100-reserved",
    "requestedAt": "2026-11-01T09:00:00Z",
    "startsAt": "2026-11-02T09:00:00Z",
    "endsAt": "",
    "billingReference": "INV-1",
    "supportOwner": "desk@example.com",
    "maintenanceTerms": "standard",
    "approvedBy.product": "p.owner",
    "approvedBy.sre": "s.owner",
}


def files(text: str = ORDER, ticket: str = "lab-1") -> dict[str, FleetFile]:
    return {ticket: FleetFile.of(f"gpu-reservations/lab/orders/{ticket}.yaml", text.encode())}


def refused(ticket: str, found: dict[str, FleetFile], survey: dict[str, Any]) -> InputError:
    with pytest.raises(InputError) as caught:
        resolve_order(ticket, found, survey)
    assert caught.value.next_action
    return caught.value


def test_an_order_from_its_file_by_ticket() -> None:
    order = resolve_order("LAB-1", files(), {})
    assert (order.ticket, order.spec.devices, order.spec.project) == ("lab-1", 8, "ml")


def test_d08_every_key_is_a_survey_variable_too() -> None:
    assert set(SURVEY) == set(SURVEY_KEYS)
    assert resolve_order("LAB-1", {}, SURVEY) == resolve_order("lab-1", files(), {})


def test_d08_variables_that_say_the_same_are_fine() -> None:
    assert resolve_order("lab-1", files(), SURVEY) == resolve_order("lab-1", files(), {})


def test_d08_approvers_may_come_as_a_mapping() -> None:
    survey = {key: value for key, value in SURVEY.items() if not key.startswith("approvedBy")}
    survey["approvedBy"] = {"product": "p.owner", "sre": "s.owner"}
    assert resolve_order("lab-1", {}, survey) == resolve_order("lab-1", {}, SURVEY)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("organization", "aurora"),
        ("project", "other"),
        ("profileId", "v100-vm"),
        ("devices", "9"),
        ("devices", 9),
        ("devices", "08"),
        ("devices", "8.0"),
        ("devices", True),
        ("addonId", "x"),
        ("requestedAt", "2026-11-01T09:00:01Z"),
        ("startsAt", "soon"),
        ("endsAt", "2027-01-01T00:00:00Z"),
        ("billingReference", "inv-1"),
        ("supportOwner", "x"),
        ("maintenanceTerms", "none"),
        ("approvedBy.product", "P.owner"),
        ("approvedBy.sre", "x"),
    ],
)
def test_d08_a_variable_that_differs_is_refused_naming_the_key(key: str, value: Any) -> None:
    error = refused("lab-1", files(), {key: value})
    assert error.code == "order-differs"
    assert error.details == {"keys": [key]}
    assert key in error.message
    assert PATH in error.message


def test_d08_every_differing_key_is_named() -> None:
    error = refused("lab-1", files(), {"organization": "aurora", "devices": 9, "project": "ml"})
    assert error.details == {"keys": ["organization", "devices"]}


def test_d08_one_moment_written_in_two_ways_does_not_differ() -> None:
    resolve_order("lab-1", files(), {"startsAt": "2026-11-02 10:00:00+01:00"})


@pytest.mark.parametrize("nothing", [None, "", " ", "\u00a0"])
@pytest.mark.parametrize("key", SURVEY_KEYS)
def test_an_unanswered_question_says_nothing(key: str, nothing: Any) -> None:
    assert resolve_order("lab-1", files(), {key: nothing}).spec.devices == 8


def test_nothing_at_all_is_a_missing_order() -> None:
    error = refused("lab-2", files(), {"organization": ""})
    assert error.code == "order-missing"
    assert "orders/lab-2.yaml" in error.message


@pytest.mark.parametrize("key", [key for key in SURVEY_KEYS if key not in ("project", "endsAt")])
def test_an_incomplete_survey_is_refused_naming_the_key(key: str) -> None:
    error = refused("lab-1", {}, {**SURVEY, key: ""})
    assert error.code == "order-invalid"
    assert f"{key}: " in error.message


@pytest.mark.parametrize("key", ["project", "endsAt"])
def test_a_survey_may_leave_project_and_end_empty(key: str) -> None:
    assert resolve_order("lab-1", {}, {**SURVEY, key: ""}).value()["spec"][key] == ""


@pytest.mark.parametrize("devices", ["08", "0", "0x8", "+8", "8.0", "1_0", " 8", "eight", 0, -1, True, 8.5])
def test_a08_devices_of_a_survey_are_plain_decimal_digits(devices: Any) -> None:
    error = refused("lab-1", {}, {**SURVEY, "devices": devices})
    assert error.code == "order-invalid"
    assert "devices: " in error.message


def test_a20_all_that_is_wrong_with_a_survey_is_named() -> None:
    error = refused(
        "lab-1", {}, {**SURVEY, "endsAt": "2026-11-02T09:00:00Z", "approvedBy.sre": "P.Owner", "devices": 0}
    )
    assert [text.partition(":")[0] for text in error.details["problems"]] == [
        "devices",
        "endsAt",
        "approvedBy.product",
    ]


def test_an_unknown_variable_is_refused() -> None:
    error = refused("lab-1", files(), {"priority": "high"})
    assert error.code == "order-invalid"
    assert "priority" in error.message


def test_a_secret_in_a_variable_is_refused_before_anything_is_done() -> None:
    error = refused("lab-1", {}, {**SURVEY, "billingReference": "4111111111111111"})
    assert error.code == "identifier-in-document"
    assert "4111111111111111" not in error.message


@pytest.mark.parametrize("ticket", ["", " lab-1", "lab_1", "\u212aab"])
def test_a07_what_is_no_ticket(ticket: str) -> None:
    assert refused(ticket, files(), {}).code == "ticket-invalid"


def test_a07_a_ticket_inside_a_file_is_lower_case() -> None:
    with pytest.raises(ObservationError) as caught:
        resolve_order("lab-1", files(ORDER.replace("ticket: lab-1", "ticket: LAB-1")), {})
    assert caught.value.code == "ledger-invalid"
    assert f"{PATH}:3:20: metadata.ticket: " in caught.value.message


def test_a_file_of_another_ticket_is_refused() -> None:
    error = refused("lab-1", files(ORDER.replace("ticket: lab-1", "ticket: lab-2")), {})
    assert error.code == "order-invalid"
    assert "lab-2" in error.message


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("devices: 8", "devices: 010", "spec.devices"),
        ("  supportOwner: desk@example.com\n", "", "spec.supportOwner"),
        ("maintenanceTerms: standard", "maintenanceTerms:", "spec.maintenanceTerms"),
        ("kind: GPUReservationOrder", "kind: GPUReservationRecord", "kind"),
        ("sre: s.owner", "sre: P.OWNER", "spec.approvedBy.product"),
        ('endsAt: ""', "endsAt: 2026-01-01T00:00:00Z", "spec.endsAt"),
        ("spec:\n", "spec:\n  state: active\n", "spec.state"),
    ],
)
def test_an_invalid_file_names_file_and_field(old: str, new: str, field: str) -> None:
    with pytest.raises(ObservationError) as caught:
        resolve_order("lab-1", files(ORDER.replace(old, new)), SURVEY)
    assert [(one["file"], one["field"]) for one in caught.value.details["problems"]] == [(PATH, field)]


def test_where_an_order_lies() -> None:
    assert order_path("lab", "LAB-1") == PATH
