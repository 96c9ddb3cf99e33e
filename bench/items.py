# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One object to create, and the pieces that objects share."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

JsonObject = dict[str, Any]


@dataclass(frozen=True)
class Item:
    """An object for a list's path.

    Attributes:
        path: the list's path.
        content: the object.
        status: written after it where there is one.
        then: a merge patch after that, against what admission adds to a new object.
    """

    path: str
    content: JsonObject
    status: JsonObject | None = None
    then: JsonObject | None = None

    @property
    def own_path(self) -> str:
        """The object's own path."""
        return f"{self.path}/{self.content['metadata']['name']}"


def instant() -> str:
    """Now, RFC 3339 UTC, in seconds."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def meta(name: str, namespace: str = "", **more: Any) -> JsonObject:
    """An object's metadata."""
    return {"name": name, **({"namespace": namespace} if namespace else {}), **more}


def condition(kind: str, reason: str = "Reconciled") -> JsonObject:
    """A condition that holds."""
    return {"type": kind, "status": "True", "reason": reason, "message": "", "lastTransitionTime": instant()}


def ready() -> JsonObject:
    """Conditions of an object that is ready."""
    return {"conditions": [condition("Ready")]}
