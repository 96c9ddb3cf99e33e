# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What hooks are told: one event, for task files that ask an owner or page whoever is on call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Severity = Literal["info", "warning", "error"]


@dataclass(frozen=True)
class HookEvent:
    """The variable ``gpuops_event`` of ``notify_tasks`` and ``page_tasks``.

    Attributes:
        kind: what happened: release-requested, release-failed, cancel-failed and so on.
        severity: how bad it is.
        ticket: in its normal form.
        organization: whom it concerns.
        profile: the pool's profile.
        message: cause and facts.
        owners: who is asked: holders by ``namespace/kind/name``, then the order's support owner.
        next_action: the exact next step.
    """

    kind: str
    severity: Severity
    ticket: str
    organization: str
    profile: str
    message: str
    owners: tuple[str, ...]
    next_action: str

    def result(self) -> dict[str, Any]:
        """The event as a module returns it."""
        return {
            "kind": self.kind,
            "severity": self.severity,
            "ticket": self.ticket,
            "organization": self.organization,
            "profile": self.profile,
            "message": self.message,
            "owners": list(self.owners),
            "next_action": self.next_action,
        }
