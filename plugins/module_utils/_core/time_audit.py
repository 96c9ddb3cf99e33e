# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What time shows about records and locks: overdue reservations, stale locks, smoke runs long ago."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from . import finding_ids as ids
from .finding import Finding
from .instants import instant
from .lock import LockDocument
from .policy import Policy
from .record import Record


def overdue_findings(records: Iterable[Record], now: datetime) -> tuple[Finding, ...]:
    """Live records past their end: a warning, which never frees anything."""
    found = []
    for record in records:
        ends = instant(record.spec.ends_at) if record.spec.ends_at else None
        if not record.holds or ends is None or now <= ends:
            continue
        found.append(
            Finding(
                id=ids.OVERDUE_RESERVATION,
                severity="warning",
                object=f"record/{record.id}",
                message=f"record {record.id} is {record.state} past its end {record.spec.ends_at}; "
                "its devices stay held",
                expected=f"released by {record.spec.ends_at}",
                observed=record.state,
                next_action=f"playbooks/release.yml -e ticket={record.ticket}, or agree on a new end",
                stops=False,
                profile=record.spec.profile_id,
            )
        )
    return tuple(found)


def stale_lock_findings(
    lock: LockDocument, now: datetime, hours: int, pools: Iterable[str]
) -> tuple[Finding, ...]:
    """Locks whose last step began longer ago than the policy allows. They never expire.

    Args:
        lock: the lock document.
        now: the API server's time.
        hours: the policy's limit.
        pools: the pools that are audited.
    """
    found = []
    for profile_id in sorted(set(pools) & set(lock.pools)):
        held = lock.pools[profile_id]
        since = instant(held.since)
        if since is not None and now - since <= timedelta(hours=hours):
            continue
        found.append(
            Finding(
                id=ids.STALE_LOCK,
                severity="warning",
                object=f"lock/{profile_id}",
                message=f"the lock of pool {profile_id} is held by {held.ticket} since {held.since} "
                f"(step {held.step}), longer than {hours} h",
                expected=f"a step within {hours} h",
                observed=held.since,
                next_action=f"run {held.ticket} again, or break the lock with playbooks/lock.yml",
                stops=False,
                profile=profile_id,
            )
        )
    return tuple(found)


def _last_smoke(records: Iterable[Record], told: str) -> datetime | None:
    """The last smoke run: what evidence tells, or the last activation, which one precedes."""
    if told:
        return instant(told)
    times = [instant(record.status.activated_at) for record in records if record.status.activated_at]
    return max((time for time in times if time is not None), default=None)


def smoke_findings(
    policy: Policy,
    records: Mapping[str, Record],
    now: datetime,
    smoked: Mapping[str, str],
    pools: Iterable[str],
) -> tuple[Finding, ...]:
    """Pools with an active record whose last smoke run lies longer ago than the policy allows.

    Args:
        policy: for its limit in days.
        records: the ledger's records, by id.
        now: the API server's time.
        smoked: time of the last good smoke run by pool, as evidence has it; pools may be missing.
        pools: the pools that are audited.
    """
    days = policy.spec.staleness.smoke_days
    found = []
    for profile_id in sorted(pools):
        own = [record for record in records.values() if record.spec.profile_id == profile_id]
        if not any(record.state == "active" for record in own):
            continue
        last = _last_smoke(own, smoked.get(profile_id, ""))
        if last is not None and now - last <= timedelta(days=days):
            continue
        seen = last.strftime("%Y-%m-%dT%H:%M:%SZ") if last else "never"
        found.append(
            Finding(
                id=ids.SMOKE_AGE,
                severity="warning",
                object=f"pool/{profile_id}",
                message=f"the last smoke run of pool {profile_id} was {seen}, the limit is {days} days",
                expected=f"a smoke run within {days} days",
                observed=seen,
                next_action=f"run one virtual machine of {profile_id} through create, stop, start and delete",
                stops=False,
                profile=profile_id,
            )
        )
    return tuple(found)
