# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""One finding: what an observation shows to be wrong or worth knowing, and the safe next step."""

from __future__ import annotations

from typing import Any, Literal

from .checks import Check
from .strict_model import StrictModel

Severity = Literal["error", "warning", "note"]


class Finding(StrictModel):
    """A fact that a proof stops on, or that an audit reports.

    Attributes:
        id: stable identifier, see :mod:`finding_ids`.
        severity: error fails an audit; warning and note do not.
        object: what it is about, ``kind/name`` (``node/gpu-01``), or a file of the fleet repository.
        message: cause and facts in one sentence.
        expected: what should have been seen.
        observed: what was seen.
        next_action: the exact safe next step.
        stops: whether a proof stops on it.
        unknown: whether the fact could not be established, as opposed to being wrong.
        transient: whether a second reading within seconds may well differ (node health, usage).
        profile: the pool it belongs to; empty where it concerns all of them.
        values: the values compared, by where they were read, where several disagree.
        odd: which of them is the odd one out.
    """

    id: str
    severity: Severity
    object: str
    message: str
    next_action: str
    expected: str = ""
    observed: str = ""
    stops: bool = True
    unknown: bool = False
    transient: bool = False
    profile: str = ""
    values: dict[str, str] = {}
    odd: str = ""

    def check(self) -> Check:
        """The finding as an entry of a result's ``checks``; what does not stop is not applicable."""
        status: Literal["fail", "unknown", "not_applicable"] = "not_applicable"
        if self.stops:
            status = "unknown" if self.unknown else "fail"
        return Check(
            id=self.id,
            status=status,
            message=self.message,
            next_action=self.next_action,
            object=self.object,
        )

    def of_pool(self, profile_id: str) -> Finding:
        """The same finding, said of one pool."""
        return self.model_copy(update={"profile": profile_id})

    def result(self) -> dict[str, Any]:
        """The finding as a module returns it."""
        return self.model_dump(mode="json", exclude={"stops", "unknown", "transient"})


def stops(findings: tuple[Finding, ...]) -> bool:
    """Whether a proof may not go on."""
    return any(finding.stops for finding in findings)
