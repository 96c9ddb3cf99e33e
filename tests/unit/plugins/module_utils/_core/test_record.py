# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Records: the runbook's fields in their order, and every rule between state, times, evidence and reason."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpuops.reservations.plugins.module_utils._core.document import Problem, read
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import InputError
from ansible_collections.gpuops.reservations.plugins.module_utils._core.fleet_files import FleetFile
from ansible_collections.gpuops.reservations.plugins.module_utils._core.record import (
    HOLDING,
    NEXT,
    REASONS,
    Record,
    record_path,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.strict_model import ValidationError
from ansible_collections.gpuops.reservations.plugins.module_utils._core.times import stamp
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.ledger_texts import (
    RECORD,
    record_text,
    record_value,
)

PATH = "gpu-reservations/lab/records/gpu-res-lab-1.yaml"
STATES = list(NEXT)
ALL_REASONS = sorted({reason for reasons in REASONS.values() for reason in reasons})


def problems(text: str) -> tuple[Problem, ...]:
    return read(Record, FleetFile.of(PATH, text.encode())).problems


def fields(state: str = "pending", **changes: Any) -> list[str]:
    return [one.field for one in problems(record_text(state, **changes))]


def record(text: str) -> Record:
    document = read(Record, FleetFile.of(PATH, text.encode())).document
    assert document is not None
    return document


def test_the_runbooks_record_is_read_and_written_key_for_key() -> None:
    written = record(RECORD).to_yaml()
    wanted = [line.partition("#")[0].partition(":")[0].rstrip() for line in RECORD.splitlines()]
    assert [line.partition(":")[0] for line in written.splitlines()] == wanted
    assert yaml.safe_load(written) == record_value()


def test_what_is_written_is_written_the_same_way_again() -> None:
    written = record(RECORD).to_yaml()
    assert record(written).to_yaml() == written


def test_status_keys_are_always_there() -> None:
    assert list(record(RECORD).value()["status"]) == [
        "activatedAt",
        "releasedAt",
        "evidenceRevision",
        "reason",
    ]


@pytest.mark.parametrize(
    "path",
    ["apiVersion", "kind", "metadata", "metadata.id", "spec", "status"]
    + [f"spec.{key}" for key in record_value()["spec"]]
    + ["spec.approvedBy.product", "spec.approvedBy.sre"]
    + [f"status.{key}" for key in record_value()["status"]],
)
def test_every_key_has_to_be_there(path: str) -> None:
    value = record_value()
    *above, key = path.split(".")
    place = value
    for part in above:
        place = place[part]
    del place[key]
    found = problems(yaml.safe_dump(value))
    assert path in [one.field for one in found]
    assert all(one.message == "is missing" for one in found)


@pytest.mark.parametrize("path", ["", "metadata.", "spec.", "spec.approvedBy.", "status."])
def test_unknown_keys_are_refused(path: str) -> None:
    value = record_value()
    place = value
    for part in path.split(".")[:-1]:
        place = place[part]
    place["priority"] = "high"
    assert [one.field for one in problems(yaml.safe_dump(value))] == [f"{path}priority"]


@pytest.mark.parametrize("empty", ["", '""', "null", "~", '" "', "''"])
@pytest.mark.parametrize("key", ["project", "endsAt", "activatedAt", "releasedAt", "evidenceRevision"])
def test_a02_null_is_empty_and_written_back_as_empty_text(key: str, empty: str) -> None:
    lines = [
        f"{line.split(':')[0]}: {empty}" if line.strip().startswith(f"{key}:") else line
        for line in RECORD.splitlines()
    ]
    written = record("\n".join(lines)).to_yaml()
    assert f'{key}: ""\n' in written


@pytest.mark.parametrize("empty", ["", '""', "null", '" "'])
@pytest.mark.parametrize(
    "key",
    [
        "id",
        "organization",
        "profileId",
        "devices",
        "state",
        "requestedAt",
        "startsAt",
        "addonId",
        "billingReference",
        "product",
        "sre",
        "reason",
    ],
)
def test_empty_mandatory_values_are_refused(key: str, empty: str) -> None:
    lines = [
        f"{line.split(':')[0]}: {empty}" if line.strip().startswith(f"{key}:") else line
        for line in RECORD.splitlines()
    ]
    assert [one.field.rpartition(".")[2] for one in problems("\n".join(lines))] == [key]


@pytest.mark.parametrize("state", STATES)
def test_a03_evidence_may_be_empty_while_pending_or_canceled_only(state: str) -> None:
    found = fields(state, status__evidenceRevision="")
    assert found == ([] if state in ("pending", "canceled") else ["status.evidenceRevision"])
    assert fields(state, status__evidenceRevision="sha256-17") == []


@pytest.mark.parametrize("state", STATES)
def test_a03_the_reason_is_never_empty(state: str) -> None:
    assert fields(state, status__reason="") == ["status.reason"]


@pytest.mark.parametrize(("state", "reason"), list(product(STATES, ALL_REASONS)))
def test_a04_each_state_has_its_reasons(state: Any, reason: str) -> None:
    assert fields(state, status__reason=reason) == ([] if reason in REASONS[state] else ["status.reason"])


def test_a04_reasons_and_states_come_from_the_lists() -> None:
    assert fields(status__reason="no-budget") == ["status.reason"]
    assert fields(spec__state="paused") == ["spec.state"]
    assert fields(spec__state="Pending") == ["spec.state"]


def test_a05_quoted_and_unquoted_times_are_the_same() -> None:
    quoted = RECORD.replace("2026-11-01T09:00:00Z", '"2026-11-01T09:00:00Z"')
    assert record(quoted) == record(RECORD)


@pytest.mark.parametrize("key", ["requestedAt", "startsAt", "endsAt"])
@pytest.mark.parametrize("time", ["2026-12-01T09:00:00", "2026-12-01", "2026-12-31T23:59:60Z", "tomorrow"])
def test_a06_times_without_a_zone_or_of_another_form_are_refused(key: str, time: str) -> None:
    assert fields(**{f"spec__{key}": time}) == [f"spec.{key}"]


@pytest.mark.parametrize(
    "identifier", ["gpu-res-LAB-1", "GPU-RES-lab-1", "lab-1", " gpu-res-lab-1", "gpu-res-lab_1"]
)
def test_a07_an_upper_case_or_untidy_id_is_refused(identifier: str) -> None:
    assert fields(metadata__id=identifier) == ["metadata.id"]


@pytest.mark.parametrize(
    "source",
    [
        "010",
        "0x8",
        "0b1",
        "0o7",
        "1_0",
        "1:30",
        "+8",
        "-8",
        "8.0",
        "8e0",
        '"8"',
        "0",
        "08",
        "true",
        ".inf",
        "8 8",
    ],
)
def test_a08_devices_are_judged_on_the_source_text(source: str) -> None:
    found = problems(RECORD.replace("devices: 8", f"devices: {source}"))
    assert [(one.field, one.file, one.line) for one in found] == [("spec.devices", PATH, 9)]


def test_a09_a_number_too_long_to_convert_is_a_plain_refusal() -> None:
    (found,) = problems(RECORD.replace("devices: 8", f"devices: {'9' * 5000}"))
    assert found.field == "spec.devices"
    assert len(found.message) < 300


@pytest.mark.parametrize(
    ("one", "other"),
    [("p.owner", "p.owner"), ("P.Owner", "p.owner"), ("p.ow\u200bner", "p.owner"), ("Straße", "STRASSE")],
)
def test_a10_one_person_cannot_approve_twice(one: str, other: str) -> None:
    found = problems(record_text(spec__approvedBy={"product": one, "sre": other}))
    assert [one.field for one in found] == ["spec.approvedBy.product"]
    assert "two people" in found[0].message


@pytest.mark.parametrize(
    ("state", "activated", "released"),
    [
        (state, activated, released)
        for state in STATES
        for activated in (True, False)
        for released in (True, False)
    ],
)
def test_a11_which_times_fit_which_state(state: str, activated: bool, released: bool) -> None:
    found = fields(
        state,
        status__activatedAt="2026-11-02T10:00:00Z" if activated else "",
        status__releasedAt="2026-12-01T10:00:00Z" if released else "",
    )
    wanted = []
    if activated is (state in ("pending", "canceled")):
        wanted.append("status.activatedAt")
    if released is not (state == "released"):
        wanted.append("status.releasedAt")
    assert found == wanted


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"spec__endsAt": "2026-11-02T09:00:00Z"}, ["spec.endsAt", "status.activatedAt"]),
        (
            {"spec__endsAt": "2026-11-02T09:00:00Z", "status__activatedAt": "2026-11-02T08:00:00Z"},
            ["spec.endsAt"],
        ),
        ({"spec__endsAt": "2026-11-02T09:00:01Z", "status__activatedAt": "2026-11-02T09:00:01Z"}, []),
        ({"spec__endsAt": "2026-11-02T10:00:01+01:00", "status__activatedAt": "2026-11-02T09:00:00Z"}, []),
        ({"spec__endsAt": "2026-11-02T09:59:59Z"}, ["status.activatedAt"]),
        ({"spec__endsAt": "2026-11-02T10:00:00Z"}, []),
        ({"status__releasedAt": "2026-11-02T10:00:00Z"}, []),
        ({"status__releasedAt": "2026-11-02T09:59:59Z"}, ["status.releasedAt"]),
        ({"status__releasedAt": "2027-11-02T09:59:59Z", "spec__endsAt": "2026-12-01T00:00:00Z"}, []),
        ({"status__activatedAt": "2026-11-01T09:00:00Z"}, []),
        ({"status__activatedAt": "2026-11-01T08:59:59Z"}, ["status.activatedAt"]),
        ({"status__activatedAt": "2026-11-02T08:00:00Z"}, []),  # before startsAt
        ({"spec__startsAt": "2026-10-01T00:00:00Z"}, []),  # before requestedAt
    ],
)
def test_a12_the_order_of_times(changes: dict[str, str], wanted: list[str]) -> None:
    assert fields("released", **changes) == wanted


