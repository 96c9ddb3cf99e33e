# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Builds a commit in the clone from a base commit and changed files, without any working tree."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .._core.errors import InputError
from .git_program import GitProgram

_FILE: Final = "100644"
_FOLDER: Final = "040000"
_FILE_MODES: Final = (_FILE, "100755")


@dataclass(frozen=True)
class CommitIdentity:
    """Who a commit names as author and committer.

    Attributes:
        time: RFC 3339; empty for now by this machine's clock.
    """

    name: str = "gpuops.reservations"
    email: str = "gpuops@localhost"
    time: str = ""

    def environment(self) -> dict[str, str]:
        """The variables by which git takes an identity."""
        who = {}
        for role in ("AUTHOR", "COMMITTER"):
            who[f"GIT_{role}_NAME"] = self.name
            who[f"GIT_{role}_EMAIL"] = self.email
            if self.time:
                who[f"GIT_{role}_DATE"] = self.time
        return who


def build_commit(
    git: GitProgram,
    base: str,
    changes: Mapping[str, bytes | None],
    message: str,
    identity: CommitIdentity,
    *,
    always: bool = False,
) -> str:
    """A commit upon ``base`` (empty: a first commit), or ``base`` itself where nothing would change.

    Args:
        git: the clone.
        base: the parent, 40 hexadecimal digits, or empty.
        changes: new content by path, None to take the file away; the file's mode stays.
        message: the commit's message.
        identity: author and committer.
        always: make a commit even where nothing would change.

    Raises:
        InputError: fleet-path-invalid, or commit-message-empty.
    """
    if not message.strip():
        raise InputError(
            "commit-message-empty", "a commit needs a message", next_action="say why the files change"
        )
    for path in changes:
        _check_path(path)
    tree = _tree_with(git, base, changes)
    if base and not always and tree == git.must(["rev-parse", "--verify", f"{base}^{{tree}}"]).text:
        return base
    parents = ["-p", base] if base else []
    return git.must(
        ["commit-tree", "--no-gpg-sign", *parents, "-F", "-", tree],
        stdin=message.encode(),
        environment=identity.environment(),
    ).text


def _tree_with(git: GitProgram, base: str, changes: Mapping[str, bytes | None]) -> str:
    modes = _modes(git, base, changes) if base else {}
    _check_fits(modes, changes)
    with tempfile.TemporaryDirectory(prefix="index-", dir=git.directory) as folder:
        index = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
        git.must(["read-tree", base] if base else ["read-tree", "--empty"], environment=index)
        lines = [_index_line(git, path, changes[path], modes.get(path)) for path in sorted(changes)]
        git.must(["update-index", "-z", "--index-info"], stdin=b"".join(lines), environment=index)
        return git.must(["write-tree"], environment=index).text


def _check_fits(modes: Mapping[str, str], changes: Mapping[str, bytes | None]) -> None:
    """Git would take a file away to make room for a folder of its name, and the other way round."""
    written = {path for path, content in changes.items() if content is not None}
    for path in written:
        for above in _folders_above(path):
            if above in written or modes.get(above, _FOLDER) != _FOLDER:
                raise _path_error(path, f"{above} is a file there")
    for path in changes:
        if modes.get(path, _FILE) not in _FILE_MODES:
            raise _path_error(path, "a folder, a symbolic link or a submodule has this name there")


def _folders_above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def _index_line(git: GitProgram, path: str, content: bytes | None, mode: str | None) -> bytes:
    if content is None:
        return b"0 " + b"0" * 40 + b"\t" + path.encode() + b"\0"
    oid = git.must(["hash-object", "-w", "--no-filters", "--stdin"], stdin=content).text
    return f"{mode or _FILE} {oid}\t{path}\0".encode()


def _modes(git: GitProgram, base: str, paths: Iterable[str]) -> dict[str, str]:
    """The modes of these paths and of all folders above them, where they exist."""
    wanted = {name for path in paths for name in (path, *_folders_above(path))}
    listing = git.must(["ls-tree", "-z", "-t", "--full-tree", base, "--", *sorted(wanted)]).output
    modes = {}
    for line in listing.split(b"\0"):
        if line:
            facts, _, path = line.partition(b"\t")
            modes[path.decode("utf-8", "replace")] = facts.split(b" ")[0].decode("ascii")
    return modes


def _check_path(path: str) -> None:
    parts = path.split("/")
    if any(part in ("", ".", "..") or part.lower() == ".git" for part in parts):
        raise _path_error(path, "a path is relative, with plain names between single slashes")
    if any(ord(character) < 32 or character == "\x7f" for character in path) or ":" in path[:1]:
        raise _path_error(path, "it holds characters that a file name in the fleet repository may not have")


def _path_error(path: str, why: str) -> InputError:
    return InputError(
        "fleet-path-invalid",
        f"{path!r} cannot be written in the fleet repository: {why}",
        next_action="correct the path, or what stands there",
    )
