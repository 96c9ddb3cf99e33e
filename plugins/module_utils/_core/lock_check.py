# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a run may take a pool's lock, as a plan says it before it is taken."""

from __future__ import annotations

from .checks import Check


def lock_check(pool: str, holder: str, ticket: str, *, may_wait: bool) -> Check:
    """The pool is free, held by the ticket's own earlier run, or waited for; else the plan is refused.

    Args:
        pool: the profile.
        holder: who holds the pool's lock; empty for nobody.
        ticket: who wants it.
        may_wait: whether the run would wait for a lock that another holds.
    """
    where = f"pool/{pool}"
    if holder in ("", ticket):
        return Check(id="lock", status="pass", message=f"pool {pool} is free", object=where)
    message = f"pool {pool} is locked for {holder}"
    if may_wait:
        return Check(id="lock", status="pass", message=f"{message}; the run waits", object=where)
    return Check(
        id="lock-held",
        status="fail",
        message=message,
        next_action=f"run again when {holder} has ended, or with -e lock_wait=<seconds>; "
        "playbooks/lock.yml shows the lock",
        object=where,
    )
