# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A claim is what an organization can take, whatever is recorded, granted and enforced at the moment."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpuops.reservations.plugins.module_utils._core.amount import UNLIMITED, Amount
from ansible_collections.gpuops.reservations.plugins.module_utils._core.claims import OrganizationTerms
from ansible_collections.gpuops.reservations.plugins.module_utils._core.entitlement import Entitlement
from ansible_collections.gpuops.reservations.plugins.module_utils._core.quota_reading import QuotaReading
from ansible_collections.gpuops.reservations.plugins.module_utils._core.record import Record
from ansible_collections.gpuops.reservations.tests.unit.plugins.module_utils._core.fleet_builder import record

STATES = ("pending", "active", "releasing", "released", "canceled")
devices = st.integers(1, 20)
count = st.integers(0, 40)


def of(state: str, number: int, size: int) -> Record:
    return Record.model_validate(record(f"t-{number}", "a", size, state))


@st.composite
def terms(draw: Any, hard: Any = count) -> OrganizationTerms:
    """An organization in any moment, consistent or not."""
    drawn = draw(st.lists(st.tuples(st.sampled_from(STATES), devices), max_size=4))
    records = tuple(of(state, number, size) for number, (state, size) in enumerate(drawn))
    live = [item for item in records if item.state in ("pending", "releasing")]
    moving = draw(st.sampled_from([None, *live]))
    entitlement = Entitlement(
        plan=draw(count), ordinary_add_ons={"o": draw(count)}, granted={"r": draw(count)}
    )
    return OrganizationTerms(
        "a",
        present=True,
        entitlement=entitlement,
        quota=QuotaReading(draw(hard)),
        records=records,
        moving=moving,
    )


def number(value: Amount | None) -> int:
    assert isinstance(value, int)
    return value


@given(terms())
def test_a_claim_covers_what_quota_enforces_and_what_was_sold(seen: OrganizationTerms) -> None:
    claim = number(seen.claim)
    reserved, ordinary = number(seen.reserved), number(seen.entitlement.ordinary)
    assert claim >= number(seen.quota.hard)
    assert claim >= reserved + ordinary
    assert claim <= reserved + max(ordinary, number(seen.quota.hard))


@given(terms())
def test_only_what_records_cover_is_subtracted(seen: OrganizationTerms) -> None:
    covered = number(seen.covered)
    assert 0 <= covered <= number(seen.reserved)
    if seen.moving is None:
        assert covered == min(number(seen.entitlement.granted_total), number(seen.reserved))


@given(terms(hard=st.sampled_from([None, UNLIMITED])))
def test_without_a_known_limit_there_is_no_number(seen: OrganizationTerms) -> None:
    assert seen.claim == seen.quota.hard
    assert seen.result()["claim"] == ("unknown" if seen.quota.hard is None else "unlimited")


def entitled(state: str, ordinary: int, size: int, *, granted: bool, hard: int) -> OrganizationTerms:
    held = of(state, 0, size)
    entitlement = Entitlement(ordinary_add_ons={"o": ordinary}, granted={"r": size if granted else 0})
    return OrganizationTerms(
        "a", present=True, entitlement=entitlement, quota=QuotaReading(hard), records=(held,), moving=held
    )


@given(
    state=st.sampled_from(["pending", "releasing"]),
    ordinary=count,
    size=devices,
    granted=st.booleans(),
    followed=st.floats(0, 1),
)
def test_at_every_moment_of_a_change_the_claim_is_records_plus_ordinary(
    state: str, ordinary: int, size: int, granted: bool, followed: float
) -> None:
    hard = ordinary + round(size * followed)
    assert entitled(state, ordinary, size, granted=granted, hard=hard).claim == ordinary + size


def test_what_no_record_covers_counts_as_non_reserved() -> None:
    entitlement = Entitlement(granted={"r": 10})
    seen = OrganizationTerms(
        "a", present=True, entitlement=entitlement, quota=QuotaReading(10), records=(of("active", 0, 8),)
    )
    assert (seen.covered, seen.non_reserved, seen.claim) == (8, 2, 10)


def test_an_unknown_grant_is_unknown_only_where_records_could_cover_it() -> None:
    unread = Entitlement(granted={"r": None})
    assert OrganizationTerms("a", present=True, entitlement=unread, quota=QuotaReading(4)).claim == 4
    held = OrganizationTerms(
        "a", present=True, entitlement=unread, quota=QuotaReading(4), records=(of("active", 0, 2),)
    )
    assert held.claim is None


def test_without_a_readable_ledger_nothing_about_records_is_known() -> None:
    seen = OrganizationTerms("a", present=True, quota=QuotaReading(4), records=None)
    assert (seen.reserved, seen.covered, seen.non_reserved, seen.claim) == (None, None, None, None)
