# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pushes commits to branches, all or none: compare-and-swap on what was read, fast-forward, never forced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Move:
    """One branch to move, from what was read (empty: it must not exist) to a commit of ours."""

    branch: str
    base: str
    commit: str


def push_commits(git: GitProgram, moves: Sequence[Move], refetch: Callable[[], GitAnswer]) -> None:
    """Moves branches of the remote, all of them or none.

    When the connection ends without an answer, the branches are read again: branches that hold our
    commits are a success. The same push is tried again only where they still are where they were; the
    compare-and-swap makes that safe.

    Raises:
        ConflictError: fleet-moved; somebody else moved a branch.
        PolicyBlocked: push-refused; a hook, a protected branch, or no right to write.
        ObservationError: fleet-unreachable; nothing was sent.
        OutcomeUnknown: push-outcome-unknown; no answer, and a branch cannot be read.
    """
    for move in moves:
        _check_fast_forward(git, move)
    answer = GitAnswer(0, b"", "")
    for _ in range(_ATTEMPTS):
        answer = _push(git, moves, dry=False)
        outcome = _outcome(answer)
        if outcome is _Answered.PUSHED:
            return
        if outcome is _Answered.MOVED:
            _moved_or_ours(git, moves, refetch)
            return
        if outcome is _Answered.REFUSED:
            raise _refused(moves, answer)
        if refetch().code != 0:
            raise _outcome_unknown(moves, answer)
        if any(tip(git, move.branch) != move.base for move in moves):
            _require_ours(git, moves)
            return
    if _is_forbidden(answer):
        raise _refused(moves, answer)
    raise _outcome_unknown(moves, answer)


def dry_push(git: GitProgram, move: Move) -> None:
    """Asks the remote whether the push would be tried; hooks and protected branches are not asked.

    Raises:
        As :func:`push_commits`; the remote is never changed.
    """
    answer = _push(git, [move], dry=True)
    outcome = _outcome(answer)
    if outcome is _Answered.MOVED:
        raise _moved(move, "another commit")
    if outcome is _Answered.REFUSED or (outcome is not _Answered.PUSHED and _is_forbidden(answer)):
        raise _refused([move], answer)
    if outcome is not _Answered.PUSHED:
        raise ObservationError(
            "fleet-unreachable",
            f"a trial push to branch {move.branch} had no answer: {answer.error or 'git gave no reason'}",
            next_action="check that this user may push to the fleet repository, then run again",
        )


def _push(git: GitProgram, moves: Sequence[Move], *, dry: bool) -> GitAnswer:
    arguments = ["push", "--porcelain", "--no-verify", "--no-follow-tags"]
    arguments += ["--atomic"] if len(moves) > 1 else []
    arguments += ["--dry-run"] if dry else []
    arguments += [f"--force-with-lease=refs/heads/{move.branch}:{move.base}" for move in moves]
    named = _branches(moves)
    site = "fleet push --dry-run" if dry else "fleet push"
    callsites.reached(f"{site} {named}")
    try:
        answer = git.run(
            [*arguments, "origin", *[f"{move.commit}:refs/heads/{move.branch}" for move in moves]]
        )
    except ObservationError as error:
        if error.code != GIT_TIMEOUT:
            raise
        answer = GitAnswer(-1, b"", error.message)
    callsites.reached(f"{site} {named} answered")
    return answer


def _branches(moves: Sequence[Move]) -> str:
    return ", ".join(move.branch for move in moves)


def _outcome(answer: GitAnswer) -> _Answered:
    """What the server said of all branches; a branch that failed only for another's sake says nothing."""
    said: set[_Answered] = set()
    for line in answer.output.decode("utf-8", "replace").splitlines():
        flag, _, rest = line.partition("\t")
        if "\t" in rest and "atomic" not in rest:
            said.add(_of_branch(flag, rest.partition("\t")[2].lower(), answer))
    for outcome in (_Answered.MOVED, _Answered.REFUSED, _Answered.NOTHING, _Answered.PUSHED):
        if outcome in said:
            return outcome
    return _Answered.NOTHING


def _of_branch(flag: str, summary: str, answer: GitAnswer) -> _Answered:
    if flag != "!":
        return _Answered.PUSHED if answer.code == 0 else _Answered.NOTHING
    if "remote failure" in summary or "no match" in summary:
        return _Answered.NOTHING
    refused = summary + answer.error.lower() if "failed to update ref" in summary else summary
    return _Answered.MOVED if any(word in refused for word in _MOVED) else _Answered.REFUSED


def _is_forbidden(answer: GitAnswer) -> bool:
    return any(word in answer.error.lower() for word in _FORBIDDEN)


def _check_fast_forward(git: GitProgram, move: Move) -> None:
    if move.base and git.run(["merge-base", "--is-ancestor", move.base, move.commit]).code != 0:
        raise _moved(move, move.commit)


def _moved_or_ours(git: GitProgram, moves: Sequence[Move], refetch: Callable[[], GitAnswer]) -> None:
    """After a refusal: an earlier attempt without an answer may be what moved the branches."""
    if refetch().code != 0:
        raise _moved(moves[0], "another commit")
    _require_ours(git, moves)


def _require_ours(git: GitProgram, moves: Sequence[Move]) -> None:
    for move in moves:
        now = tip(git, move.branch)
        if not now or git.run(["merge-base", "--is-ancestor", move.commit, now]).code != 0:
            raise _moved(_moved_one(git, moves), now or "gone")


def _moved_one(git: GitProgram, moves: Sequence[Move]) -> Move:
    """The branch that is neither where it was nor where we put it."""
    return next((move for move in moves if tip(git, move.branch) not in (move.base, move.commit)), moves[0])


def _moved(move: Move, now: str) -> ConflictError:
    return ConflictError(
        "fleet-moved",
        f"branch {move.branch} of the fleet repository moved: {move.base[:12] or 'no such branch'} was read, "
        f"and it is {now[:12]} now",
        next_action="run again: everything is read and proved anew",
        details={"branch": move.branch, "read": move.base, "now": now},
    )


def _refused(moves: Sequence[Move], answer: GitAnswer) -> GpuopsError:
    lines = answer.output.decode("utf-8", "replace").splitlines()
    status = [line.rpartition("\t")[2] for line in lines if "\t" in line]
    said = [line for line in answer.error.splitlines() if line.strip() and not line.startswith("To ")]
    words = "; ".join(line.strip() for line in [*status, *said])
    return PolicyBlocked(
        "push-refused",
        f"the fleet repository refused the push to branch {_branches(moves)}: {words or 'without a reason'}",
        next_action="let the automation's identity push to this branch, or see what its hook asks for",
        details={"branch": _branches(moves)},
    )


def _outcome_unknown(moves: Sequence[Move], answer: GitAnswer) -> OutcomeUnknown:
    commits = ", ".join(move.commit[:12] for move in moves)
    return OutcomeUnknown(
        "push-outcome-unknown",
        f"the push of {commits} to branch {_branches(moves)} had no answer, and whether it arrived is not "
        f"known: {answer.error or 'git gave no reason'}",
        next_action="run again when the fleet repository answers: the next run goes on from what is there",
        details={"branch": _branches(moves), "revision": moves[0].commit},
    )
