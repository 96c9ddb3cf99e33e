# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the organizations' statuses are of this start: a saved fixture brings back old ones."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .api import Api, ApiError

_ORGANIZATIONS = "/apis/kube-dc.com/v1/organizations"
# Playbooks refuse a status older than ten minutes; a start that is over has none that is nearly that.
_OLDEST = datetime.timedelta(minutes=2)


def old(organizations: Sequence[Mapping[str, Any]], now: datetime.datetime) -> list[str]:
    """Names of organizations whose status is missing or old, with the reason."""
    found = []
    for organization in organizations:
        name = organization["metadata"]["name"]
        updated = organization.get("status", {}).get("quotaUsage", {}).get("lastUpdated")
        if updated is None:
            found.append(f"{name} has no status")
        elif now - datetime.datetime.fromisoformat(updated) > _OLDEST:
            found.append(f"the status of {name} is of {updated}")
    return found


def fresh(api: Api) -> Callable[[], str | None]:
    """The condition that no status is old. Raises nothing: an API server without organizations has none."""

    def condition() -> str | None:
        try:
            items = api.get(_ORGANIZATIONS)["items"]
        except ApiError as error:
            return None if error.status == 404 else f"{error.status} {error}"
        return ", ".join(old(items, datetime.datetime.now(datetime.UTC))) or None

    return condition
