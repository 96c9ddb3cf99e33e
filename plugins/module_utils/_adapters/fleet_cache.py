# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Our own bare clone of the fleet repository: one user at a time, and replaced when it is damaged.

Never a person's checkout. A process that is killed at any moment leaves at worst a clone that the next
one replaces: a clone is made aside and renamed into place, and the lock is the operating system's, so
that it goes with the process that held it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeVar

from .._core.errors import InputError, ObservationError
from . import callsites
from .fleet_remote import FleetRemote
from .git_program import CACHE_DAMAGED, GitAnswer, GitProgram, masked

TRACKING: Final = "refs/remotes/origin/"
_LOCK_SECONDS: Final = 300.0
_LOCK_POLL_SECONDS: Final = 0.02

Answer = TypeVar("Answer")


def default_cache_dir() -> Path:
    """The folder below the user's cache folder (XDG_CACHE_HOME, or else .cache in the home folder)."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(base) if base.startswith("/") else Path("~/.cache").expanduser()
    return root / "gpuops-reservations" / "fleet"


class FleetCache:
    """The clone of one remote, in ``<cache_dir>/<hash of its address>``."""

    def __init__(self, remote: FleetRemote, cache_dir: Path, *, timeout: float) -> None:
        self._remote = remote
        self._home = cache_dir / hashlib.sha256(remote.url.encode()).hexdigest()[:32]
        self._clone = self._home / "clone.git"
        self._timeout = timeout

    def with_fresh_clone(self, use: Callable[[GitProgram], Answer]) -> Answer:
        """Fetches every branch, then lets the caller use the clone, all while no other process does.

        A clone that turns out damaged, by the fetch or by the caller, is replaced, and then the caller
        is called again, once: it must not have changed anything when it finds damage.

        Raises:
            ObservationError: fleet-unreachable, fleet-cache-busy, fleet-cache-damaged, git-missing,
                git-timeout.
            InputError: fleet-cache-unusable, where the folder cannot be written.
        """
        with self._locked():
            git = self._fetched()
            try:
                return use(git)
            except ObservationError as error:
                if error.code != CACHE_DAMAGED:
                    raise
                return use(self._replaced())

    def refetch(self, git: GitProgram) -> GitAnswer:
        """Fetches every branch again, from within a use of the clone; a failure is the caller's."""
        return self._fetch(git)

    def _program(self, directory: Path) -> GitProgram:
        return GitProgram(directory, self._remote.environment, self._timeout)

    def _fetched(self) -> GitProgram:
        for leftover in self._home.glob("new-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        if not (self._clone / "complete").exists():
            return self._replaced()
        git = self._program(self._clone)
        if self._fetch(git).code == 0:
            with contextlib.suppress(ObservationError):  # tidying; what is damaged shows when it is read
                git.run(["gc", "--auto", "--quiet"])
            return git
        # Is it the remote or the clone? Listing the remote's branches writes nothing here.
        answer = git.run(["ls-remote", "--heads", self._remote.url])
        if answer.code != 0:
            raise _unreachable(self._remote, answer.error)
        return self._replaced()

    def _replaced(self) -> GitProgram:
        fresh = Path(tempfile.mkdtemp(prefix="new-", dir=self._home))
        git = self._program(fresh)
        git.must(["init", "--quiet", "--bare", "--template=", str(fresh)])
        with (fresh / "config").open("a", encoding="utf-8") as config:
            config.write(_remote_section(self._remote.url))
        answer = self._fetch(git)
        if answer.code != 0:
            shutil.rmtree(fresh, ignore_errors=True)
            raise _unreachable(self._remote, answer.error)
        (fresh / "complete").touch()
        shutil.rmtree(self._clone, ignore_errors=True)
        fresh.rename(self._clone)
        return self._program(self._clone)

    def _fetch(self, git: GitProgram) -> GitAnswer:
        callsites.reached("fleet fetch")
        only_branches = ["--prune", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"]
        answer = git.run(["fetch", "--quiet", *only_branches, "origin"])
        callsites.reached("fleet fetch answered")
        return answer

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            self._home.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = os.open(self._home / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise InputError(
                "fleet-cache-unusable",
                f"the cache folder {self._home} cannot be written: {error.strerror}",
                next_action="set XDG_CACHE_HOME to a folder that this user may write",
            ) from error
        try:
            self._wait_for(handle)
            yield
        finally:
            os.close(handle)

    def _wait_for(self, handle: int) -> None:
        deadline = time.monotonic() + _LOCK_SECONDS
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if time.monotonic() > deadline:
                    raise ObservationError(
                        "fleet-cache-busy",
                        f"another run has used the clone in {self._home} for {_LOCK_SECONDS:g} s",
                        next_action="see which process holds the file lock there, then run again",
                    ) from error
                time.sleep(_LOCK_POLL_SECONDS)
            else:
                return


def _remote_section(url: str) -> str:
    quoted = url.replace("\\", "\\\\").replace('"', '\\"')
    return f'[remote "origin"]\n\turl = "{quoted}"\n\tfetch = +refs/heads/*:{TRACKING}*\n'


def _unreachable(remote: FleetRemote, words: str) -> ObservationError:
    return ObservationError(
        "fleet-unreachable",
        f"the fleet repository {masked(remote.shown)} could not be read: {words or 'git gave no reason'}",
        next_action="check fleet_repo, the network, and that this user may read it; then run again",
    )
