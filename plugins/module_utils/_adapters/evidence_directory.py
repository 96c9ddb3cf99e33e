# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The restricted folder that evidence is kept in, and files in it that survive a power cut."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from .._core.errors import InputError, ObservationError

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
BUNDLES_LOCK: Final = ".lock"


def checked_directory(directory: str | Path) -> Path:
    """The evidence folder, when it exists and nobody else can read it.

    Raises:
        InputError: evidence-dir-missing; evidence-dir-open, with the command that closes it.
    """
    path = Path(directory).expanduser()
    if not str(directory) or not path.is_dir():
        raise InputError(
            "evidence-dir-missing",
            f"evidence_dir {str(directory) or '(not set)'} is no folder; evidence needs a restricted one",
            next_action=f"create it on storage that is kept: mkdir -m 0700 {directory or 'FOLDER'}",
        )
    mode = path.stat().st_mode
    if mode & _OTHERS:
        raise InputError(
            "evidence-dir-open",
            f"evidence_dir {path} has mode {stat.S_IMODE(mode):04o}, so others can reach the evidence",
            next_action=f"run: chmod 0700 {path}",
        )
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        raise InputError(
            "evidence-dir-unusable",
            f"evidence_dir {path} cannot be written by this user",
            next_action=f"give {path} to the user that runs the module",
        )
    return path


def checked_name(kind: str, name: str) -> str:
    """A name that is one plain path component.

    Raises:
        InputError: evidence-name-invalid.
    """
    if not _NAME.fullmatch(name):
        raise InputError(
            "evidence-name-invalid",
            f"{kind} {name!r} cannot name evidence: letters, digits, '.', '_' and '-' only",
            next_action=f"correct the {kind}",
        )
    return name


def write_new(path: Path, content: bytes) -> None:
    """A new file of mode 0600, on the disk when this returns."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Puts a folder's entries on the disk."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lets one process at a time seal bundles of a record."""
    handle = os.open(folder / BUNDLES_LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def read_regular(path: Path) -> bytes:
    """The content of a plain file; links are not followed.

    Raises:
        ObservationError: evidence-unreadable.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            return file.read()
    except OSError as error:
        raise ObservationError(
            "evidence-unreadable",
            f"{path} cannot be read: {error.strerror}",
            next_action=f"see what {path} is, and who may read it",
        ) from error
