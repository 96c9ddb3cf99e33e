# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""How records change: one step on, never back, and nothing else with it."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import (
    InputError,
    PolicyBlocked,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.order import Order
from ansible_collections.gpuops.reservations.plugins.module_utils._core.record import (
    NEXT,
    Reason,
    Record,
    State,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.record_change import (
    advance,
    as_recorded,
    change_problems,
    pending_from_order,
)
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.ledger_texts import (
    record_value,
)

FILE = "gpu-reservations/lab/records/gpu-res-lab-1.yaml"
STATES: list[State] = list(NEXT)
AT = "2026-11-03T09:00:00Z"

ORDER_VALUE: dict[str, Any] = {
    "apiVersion": "operations.kube-dc.com/v1alpha1",
    "kind": "GPUReservationOrder",
    "metadata": {"ticket": "lab-1"},
    "spec": {
        "organization": "borealis",
        "project": "ml",
        "profileId": "h100-vm",
        "devices": 8,
        "addonId": "gpu-h100-reserved",
        "requestedAt": "2026-11-01T09:00:00Z",
        "startsAt": "2026-11-02T09:00:00Z",
        "endsAt": "",
        "billingReference": "INV-1",
        "supportOwner": "desk@example.com",
        "maintenanceTerms": "standard",
        "approvedBy": {"product": "p.owner", "sre": "s.owner"},
    },
}


def record(state: str = "pending", **changes: Any) -> Record:
    return Record.model_validate(record_value(state, **changes))


def test_an_order_becomes_a_pending_record() -> None:
    assert pending_from_order(Order.model_validate(ORDER_VALUE)).value() == record_value("pending")


def test_a18_an_order_with_an_identifier_becomes_no_record() -> None:
    spec = {**ORDER_VALUE["spec"], "billingReference": "card 4111 1111 1111 1111"}
    with pytest.raises(InputError) as caught:
        pending_from_order(Order.model_validate({**ORDER_VALUE, "spec": spec}))
    assert caught.value.code == "identifier-in-document"
    assert "spec.billingReference" in caught.value.message
    assert "4111" not in caught.value.message


def test_a_life_from_pending_to_released() -> None:
    active = advance(record(), "active", at="2026-11-02T10:00:00Z", evidence="sha256-17")
    assert active.value() == record_value("active")
    releasing = advance(active, "releasing")
    assert releasing.value() == record_value("releasing")
    waiting = advance(releasing, "releasing", reason="waiting-for-holders")
    assert waiting.status.reason == "waiting-for-holders"
    released = advance(waiting, "released", at="2026-12-01T10:00:00Z", evidence="sha256-18")
    assert released.value() == record_value("released")


def test_d05_times_are_written_to_the_second_in_utc() -> None:
    active = advance(record(), "active", at="2026-11-03T10:00:00.9+01:00", evidence="sha256-17")
    assert active.status.activated_at == AT


def test_a_pending_record_is_canceled() -> None:
    assert advance(record(), "canceled").value() == record_value("canceled")


def test_evidence_is_kept_where_none_is_given() -> None:
    assert (
        advance(record("releasing"), "released", at="2026-12-01T10:00:00Z").status.evidence_revision
        == "sha256-17"
    )


@pytest.mark.parametrize(("before", "after"), list(product(STATES, STATES)))
def test_a_record_takes_only_the_steps_that_there_are(before: State, after: State) -> None:
    if after in NEXT[before] or before == after:
        assert advance(record(before), after, at=AT, evidence="e").state == after
        return
    with pytest.raises(PolicyBlocked) as caught:
        advance(record(before), after, at=AT, evidence="e")
    assert caught.value.code == "record-never-goes-back"
    assert "gpu-res-lab-1" in caught.value.message
    assert before in caught.value.message


@pytest.mark.parametrize("at", ["", "2026-11-01T08:59:59Z", "2026-11-03T09:00:00", "soon"])
def test_a11_a12_an_activation_at_an_impossible_time_is_refused(at: str) -> None:
    with pytest.raises(PolicyBlocked) as caught:
        advance(record(), "active", at=at, evidence="sha256-17")
    assert caught.value.code == "record-invalid"
    assert "status.activatedAt" in caught.value.message


def test_a12_an_activation_after_the_end_is_refused() -> None:
    with pytest.raises(PolicyBlocked, match="endsAt"):
        advance(record(spec__endsAt="2026-11-02T12:00:00Z"), "active", at=AT, evidence="sha256-17")


def test_a12_a_release_before_the_activation_is_refused_and_at_it_is_fine() -> None:
    with pytest.raises(PolicyBlocked, match=r"status\.releasedAt"):
        advance(record("releasing"), "released", at="2026-11-02T09:59:59Z")
    assert advance(record("releasing"), "released", at="2026-11-02T10:00:00Z").state == "released"


def test_a03_no_activation_without_evidence() -> None:
    with pytest.raises(PolicyBlocked, match=r"status\.evidenceRevision"):
        advance(record(), "active", at=AT)


@pytest.mark.parametrize("reason", ["active", "released", "waiting-for-holders"])
def test_a04_a_reason_of_another_state_is_refused(reason: Reason) -> None:
    with pytest.raises(PolicyBlocked, match=r"status\.reason"):
        advance(record(), "canceled", reason=reason)


def test_evidence_with_an_identifier_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        advance(record(), "active", at=AT, evidence="GPU-6f1c2d3e-1b2c-4d3e-8f4a-5b6c7d8e9f01")
    assert caught.value.code == "identifier-in-document"


def test_the_same_state_again_changes_nothing() -> None:
    for state in STATES:
        assert advance(record(state), state, at=AT) == record(state)


OTHER: dict[str, Any] = {
    "metadata.id": "gpu-res-lab-2",
    "spec.organization": "aurora",
    "spec.project": "",
    "spec.profileId": "v100-vm",
    "spec.devices": 9,
    "spec.requestedAt": "2026-10-30T09:00:00Z",
    "spec.startsAt": "2026-11-01T10:00:00Z",
    "spec.endsAt": "2027-11-01T10:00:00Z",
    "spec.addonId": "gpu-v100-reserved",
    "spec.billingReference": "INV-2",
    "spec.approvedBy.product": "other.owner",
    "spec.approvedBy.sre": "another.owner",
}


def changed(before: Record, after: Record) -> list[str]:
    return [one.field for one in change_problems(FILE, before, after)]


@pytest.mark.parametrize("field", list(OTHER))
@pytest.mark.parametrize(("before", "after"), [(a, b) for a in STATES for b in (a, *NEXT[a])])
def test_a21_whatever_else_changes_is_refused_with_or_without_a_step(
    before: str, after: str, field: str
) -> None:
    change = {field.replace(".", "__"): OTHER[field]}
    evidence = (
        {"status__evidenceRevision": record_value(before)["status"]["evidenceRevision"]}
        if before == after
        else {}
    )
    assert changed(record(before), record(after, **change, **evidence)) == [field]


@pytest.mark.parametrize(("before", "after"), [(a, b) for a in STATES for b in NEXT[a]])
def test_a21_a_step_with_what_belongs_to_it_is_fine(before: str, after: str) -> None:
    assert changed(record(before), record(after)) == []


@pytest.mark.parametrize(
    ("before", "after"), [(a, b) for a in STATES for b in STATES if b != a and b not in NEXT[a]]
)
def test_a21_a_step_back_or_over_is_refused(before: str, after: str) -> None:
    assert "spec.state" in changed(record(before), record(after))


def test_a21_the_first_billable_instant_is_never_rewritten() -> None:
    later = {"status__activatedAt": "2026-11-02T11:00:00Z"}
    assert changed(record("active"), record("active", **later)) == ["status.activatedAt"]
    assert changed(record("active"), record("releasing", **later)) == ["status.activatedAt"]
    assert changed(record("releasing"), record("released", **later)) == ["status.activatedAt"]
    assert changed(record("released"), record("released", status__releasedAt="2026-12-02T10:00:00Z")) == [
        "status.releasedAt"
    ]


def test_a21_within_a_state_only_the_reason_changes() -> None:
    assert changed(record("releasing"), record("releasing", status__reason="waiting-for-holders")) == []
    assert changed(record("active"), record("active", status__evidenceRevision="other")) == [
        "status.evidenceRevision"
    ]


def test_a21_the_problem_names_file_field_and_both_values() -> None:
    (found,) = change_problems(FILE, record(), record(spec__devices=9))
    assert (found.file, found.field) == (FILE, "spec.devices")
    assert "8" in found.message
    assert "9" in found.message


@given(st.sampled_from(sorted(OTHER)), st.sampled_from([(a, b) for a in STATES for b in STATES]))
def test_a21_any_single_illegal_change_is_found(field: str, step: tuple[State, State]) -> None:
    before, after = step
    assert field in changed(record(before), record(after, **{field.replace(".", "__"): OTHER[field]}))


def test_a_record_from_a_modules_result() -> None:
    assert as_recorded(record_value("active"), "option record") == record("active")
    with pytest.raises(InputError) as caught:
        as_recorded(record_value("active", spec__devices="8"), "option record")
    assert caught.value.code == "record-invalid"
    assert "option record: spec.devices" in caught.value.message
