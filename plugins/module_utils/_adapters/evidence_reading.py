# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads sealed bundles: whether there is one, and a file of it after the whole chain has been verified."""

from __future__ import annotations

from pathlib import Path

from .._core.errors import ObservationError
from .evidence_directory import checked_directory, checked_name, read_regular
from .evidence_verification import verify


def is_sealed(evidence_dir: str | Path, record_id: str, run_id: str) -> bool:
    """Whether this run has sealed a bundle of this record; its content is not looked at.

    Raises:
        InputError: evidence-dir-missing, evidence-dir-open, evidence-name-invalid.
    """
    root = checked_directory(evidence_dir)
    return (root / checked_name("record", record_id) / checked_name("run", run_id)).is_dir()


def read_sealed(evidence_dir: str | Path, record_id: str, revision: str, name: str) -> bytes:
    """The content of a file in the bundle of this revision.

    Args:
        evidence_dir: the evidence folder.
        record_id: the record.
        revision: the evidence revision of the bundle.
        name: the file.

    Raises:
        InputError: as for :func:`verify`.
        ObservationError: ``evidence-not-verified``, naming what was altered or is missing;
            ``evidence-unreadable``: the bundle has no such file.
    """
    found = verify(record_id, evidence_dir, revision)
    run = next((run for run, sealed in found.revisions if sealed == revision), "")
    if not found.verified or not run:
        faults = [f"altered: {file}" for file in found.altered]
        faults += [f"missing: {file}" for file in found.missing]
        faults += [f"nobody sealed: {file}" for file in found.extra]
        faults += [] if run else [f"no bundle has revision {revision}"]
        raise ObservationError(
            "evidence-not-verified",
            f"evidence of {record_id} does not verify: {'; '.join(faults)}",
            next_action="restore the named files from a copy, or seal the evidence of this run again",
            details={
                "altered": list(found.altered),
                "missing": list(found.missing),
                "extra": list(found.extra),
            },
        )
    return read_regular(checked_directory(evidence_dir) / checked_name("record", record_id) / run / name)
