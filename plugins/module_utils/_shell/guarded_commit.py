# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Commits to the fleet branch together with the lock branch: both move, or neither does.

The lock branch always moves, so a run whose lock was taken over cannot commit any more, and two runs
that read the same lock document cannot both act on it.
"""

from __future__ import annotations

from collections.abc import Mapping

from .._adapters.fleet import BranchChange
from .._core.lock import LOCK_FILE, LockDocument
from .observation import Observation
from .sources import Reach


def commit_guarded(
    reach: Reach,
    seen: Observation,
    files: Mapping[str, bytes | None],
    document: LockDocument,
    message: str,
) -> str:
    """Commit files and the lock document upon what was observed.

    Args:
        reach: the fleet repository.
        seen: the observation that the change was decided on.
        files: new content of files of the fleet branch, by path; may be empty.
        document: the lock document afterwards.
        message: the message of both commits.

    Returns:
        The fleet branch's revision.

    Raises:
        ConflictError: ``fleet-moved``: one of the branches is not as it was observed.
        PolicyBlocked: ``push-refused``.
    """
    changes = {
        reach.lock_branch: BranchChange(
            seen.snapshot.lock.revision, {LOCK_FILE: document.to_yaml().encode()}, always=True
        )
    }
    if files:
        changes[reach.fleet.branch] = BranchChange(seen.snapshot.fleet.revision, files)
    made = reach.fleet.commit_together(changes, message)
    return made.get(reach.fleet.branch, seen.snapshot.fleet.revision)
