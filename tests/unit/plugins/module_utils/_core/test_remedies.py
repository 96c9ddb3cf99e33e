# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Remedies of a failing equation: the smallest, each sufficient, and few enough to be read."""

from __future__ import annotations

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._core.amount import UNLIMITED
from ansible_collections.gpuops.reservations.plugins.module_utils._core.claims import OrganizationTerms
from ansible_collections.gpuops.reservations.plugins.module_utils._core.entitlement import Entitlement
from ansible_collections.gpuops.reservations.plugins.module_utils._core.equation import Equation
from ansible_collections.gpuops.reservations.plugins.module_utils._core.quota_reading import QuotaReading
from ansible_collections.gpuops.reservations.plugins.module_utils._core.remedies import Remedy, remedies_of


def holding(name: str, hard: int, used: int | None = 0) -> OrganizationTerms:
    """An organization with ordinary entitlement alone."""
    return OrganizationTerms(
        name, present=True, entitlement=Entitlement(plan=hard), quota=QuotaReading(hard), recounted=used
    )


def without_limit(name: str) -> OrganizationTerms:
    quota = QuotaReading(UNLIMITED, unlimited_because=f"no HRQ in {name}")
    return OrganizationTerms(name, present=True, quota=quota)


def lacking(missing: int, organizations: list[OrganizationTerms]) -> tuple[Remedy, ...]:
    sold = sum(terms.quota.hard for terms in organizations if isinstance(terms.quota.hard, int))
    equation = Equation(healthy=sold - missing, pending=0, active=0, releasing=0, non_reserved=sold, spare=0)
    assert equation.headroom == -missing
    return remedies_of(equation, organizations, "h100-vm")


def test_where_the_equation_holds_there_is_nothing_to_remedy() -> None:
    assert lacking(0, [holding("aurora", 4)]) == ()


def test_of_two_thousand_that_could_alone_three_are_named_and_the_rest_counted() -> None:
    add, *others = lacking(2, [holding(f"org-{number:04}", 2) for number in range(2000)])
    assert add.message == "add 2 healthy schedulable devices of h100-vm"
    assert [[part.organization for part in item.reductions] for item in others] == [
        ["org-0000"], ["org-0001"], ["org-0002"],
    ]  # fmt: skip
    assert "1997 more organizations" in others[-1].message
    assert all("more organizations" not in item.message for item in others[:-1])


def test_who_uses_least_comes_first() -> None:
    remedies = lacking(2, [holding("busy", 4, used=4), holding("half", 4, used=3), holding("idle", 4)])
    assert [item.reductions[0].organization for item in remedies[1:]] == ["idle", "half", "busy"]
    assert [item.reductions[0].unused for item in remedies[1:]] == [2, 1, 0]


def test_use_that_is_unknown_leaves_nothing_unused() -> None:
    [_devices, remedy] = lacking(2, [holding("aurora", 4, used=None)])
    assert remedy.reductions[0].unused == 0


def test_where_none_suffices_alone_as_few_as_suffice_are_named_together() -> None:
    small = [holding(f"small-{number}", 1) for number in range(50)]
    [_devices, remedy] = lacking(9, [*small, holding("big", 5), holding("middle", 3)])
    given = [(part.organization, part.devices) for part in remedy.reductions]
    assert given == [("big", 5), ("middle", 3), ("small-0", 1)]
    assert remedy.add_devices == 0
    assert remedy.message == (
        "reduce non-reserved entitlement of big by 5 of 5 (5 unused), of middle by 3 of 3 (3 unused) "
        "and of small-0 by 1 of 1 (1 unused), holder-safely"
    )


def test_what_all_together_lack_has_to_be_added() -> None:
    [_devices, remedy] = lacking(9, [holding("aurora", 4), holding("borealis", 2)])
    assert (remedy.devices, remedy.add_devices) == (9, 3)
    assert remedy.message.endswith(", and add 3 healthy schedulable devices of h100-vm")


@pytest.mark.parametrize("missing", range(1, 8))
def test_every_remedy_suffices_and_none_takes_more_than_there_is(missing: int) -> None:
    limit = {"a": 3, "b": 2, "c": 1}
    organizations = [holding(name, hard) for name, hard in limit.items()]
    for remedy in lacking(missing, organizations):
        won = remedy.add_devices + sum(part.devices for part in remedy.reductions)
        assert won == missing == remedy.devices
        for part in remedy.reductions:
            assert 0 < part.devices <= limit[part.organization]


def test_everybody_without_a_limit_has_to_get_one_and_the_message_stays_short() -> None:
    [remedy] = lacking(0, [without_limit(f"org-{number:04}") for number in range(300)])
    assert remedy.kind == "limit-entitlement"
    assert len(remedy.reductions) == 300
    assert "org-0000 a hard quota of h100-vm: no HRQ in org-0000" in remedy.message
    assert remedy.message.endswith("and 295 more organizations")