@pytest.mark.parametrize("key", ["organization", "project", "profileId", "addonId"])
@pytest.mark.parametrize("name", ["Borealis", "bore_alis", "a.b", "x" * 64, "-a"])
def test_a22_names_are_dns_labels(key: str, name: str) -> None:
    assert fields(**{f"spec__{key}": name}) == [f"spec.{key}"]


def test_a23_what_a_record_names_need_not_exist() -> None:
    assert (
        fields(spec__organization="nobody-has-this", spec__profileId="none", spec__addonId="none-either")
        == []
    )


@pytest.mark.parametrize(
    "secret", ["MIG-6f1c2d3e-1b2c-4d3e-8f4a-5b6c7d8e9f01", "0000:3b:00.0", "4111111111111111"]
)
def test_a27_identifiers_in_a_record_are_refused_on_reading(secret: str) -> None:
    for text in (record_text(spec__billingReference=f"INV {secret}"), f"{RECORD}# {secret}\n"):
        found = problems(text)
        assert len(found) == 1
        assert secret not in str(found[0])


def test_a20_many_things_wrong_are_all_named() -> None:
    found = fields(
        "active",
        spec__devices=0,
        spec__endsAt="2026-11-01T00:00:00Z",
        spec__approvedBy={"product": "x", "sre": "X"},
        status__evidenceRevision="",
        status__reason="released",
        spec__extra=1,
    )
    assert set(found) == {
        "spec.devices",
        "spec.endsAt",
        "spec.approvedBy.product",
        "status.evidenceRevision",
        "status.activatedAt",
        "status.reason",
        "spec.extra",
    }


