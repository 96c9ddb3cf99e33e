# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The annotation by which a cordon of ours is known, and the one by which a person keeps a cordon."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final, Literal

from .cluster_objects import Node

CORDON_ANNOTATION: Final = "gpuops.reservations/cordon"
KEEP_ANNOTATION: Final = "gpuops.reservations/keep-cordoned"

By = Literal["transition", "reservation"]


@dataclass(frozen=True)
class CordonMark:
    """Who of us made a cordon.

    Attributes:
        by: what kind of run made it.
        id: the run's id, or the Reservation's name.
        since: RFC 3339 time.
    """

    by: By
    id: str
    since: str

    def to_text(self) -> str:
        """The annotation's value: one line of JSON."""
        return json.dumps({"by": self.by, "id": self.id, "since": self.since})


def cordon_mark(node: Node) -> CordonMark | None:
    """The mark on a node; None where there is none or it is not one that we write."""
    try:
        document = json.loads(node.metadata.annotations.get(CORDON_ANNOTATION, ""))
        by, identifier, since = (str(document[key]) for key in ("by", "id", "since"))
    except (ValueError, KeyError, TypeError):
        return None
    if by == "transition":
        return CordonMark("transition", identifier, since)
    return CordonMark("reservation", identifier, since) if by == "reservation" else None


def kept_by_a_person(node: Node) -> bool:
    """Whether a person asked that the node stays cordoned, whatever the annotation's value."""
    return KEEP_ANNOTATION in node.metadata.annotations
