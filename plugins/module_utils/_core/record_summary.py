# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a record says to a person: who holds what, and what billing sees."""

from __future__ import annotations

from .record import Record


def billing_line(record: Record) -> str:
    """What billing sees (runbook: billing starts at activatedAt and stops at releasedAt)."""
    status, reference = record.status, record.spec.billing_reference
    if record.state in ("pending", "canceled"):
        return f"billing {reference}: nothing is billed; no billable instant"
    if status.released_at:
        return f"billing {reference}: first billable instant {status.activated_at}, last {status.released_at}"
    return f"billing {reference}: billable from {status.activated_at}, still running"


def summary_lines(record: Record) -> list[str]:
    """Lines for the screen."""
    spec = record.spec
    where = f"{spec.organization}, project {spec.project}" if spec.project else spec.organization
    return [
        f"{record.id} is {record.state} ({record.status.reason})",
        f"{spec.devices} devices of {spec.profile_id} for {where}, by {spec.addon_id}",
        billing_line(record),
        f"evidence {record.status.evidence_revision or 'none yet'}",
    ]
