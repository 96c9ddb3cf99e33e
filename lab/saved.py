# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The saved fixture: etcd's data and the product's files, as they were after the first complete start."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import psutil

from . import processes
from .directory import LabDirectory
from .errors import LabError


def save(lab: LabDirectory, running: Sequence[psutil.Process]) -> None:
    """Copy the state while the given processes, all of the lab's, stand still.

    What etcd has written is then as after a kill, from which it recovers: a kill loses nothing that the
    operating system was given. Raises LabError.
    """
    temporary = lab.root / "saved.new"
    shutil.rmtree(temporary, ignore_errors=True)
    entries = lab.product_entries()
    temporary.mkdir(mode=0o700)
    try:
        processes.freeze(running)
        _copy(lab.etcd, temporary / "etcd")
        for entry in entries:
            _copy(entry, temporary / "product" / entry.name)
    finally:
        processes.thaw(running)
    shutil.rmtree(lab.saved, ignore_errors=True)
    temporary.rename(lab.saved)


def put_back(lab: LabDirectory) -> None:
    """Replace the state by the saved one. Nothing of the lab may run."""
    if not (lab.saved / "etcd").is_dir():
        raise LabError(f"{lab.saved} has no saved fixture", "run lab-down and lab-up")
    shutil.rmtree(lab.etcd, ignore_errors=True)
    for entry in lab.product_entries():
        remove(entry)
    _copy(lab.saved / "etcd", lab.etcd)
    product = lab.saved / "product"
    for entry in sorted(product.iterdir()) if product.is_dir() else []:
        _copy(entry, lab.root / entry.name)


def remove(path: Path) -> None:
    """Remove a file, a link or a folder with all that is in it."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if source.is_dir() and not source.is_symlink():
        shutil.copytree(source, target, symlinks=True)
    else:
        shutil.copy2(source, target, follow_symlinks=False)
