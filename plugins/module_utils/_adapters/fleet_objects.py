# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads commits out of the clone: one process lists a tree, one gives all the contents."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast

from .._core.errors import InputError, ObservationError
from .._core.fleet_files import FleetFile, FleetTree, Mode
from .fleet_cache import TRACKING
from .git_program import CACHE_DAMAGED, GitProgram

_MODES: Final = {"100644", "100755", "120000", "160000"}
_SUBMODULE: Final = "160000"


@dataclass(frozen=True)
class HistoryEntry:
    """One commit that changed a file.

    Attributes:
        revision: the commit.
        content: the file's bytes after it, or None where it took the file away.
        time: the committer's time, RFC 3339.
        message: the commit's message, whole.
    """

    revision: str
    content: bytes | None
    time: str
    message: str


def tip(git: GitProgram, branch: str) -> str:
    """The commit that a branch of the remote was at when it was fetched; empty where there is none."""
    answer = git.must(["for-each-ref", "--format=%(objectname)", TRACKING + checked_branch(branch)])
    return answer.text


def checked_branch(branch: str) -> str:
    """The branch's name, when it can be one.

    Raises:
        InputError: fleet-branch-invalid.
    """
    forbidden = set(" ~^:?*[\\\x7f") | {chr(code) for code in range(32)}
    parts = branch.split("/")
    sound = all(part and not part.startswith(".") and not part.endswith((".", ".lock")) for part in parts)
    if not sound or ".." in branch or "@{" in branch or branch.startswith("-") or forbidden & set(branch):
        raise InputError(
            "fleet-branch-invalid",
            f"{branch!r} cannot be the name of a Git branch",
            next_action="set fleet_branch to the name of a branch, without refs/heads/",
        )
    return branch


def read_tree(git: GitProgram, branch: str, folders: Sequence[str]) -> FleetTree:
    """The files below some folders (or files of these names) at a branch's tip.

    Raises:
        ObservationError: fleet-cache-damaged, where an object is missing or is not what its name says.
    """
    revision = tip(git, branch)
    if not revision:
        return FleetTree(branch=branch)
    paths = [folder.rstrip("/") for folder in folders]
    listing = git.must(["ls-tree", "-r", "-z", "--full-tree", revision, "--", *paths])
    entries = [_entry(line) for line in listing.output.split(b"\0") if line]
    wanted = [oid for mode, oid, _ in entries if mode != _SUBMODULE]
    contents = read_blobs(git, list(dict.fromkeys(wanted)))
    files = [
        FleetFile.of(path, b"" if mode == _SUBMODULE else contents[oid], cast("Mode", mode))
        for mode, oid, path in entries
    ]
    return FleetTree(branch=branch, revision=revision, files=tuple(sorted(files, key=lambda file: file.path)))


def read_blobs(git: GitProgram, oids: Sequence[str]) -> dict[str, bytes]:
    """Contents by object name, each checked against its name."""
    if not oids:
        return {}
    output = git.must(["cat-file", "--batch"], stdin=("\n".join(oids) + "\n").encode()).output
    contents: dict[str, bytes] = {}
    position = 0
    for oid in oids:
        end = output.find(b"\n", position)
        header = output[position:end].split()
        if end < 0 or len(header) != 3 or header[1] != b"blob":
            raise _damaged(git, oid)
        size = int(header[2])
        content = output[end + 1 : end + 1 + size]
        if len(content) != size or _blob_name(content, oid) != oid:
            raise _damaged(git, oid)
        contents[oid] = content
        position = end + size + 2
    return contents


def read_history(git: GitProgram, branch: str, path: str, limit: int) -> list[HistoryEntry]:
    """Commits on a branch that changed one file, newest first."""
    revision = tip(git, branch)
    if not revision:
        return []
    log = git.must(
        ["log", "-z", f"--max-count={limit}", "--format=%H%n%cI%n%B", revision, "--", f":(top,literal){path}"]
    ).output.decode("utf-8", "replace")
    commits = [tuple(entry.split("\n", 2)) for entry in log.split("\0") if entry]
    blobs = {commit: _blob_at(git, commit, path) for commit, _, _ in commits}
    contents = read_blobs(git, list(dict.fromkeys(oid for oid in blobs.values() if oid)))
    return [
        HistoryEntry(commit, contents[blobs[commit]] if blobs[commit] else None, time, message.rstrip("\n"))
        for commit, time, message in commits
    ]


def _blob_at(git: GitProgram, commit: str, path: str) -> str:
    listing = git.must(["ls-tree", "-z", "--full-tree", commit, "--", path]).output
    for line in listing.split(b"\0"):
        if line:
            mode, oid, found = _entry(line)
            if found == path and mode != _SUBMODULE:
                return oid
    return ""


def _entry(line: bytes) -> tuple[str, str, str]:
    facts, _, path = line.partition(b"\t")
    mode, _, oid = facts.decode("ascii").split(" ")
    try:
        name = path.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ObservationError(
            "fleet-path-unreadable",
            f"the fleet repository holds a file whose name is not UTF-8: {path!r}",
            next_action="rename that file in the fleet repository",
        ) from error
    return (mode if mode in _MODES else "100644"), oid, name


def _blob_name(content: bytes, like: str) -> str:
    framed = b"blob %d\0" % len(content) + content
    if len(like) == 64:
        return hashlib.sha256(framed).hexdigest()
    return hashlib.sha1(framed, usedforsecurity=False).hexdigest()


def _damaged(git: GitProgram, oid: str) -> ObservationError:
    return ObservationError(
        CACHE_DAMAGED,
        f"object {oid} in the local clone {git.directory} is missing or damaged",
        next_action=f"remove {git.directory.parent} and run again; it is only a cache",
    )
