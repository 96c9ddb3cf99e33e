# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The fleet repository: reads trees, commits changes with compare-and-swap, tells a file's history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .._core.errors import ConflictError, ObservationError
from .._core.fleet_files import FleetTree
from .fleet_cache import FleetCache, default_cache_dir
from .fleet_commit import CommitIdentity, build_commit
from .fleet_objects import HistoryEntry, checked_branch, read_history, read_tree, tip
from .fleet_push import Move, dry_push, push_commits
from .fleet_remote import fleet_remote
from .git_program import GitProgram

_TIMEOUT_SECONDS: Final = 120.0
_HISTORY_LIMIT: Final = 10_000


@dataclass(frozen=True)
class BranchChange:
    """A branch's part in a change of several branches.

    Attributes:
        base: the branch's commit as it was read; empty where it does not exist.
        files: new content by path; None takes the file away.
        always: whether the branch moves even where no file changes, so that whoever read it before
            loses the race.
    """

    base: str
    files: Mapping[str, bytes | None]
    always: bool = False


class FleetRepository:
    """A Git repository, through our own bare clone of it; every method fetches first.

    Args:
        url: any Git URL or path; a password in it is never shown and never an argument of a program.
        branch: the fleet branch.
        cache_dir: where clones are kept; the user's cache folder where it is None.
        identity: whom commits name.
        timeout: seconds for one run of git.

    Raises:
        InputError: fleet-repo-invalid, fleet-branch-invalid.

    Every method raises ObservationError (fleet-unreachable, fleet-cache-busy, fleet-cache-damaged,
    git-missing, git-timeout) when the repository cannot be read.
    """

    def __init__(
        self,
        url: str,
        branch: str = "main",
        cache_dir: Path | str | None = None,
        *,
        identity: CommitIdentity | None = None,
        timeout: float = _TIMEOUT_SECONDS,
    ) -> None:
        self.branch = checked_branch(branch)
        self._remote = fleet_remote(url)
        self._identity = identity or CommitIdentity()
        self._cache = FleetCache(
            self._remote, Path(cache_dir) if cache_dir is not None else default_cache_dir(), timeout=timeout
        )

    @property
    def shown(self) -> str:
        """The repository's address for messages, without anything secret."""
        return self._remote.shown

    def read(self, folders: Sequence[str]) -> FleetTree:
        """The files below these folders (or of these names) of the fleet branch.

        Raises:
            ObservationError: fleet-branch-missing; the fleet branch has to exist.
        """
        tree = self.read_branch(self.branch, folders)
        if not tree.revision:
            raise self.branch_missing()
        return tree

    def read_branch(self, branch: str, folders: Sequence[str]) -> FleetTree:
        """The same of any branch; its revision is empty where the branch does not exist."""
        return self.read_all({branch: folders})[branch]

    def read_all(self, folders_by_branch: Mapping[str, Sequence[str]]) -> dict[str, FleetTree]:
        """Trees of several branches, as one fetch found them."""
        return self._cache.with_fresh_clone(
            lambda git: {name: read_tree(git, name, folders) for name, folders in folders_by_branch.items()}
        )

    def tips(self, branches: Sequence[str]) -> dict[str, str]:
        """The commits that branches are at; empty text for a branch that does not exist."""
        return self._cache.with_fresh_clone(lambda git: {branch: tip(git, branch) for branch in branches})

    def commit(
        self,
        branch: str,
        base_revision: str,
        changes: Mapping[str, bytes | None],
        message: str,
        *,
        identity: CommitIdentity | None = None,
    ) -> str:
        """Commits changed files upon the revision that was read and pushes, fast-forward.

        Args:
            branch: the branch to move; a new one where ``base_revision`` is empty.
            base_revision: the branch's commit as it was read.
            changes: new content by path; None takes the file away. Modes stay as they are.
            message: the commit's message.
            identity: whom it names, where not the repository's default.

        Returns:
            The new revision, or ``base_revision`` where nothing would change (then nothing is pushed).

        Raises:
            ConflictError: fleet-moved; the branch is not at ``base_revision`` any more.
            PolicyBlocked: push-refused, with the server's words.
            InputError: fleet-path-invalid, commit-message-empty.
            OutcomeUnknown: push-outcome-unknown; no answer, and the branch could not be read again.
        """
        return self.propose(
            branch,
            base_revision,
            changes,
            message,
            upon_branch=branch,
            upon_revision=base_revision,
            identity=identity,
        )

    def commit_together(
        self,
        changes: Mapping[str, BranchChange],
        message: str,
        *,
        identity: CommitIdentity | None = None,
    ) -> dict[str, str]:
        """As :meth:`commit`, for several branches at once: all of them move, or none does.

        Args:
            changes: by branch, what was read and what is to change.
            message: the message of every commit.
            identity: as for :meth:`commit`.

        Returns:
            The new revision of each branch; the old one where nothing changed there.
        """
        for branch in changes:
            checked_branch(branch)

        def build_and_push(git: GitProgram) -> dict[str, str]:
            made = {}
            for branch, change in changes.items():
                _require_tip(git, branch, change.base)
                who = identity or self._identity
                made[branch] = build_commit(
                    git, change.base, change.files, message, who, always=change.always
                )
            moves = [
                Move(branch, changes[branch].base, commit)
                for branch, commit in made.items()
                if commit != changes[branch].base
            ]
            if moves:
                push_commits(git, moves, lambda: self._cache.refetch(git))
            return made

        return self._cache.with_fresh_clone(build_and_push)

    def propose(
        self,
        branch: str,
        base_revision: str,
        changes: Mapping[str, bytes | None],
        message: str,
        *,
        upon_branch: str,
        upon_revision: str,
        identity: CommitIdentity | None = None,
    ) -> str:
        """As :meth:`commit`, upon another branch's revision: a proposal on a branch of its own.

        Args:
            branch: the branch to create (``base_revision`` empty) or to move on.
            base_revision: that branch's commit as it was read; the new commit must descend from it.
            changes: as for :meth:`commit`.
            message: as for :meth:`commit`.
            upon_branch: the branch that the commit builds on; it must be at ``upon_revision``.
            upon_revision: the new commit's parent.
            identity: as for :meth:`commit`.
        """
        checked_branch(branch)

        def build_and_push(git: GitProgram) -> str:
            _require_tip(git, upon_branch, upon_revision)
            _require_tip(git, branch, base_revision)
            made = build_commit(git, upon_revision, changes, message, identity or self._identity)
            if made != base_revision:
                moves = [Move(branch, base_revision, made)]
                push_commits(git, moves, lambda: self._cache.refetch(git))
            return made

        return self._cache.with_fresh_clone(build_and_push)

    def dry_push(self, branch: str, base_revision: str) -> None:
        """Checks that a commit upon ``base_revision`` would be pushed now; changes nothing.

        Passes on a protected branch: hooks are only asked when something is pushed.

        Raises:
            As :meth:`commit`.
        """

        def try_push(git: GitProgram) -> None:
            _require_tip(git, branch, base_revision)
            trial = {".gpuops-trial": base_revision.encode()}
            made = build_commit(git, base_revision, trial, "trial", self._identity)
            dry_push(git, Move(branch, base_revision, made))

        self._cache.with_fresh_clone(try_push)

    def history(self, branch: str, path: str, *, limit: int = _HISTORY_LIMIT) -> list[HistoryEntry]:
        """Commits of a branch that changed a file, newest first; empty where there is no such branch."""
        return self._cache.with_fresh_clone(lambda git: read_history(git, branch, path, limit))

    def is_ancestor(self, ancestor: str, revision: str) -> bool:
        """Whether one commit is the other, or comes before it.

        Raises:
            ObservationError: fleet-revision-unknown; no branch holds one of them.
        """

        def ask(git: GitProgram) -> bool:
            answer = git.run(["merge-base", "--is-ancestor", ancestor, revision])
            if answer.code not in (0, 1):
                raise ObservationError(
                    "fleet-revision-unknown",
                    f"{ancestor[:12]} or {revision[:12]} is no commit of a branch of {self.shown}",
                    next_action="check the revision; a branch that was rewritten loses its commits",
                )
            return answer.code == 0

        return self._cache.with_fresh_clone(ask)

    def branch_missing(self) -> ObservationError:
        """The error for a fleet branch that does not exist."""
        return ObservationError(
            "fleet-branch-missing",
            f"the fleet repository {self.shown} has no branch {self.branch}",
            next_action="set fleet_branch to the branch that Flux applies",
        )


def _require_tip(git: GitProgram, branch: str, revision: str) -> None:
    now = tip(git, branch)
    if now != revision:
        raise ConflictError(
            "fleet-moved",
            f"branch {branch} of the fleet repository is at {now[:12] or 'nothing'}, and "
            f"{revision[:12] or 'nothing'} was read",
            next_action="run again: everything is read and proved anew",
            details={"branch": branch, "read": revision, "now": now},
        )