def test_an_invalid_record_cannot_be_made_in_code() -> None:
    with pytest.raises(ValidationError):
        Record.model_validate(record_value(status__reason="active"))


def test_what_a_record_says_of_itself() -> None:
    found = record(RECORD)
    assert (found.id, found.ticket, found.state, found.holds) == ("gpu-res-lab-1", "lab-1", "pending", True)
    assert frozenset({"pending", "active", "releasing"}) == HOLDING


def test_where_a_record_lies() -> None:
    assert record_path("eu/zrh", "gpu-res-lab-1") == "gpu-reservations/eu/zrh/records/gpu-res-lab-1.yaml"
    with pytest.raises(InputError):
        record_path("a--b", "gpu-res-lab-1")


LABELS = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?", fullmatch=True)
WORDS = st.from_regex(r"[A-Za-z0-9äß .:@/#'\"-]{1,20}", fullmatch=True).filter(
    lambda text: text.strip() == text
)
TIMES = st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@st.composite
def records(draw: st.DrawFn) -> dict[str, Any]:
    """Valid records of any state."""
    state = draw(st.sampled_from(STATES))
    requested = draw(TIMES)
    starts = draw(TIMES)
    activated = requested + draw(st.timedeltas(timedelta(0), timedelta(days=100)))
    released = activated + draw(st.timedeltas(timedelta(0), timedelta(days=100)))
    ends = max(starts, activated) + timedelta(seconds=draw(st.integers(1, 10**6)))
    approver = draw(WORDS)
    return record_value(
        state,
        draw(LABELS),
        spec__organization=draw(LABELS),
        spec__project=draw(st.one_of(st.just(""), LABELS)),
        spec__profileId=draw(LABELS),
        spec__addonId=draw(LABELS),
        spec__devices=draw(st.integers(1, 10**6)),
        spec__requestedAt=stamp(requested),
        spec__startsAt=stamp(starts),
        spec__endsAt=draw(st.sampled_from(["", stamp(ends)])),
        spec__billingReference=draw(WORDS),
        spec__approvedBy={"product": f"{approver}1", "sre": f"{approver}2"},
        status__activatedAt="" if state in ("pending", "canceled") else stamp(activated),
        status__releasedAt=stamp(released) if state == "released" else "",
        status__evidenceRevision="" if state in ("pending", "canceled") else draw(LABELS),
        status__reason=draw(st.sampled_from(REASONS[state])),
    )


@given(records())
def test_a_record_is_read_back_from_its_text_as_it_was(value: dict[str, Any]) -> None:
    made = Record.model_validate(value)
    assert made.value() == value
    assert record(made.to_yaml()) == made
    assert yaml.safe_load(made.to_yaml()) == value
