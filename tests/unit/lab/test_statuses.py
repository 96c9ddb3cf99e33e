# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Statuses of organizations: of this start, or old."""

from __future__ import annotations

import datetime
from typing import Any, cast

import pytest

from lab.api import Api, ApiError
from lab.statuses import fresh, old

NOW = datetime.datetime(2026, 1, 1, 12, 0, 0, tzinfo=datetime.UTC)


def organization(updated: str | None) -> dict[str, Any]:
    usage = {} if updated is None else {"quotaUsage": {"lastUpdated": updated}}
    return {"metadata": {"name": "aurora"}, "status": usage}


@pytest.mark.parametrize(
    ("updated", "found"),
    [
        ("2026-01-01T11:59:59Z", []),
        ("2026-01-01T11:58:00Z", []),
        ("2026-01-01T11:57:59Z", ["the status of aurora is of 2026-01-01T11:57:59Z"]),
        (None, ["aurora has no status"]),
    ],
)
def test_old(updated: str | None, found: list[str]) -> None:
    assert old([organization(updated)], NOW) == found


def test_an_organization_without_any_status_is_named() -> None:
    assert old([{"metadata": {"name": "new"}}], NOW) == ["new has no status"]


@pytest.mark.parametrize(("status", "missing"), [(404, None), (503, "503 later")])
def test_only_a_server_that_knows_no_organizations_has_none(status: int, missing: str | None) -> None:
    class Refusing:
        def get(self, _path: str) -> dict[str, Any]:
            raise ApiError(status, "", "later")

    assert fresh(cast("Api", Refusing()))() == missing
