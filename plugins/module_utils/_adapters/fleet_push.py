# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pushes one commit to one branch: compare-and-swap on what was read, fast-forward only, never forced."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Final

from .._core.errors import ConflictError, GpuopsError, ObservationError, PolicyBlocked
from . import callsites
from .fleet_objects import tip
from .git_program import GIT_TIMEOUT, GitAnswer, GitProgram
from .outcome_unknown import OutcomeUnknown

_ATTEMPTS: Final = 3

# Git's own words, with LC_ALL=C, for a branch that is no longer where it was.
_MOVED: Final = (
    "stale info", "fetch first", "non-fast-forward", "needs force", "cannot lock ref", "failed to update ref",
    "incorrect old value", "reference already exists", "failed to lock", "but expected",
)  # fmt: skip
# Words of servers that let us read and not write.
_FORBIDDEN: Final = (
    "error: 403", "read only", "read-only", "permission to", "not allowed to push", "denied to",
    "service not enabled", "write access",
)  # fmt: skip


class _Answered(Enum):
    PUSHED = "pushed"
    MOVED = "moved"
    REFUSED = "refused"
    NOTHING = "nothing"


def push_commit(
    git: GitProgram,
    branch: str,
    base: str,
    commit: str,
    refetch: Callable[[], GitAnswer],
) -> None:
    """Moves a branch of the remote from ``base`` (empty: it must not exist) to ``commit``.

    When the connection ends without an answer, the branch is read again: a branch that holds our commit
    is a success. The same push is tried again only where the branch still is where it was; the
    compare-and-swap makes that safe.

    Raises:
        ConflictError: fleet-moved; somebody else moved the branch.
        PolicyBlocked: push-refused; a hook, a protected branch, or no right to write.
        ObservationError: fleet-unreachable; nothing was sent.
        OutcomeUnknown: push-outcome-unknown; no answer, and the branch cannot be read.
    """
    _check_fast_forward(git, branch, base, commit)
    answer = GitAnswer(0, b"", "")
    for _ in range(_ATTEMPTS):
        answer = _push(git, branch, base, commit, dry=False)
        outcome = _outcome(answer)
        if outcome is _Answered.PUSHED:
            return
        if outcome is _Answered.MOVED:
            _moved_or_ours(git, branch, base, commit, refetch)
            return
        if outcome is _Answered.REFUSED:
            raise _refused(branch, answer)
        if refetch().code != 0:
            raise _outcome_unknown(branch, commit, answer)
        if tip(git, branch) != base:
            _require_ours(git, branch, base, commit)
            return
    if _is_forbidden(answer):
        raise _refused(branch, answer)
    raise _outcome_unknown(branch, commit, answer)


def dry_push(git: GitProgram, branch: str, base: str, commit: str) -> None:
    """Asks the remote whether the push would be tried; hooks and protected branches are not asked.

    Raises:
        As :func:`push_commit`; the remote is never changed.
    """
    answer = _push(git, branch, base, commit, dry=True)
    outcome = _outcome(answer)
    if outcome is _Answered.MOVED:
        raise _moved(branch, base, "another commit")
    if outcome is _Answered.REFUSED or (outcome is not _Answered.PUSHED and _is_forbidden(answer)):
        raise _refused(branch, answer)
    if outcome is not _Answered.PUSHED:
        raise ObservationError(
            "fleet-unreachable",
            f"a trial push to branch {branch} had no answer: {answer.error or 'git gave no reason'}",
            next_action="check that this user may push to the fleet repository, then run again",
        )


def _push(git: GitProgram, branch: str, base: str, commit: str, *, dry: bool) -> GitAnswer:
    ref = f"refs/heads/{branch}"
    arguments = ["push", "--porcelain", "--no-verify", "--no-follow-tags", f"--force-with-lease={ref}:{base}"]
    site = "fleet push --dry-run" if dry else "fleet push"
    callsites.reached(f"{site} {branch}")
    try:
        answer = git.run([*arguments, *(["--dry-run"] if dry else []), "origin", f"{commit}:{ref}"])
    except ObservationError as error:
        if error.code != GIT_TIMEOUT:
            raise
        answer = GitAnswer(-1, b"", error.message)
    callsites.reached(f"{site} {branch} answered")
    return answer


def _outcome(answer: GitAnswer) -> _Answered:
    for line in answer.output.decode("utf-8", "replace").splitlines():
        flag, _, rest = line.partition("\t")
        if "\t" not in rest:
            continue
        summary = rest.partition("\t")[2].lower()
        if flag != "!":
            return _Answered.PUSHED if answer.code == 0 else _Answered.NOTHING
        if "remote failure" in summary or "no match" in summary:
            return _Answered.NOTHING
        refused = summary + answer.error.lower() if "failed to update ref" in summary else summary
        return _Answered.MOVED if any(word in refused for word in _MOVED) else _Answered.REFUSED
    return _Answered.NOTHING


def _is_forbidden(answer: GitAnswer) -> bool:
    return any(word in answer.error.lower() for word in _FORBIDDEN)


def _check_fast_forward(git: GitProgram, branch: str, base: str, commit: str) -> None:
    if base and git.run(["merge-base", "--is-ancestor", base, commit]).code != 0:
        raise _moved(branch, base, commit)


def _moved_or_ours(
    git: GitProgram, branch: str, base: str, commit: str, refetch: Callable[[], GitAnswer]
) -> None:
    """After a refusal: an earlier attempt without an answer may be what moved the branch."""
    if refetch().code != 0:
        raise _moved(branch, base, "another commit")
    _require_ours(git, branch, base, commit)


def _require_ours(git: GitProgram, branch: str, base: str, commit: str) -> None:
    now = tip(git, branch)
    if not now or git.run(["merge-base", "--is-ancestor", commit, now]).code != 0:
        raise _moved(branch, base, now or "gone")


def _moved(branch: str, base: str, now: str) -> ConflictError:
    return ConflictError(
        "fleet-moved",
        f"branch {branch} of the fleet repository moved: {base[:12] or 'no such branch'} was read, and it is "
        f"{now[:12]} now",
        next_action="run again: everything is read and proved anew",
        details={"branch": branch, "read": base, "now": now},
    )


def _refused(branch: str, answer: GitAnswer) -> GpuopsError:
    lines = answer.output.decode("utf-8", "replace").splitlines()
    status = [line.rpartition("\t")[2] for line in lines if "\t" in line]
    said = [line for line in answer.error.splitlines() if line.strip() and not line.startswith("To ")]
    words = "; ".join(line.strip() for line in [*status, *said])
    return PolicyBlocked(
        "push-refused",
        f"the fleet repository refused the push to branch {branch}: {words or 'without a reason'}",
        next_action="let the automation's identity push to this branch, or see what its hook asks for",
        details={"branch": branch},
    )


def _outcome_unknown(branch: str, commit: str, answer: GitAnswer) -> OutcomeUnknown:
    return OutcomeUnknown(
        "push-outcome-unknown",
        f"the push of {commit[:12]} to branch {branch} had no answer, and whether it arrived is not known: "
        f"{answer.error or 'git gave no reason'}",
        next_action="run again when the fleet repository answers: the next run goes on from what is there",
        details={"branch": branch, "revision": commit},
    )
