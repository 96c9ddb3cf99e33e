# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Evidence bundles: sealed whole or not at all, chained by digest, verified file by file.

A bundle is the folder ``<evidence_dir>/<record id>/<run id>``. What it holds is decided elsewhere.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from .._core.errors import ConflictError, InputError, ObservationError
from . import callsites
from .evidence_directory import (
    checked_directory,
    checked_name,
    locked,
    read_regular,
    sync_folder,
    write_new,
)
from .evidence_manifest import (
    FORMAT,
    MANIFEST,
    Manifest,
    PreviousBundle,
    digest,
    digests,
    parse_manifest,
)

UNFINISHED: Final = ".sealing-"


def seal(evidence_dir: str | Path, record_id: str, run_id: str, files: Mapping[str, bytes]) -> str:
    """Writes a bundle and gives its evidence revision, the digest of its manifest.

    The bundle is built aside and renamed into place, so a killed run leaves none. Sealing the same
    content for the same run again gives the same revision and writes nothing.

    Args:
        evidence_dir: an existing folder that only its owner can reach.
        record_id: the record that the bundle proves something about.
        run_id: the run.
        files: content by file name.

    Raises:
        InputError: evidence-dir-missing, evidence-dir-open, evidence-dir-unusable, evidence-name-invalid.
        ConflictError: evidence-sealed; this run has sealed other content for this record.
        ObservationError: evidence-chain-broken; an earlier manifest cannot be read.
    """
    root = checked_directory(evidence_dir)
    for name in files:
        checked_name("file", name)
    if MANIFEST in files or not files:
        raise InputError(
            "evidence-name-invalid",
            f"a bundle needs files, and {MANIFEST} is written for them",
            next_action="give the bundle's files other names",
        )
    folder = root / checked_name("record", record_id)
    bundle = folder / checked_name("run", run_id)
    callsites.reached(f"evidence seal {record_id}")
    folder.mkdir(mode=0o700, exist_ok=True)
    sync_folder(root)
    with locked(folder):
        for leftover in folder.glob(f"{UNFINISHED}*"):
            shutil.rmtree(leftover)
        if bundle.exists():
            return _sealed_before(bundle, files)
        revision = _write(folder, bundle, _manifest(folder, record_id, run_id, files), files)
    callsites.reached(f"evidence seal {record_id} answered")
    return revision


def sealed_manifests(folder: Path) -> dict[str, bytes]:
    """The manifests of a record's bundles, by run; a bundle without one is there with empty bytes.

    Raises:
        ObservationError: evidence-unreadable.
    """
    found = {}
    for bundle in sorted(folder.iterdir()):
        if bundle.is_dir() and not bundle.is_symlink() and not bundle.name.startswith("."):
            path = bundle / MANIFEST
            found[bundle.name] = read_regular(path) if path.exists() else b""
    return found


def _manifest(folder: Path, record_id: str, run_id: str, files: Mapping[str, bytes]) -> Manifest:
    latest: Manifest | None = None
    revision = ""
    for run, content in sealed_manifests(folder).items():
        manifest = parse_manifest(content)
        if manifest is None or manifest.run != run or manifest.record != record_id:
            raise ObservationError(
                "evidence-chain-broken",
                f"{folder / run / MANIFEST} is missing or was altered, so no bundle can be chained to it",
                next_action="verify the evidence with gpu_evidence, and restore that file from a copy",
            )
        if latest is None or manifest.number > latest.number:
            latest, revision = manifest, digest(content)
    return Manifest(
        format=FORMAT,
        record=record_id,
        run=run_id,
        number=0 if latest is None else latest.number + 1,
        previous=None if latest is None else PreviousBundle(run=latest.run, manifest=revision),
        files=digests(files),
    )


def _write(folder: Path, bundle: Path, manifest: Manifest, files: Mapping[str, bytes]) -> str:
    aside = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=folder))  # mode 0700
    for name, content in files.items():
        write_new(aside / name, content)
    content = manifest.to_bytes()
    write_new(aside / MANIFEST, content)
    sync_folder(aside)
    aside.rename(bundle)
    sync_folder(folder)
    return digest(content)


def _sealed_before(bundle: Path, files: Mapping[str, bytes]) -> str:
    content = read_regular(bundle / MANIFEST)
    manifest = parse_manifest(content)
    if manifest is None or manifest.files != digests(files):
        raise ConflictError(
            "evidence-sealed",
            f"{bundle} is sealed, with other content",
            next_action="seal under a new run id; a sealed bundle is never changed",
        )
    return digest(content)
