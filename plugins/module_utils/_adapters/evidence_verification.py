# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Verifies a record's evidence against the revision that the record names, naming what was altered."""

from __future__ import annotations

import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from .evidence import sealed_manifests
from .evidence_directory import checked_directory, checked_name, read_regular
from .evidence_manifest import MANIFEST, Manifest, digest, parse_manifest

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True)
class Verification:
    """What was found; files are named ``<run id>/<file>``.

    Attributes:
        verified: the expected manifest is there, and it, every bundle of the record and the chain between
            them are as they were sealed.
        altered: files whose content is not what was sealed.
        missing: files or bundles that were sealed and are gone.
        extra: files that nobody sealed.
        exposed: files or folders that others can reach; it says nothing about content.
        revisions: evidence revision by run, as the manifests are now.
    """

    verified: bool
    altered: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    exposed: tuple[str, ...] = ()
    revisions: tuple[tuple[str, str], ...] = ()


@dataclass
class _Bundles:
    """A record's bundles as they are now, and what is found wrong with them."""

    folder: Path
    revisions: dict[str, str]
    manifests: dict[str, Manifest]
    altered: set[str] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)
    extra: set[str] = field(default_factory=set)
    exposed: set[str] = field(default_factory=set)

    def blame(self, run: str) -> None:
        """The bundle's manifest is not the one that was sealed."""
        (self.altered if run in self.revisions else self.missing).add(f"{run}/{MANIFEST}")

    def is_blamed(self, run: str) -> bool:
        """Whether the bundle's manifest is known to be altered."""
        return f"{run}/{MANIFEST}" in self.altered


def verify(record_id: str, evidence_dir: str | Path, expected_revision: str) -> Verification:
    """Checks all bundles of a record, and that one of them is the expected one.

    Args:
        record_id: the record.
        evidence_dir: the evidence folder.
        expected_revision: the record's evidenceRevision.

    Raises:
        InputError: evidence-dir-missing, evidence-dir-open, evidence-dir-unusable, evidence-name-invalid.
        ObservationError: evidence-unreadable.
    """
    folder = checked_directory(evidence_dir) / checked_name("record", record_id)
    if not folder.is_dir():
        return Verification(verified=False, missing=(record_id,))
    found = _loaded(folder, record_id)
    _check_chain(found, expected_revision)
    for run, manifest in found.manifests.items():
        if not found.is_blamed(run):
            _check_bundle(folder / run, manifest, found)
    _check_folder(found)
    return Verification(
        verified=expected_revision in found.revisions.values()
        and not (found.altered or found.missing or found.extra),
        altered=tuple(sorted(found.altered)),
        missing=tuple(sorted(found.missing)),
        extra=tuple(sorted(found.extra)),
        exposed=tuple(sorted(found.exposed)),
        revisions=tuple(sorted(found.revisions.items())),
    )


def _loaded(folder: Path, record_id: str) -> _Bundles:
    contents = sealed_manifests(folder)
    found = _Bundles(folder, {run: digest(content) for run, content in contents.items() if content}, {})
    for run, content in contents.items():
        manifest = parse_manifest(content)
        sound = manifest is not None and manifest.to_bytes() == content
        if manifest is None or not sound or (manifest.run, manifest.record) != (run, record_id):
            found.blame(run)
        else:
            found.manifests[run] = manifest
    return found


def _check_chain(found: _Bundles, expected: str) -> None:
    """Judges manifests by the one the record vouches for, and by those that it vouches for in turn."""
    if expected not in found.revisions.values():
        _blame_for_the_expected(found, expected)
    trusted = _trusted(found, expected)
    # What the record vouches for first; then onwards from there, in the order of sealing.
    order = sorted(found.manifests, key=lambda run: (run not in trusted, found.manifests[run].number))
    for run in order:
        _check_link(found, run, trusted)


def _check_link(found: _Bundles, run: str, trusted: set[str]) -> None:
    manifest = found.manifests[run]
    previous = manifest.previous
    before = found.manifests.get(previous.run) if previous else None
    if found.is_blamed(run) or (previous and found.is_blamed(previous.run)):
        return
    if previous and previous.run not in found.revisions:
        found.missing.add(previous.run)
        if run not in trusted:
            found.blame(run)
    elif previous and found.revisions[previous.run] != previous.manifest:
        doubtful = [one for one in (run, previous.run) if one not in trusted]
        for one in [one for one in doubtful if not _agrees(found, one, linked=False)] or doubtful:
            found.blame(one)
    elif manifest.number != (before.number + 1 if before else 0):
        found.blame(run)


def _blame_for_the_expected(found: _Bundles, expected: str) -> None:
    """Nothing has the expected digest: which manifest had it?"""
    chained = [manifest.previous for manifest in found.manifests.values() if manifest.previous]
    named = [previous.run for previous in chained if previous.manifest == expected]
    attested = {previous.run for previous in chained}
    latest = [run for run in found.manifests if run not in attested and not _agrees(found, run)]
    for run in named or latest:
        found.blame(run)
    if not named and not latest and not found.altered:
        found.missing.add(expected or MANIFEST)


def _agrees(found: _Bundles, run: str, *, linked: bool = True) -> bool:
    """Whether a manifest agrees with its files and (``linked``) with the bundle before it."""
    manifest = found.manifests[run]
    previous = manifest.previous
    before = found.manifests.get(previous.run) if previous else None
    number = before.number + 1 if before else 0
    chained = not linked or previous is None or found.revisions.get(previous.run) == previous.manifest
    trial = _Bundles(found.folder, found.revisions, found.manifests)
    _check_bundle(found.folder / run, manifest, trial)
    return manifest.number == number and chained and not (trial.altered or trial.missing or trial.extra)


def _trusted(found: _Bundles, expected: str) -> set[str]:
    trusted: set[str] = set()
    reached = {run for run in found.manifests if found.revisions[run] == expected}
    while reached:
        trusted |= reached
        links = [found.manifests[run].previous for run in reached]
        reached = {
            link.run
            for link in links
            if link and link.run in found.manifests and found.revisions[link.run] == link.manifest
        } - trusted
    return trusted


def _check_bundle(bundle: Path, manifest: Manifest, found: _Bundles) -> None:
    for name, sealed in manifest.files.items():
        path = bundle / name
        if Path(name).name != name or not path.exists():
            found.missing.add(f"{bundle.name}/{name}")
        elif path.is_symlink() or not path.is_file() or digest(read_regular(path)) != sealed:
            found.altered.add(f"{bundle.name}/{name}")
    for path in bundle.iterdir():
        if path.name != MANIFEST and path.name not in manifest.files:
            found.extra.add(f"{bundle.name}/{path.name}")


def _check_folder(found: _Bundles) -> None:
    for path in found.folder.iterdir():
        if not path.name.startswith(".") and (path.is_symlink() or not path.is_dir()):
            found.extra.add(path.name)
    for path in (found.folder, *found.folder.rglob("*")):
        if not path.is_symlink() and path.stat().st_mode & _OTHERS:
            found.exposed.add(str(path.relative_to(found.folder.parent)))
