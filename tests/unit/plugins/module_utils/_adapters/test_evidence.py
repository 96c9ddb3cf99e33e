# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Bundles are sealed whole, once, and chained."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters import callsites, evidence
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.evidence import seal
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.evidence_manifest import (
    digest,
    parse_manifest,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import (
    ConflictError,
    InputError,
    ObservationError,
)

RECORD = "gpu-res-lab-1"
FILES = {"snapshot.json": b"{}", "plan.json": b"[]"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "evidence"
    path.mkdir(mode=0o700)
    return path


def test_a_bundle_is_closed_to_others_and_its_revision_is_its_manifests_digest(root: Path) -> None:
    revision = seal(root, RECORD, "run1", FILES)
    bundle = root / RECORD / "run1"
    assert sorted(path.name for path in bundle.iterdir()) == ["manifest.json", "plan.json", "snapshot.json"]
    assert {path.stat().st_mode & 0o777 for path in bundle.iterdir()} == {0o600}
    assert {path.stat().st_mode & 0o777 for path in (bundle, bundle.parent)} == {0o700}
    content = (bundle / "manifest.json").read_bytes()
    assert revision == digest(content)
    manifest = parse_manifest(content)
    assert manifest is not None
    assert (manifest.number, manifest.previous) == (0, None)
    assert manifest.files == {"plan.json": digest(b"[]"), "snapshot.json": digest(b"{}")}


def test_bundles_of_a_record_are_chained_and_of_another_are_not(root: Path) -> None:
    first = seal(root, RECORD, "run-b", FILES)
    seal(root, RECORD, "run-a", FILES)
    seal(root, "gpu-res-other", "run-c", FILES)
    second = parse_manifest((root / RECORD / "run-a" / "manifest.json").read_bytes())
    assert second is not None
    assert second.previous is not None
    assert (second.number, second.previous.run, second.previous.manifest) == (1, "run-b", first)
    other = parse_manifest((root / "gpu-res-other" / "run-c" / "manifest.json").read_bytes())
    assert other is not None
    assert other.previous is None


def test_sealing_the_same_again_is_the_same_and_writes_nothing(root: Path) -> None:
    revision = seal(root, RECORD, "run1", FILES)
    seal(root, RECORD, "run2", FILES)
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*") if path.name != ".lock"}
    assert seal(root, RECORD, "run1", dict(reversed(FILES.items()))) == revision
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*") if path.name != ".lock"} == before


def test_a_sealed_bundle_is_never_changed(root: Path) -> None:
    seal(root, RECORD, "run1", FILES)
    with pytest.raises(ConflictError) as raised:
        seal(root, RECORD, "run1", {**FILES, "plan.json": b"[1]"})
    assert raised.value.code == "evidence-sealed"
    assert (root / RECORD / "run1" / "plan.json").read_bytes() == b"[]"


@pytest.mark.parametrize("name", ["manifest.json", "../x", "a/b", ".x", ""])
def test_names_of_files(root: Path, name: str) -> None:
    with pytest.raises(InputError) as raised:
        seal(root, RECORD, "run1", {name: b""})
    assert raised.value.code == "evidence-name-invalid"
    assert list(root.iterdir()) == []


@pytest.mark.parametrize(
    ("record", "run"), [("../x", "run"), (RECORD, "../run"), ("", "run"), (RECORD, ".run")]
)
def test_names_of_records_and_runs(root: Path, record: str, run: str) -> None:
    with pytest.raises(InputError):
        seal(root, record, run, FILES)
    assert not list(root.parent.glob("x"))


def test_a_bundle_needs_files(root: Path) -> None:
    with pytest.raises(InputError):
        seal(root, RECORD, "run1", {})


class Killed(BaseException):
    pass


@pytest.mark.parametrize("step", ["write_new", "sync_folder"])
@pytest.mark.parametrize("time", range(4))
def test_a_run_killed_while_it_seals_leaves_no_bundle_and_the_next_one_seals(
    root: Path, monkeypatch: pytest.MonkeyPatch, step: str, time: int
) -> None:
    calls: list[int] = []
    original = getattr(evidence, step)

    def killing(*arguments: object) -> None:
        calls.append(1)
        if len(calls) > time:
            raise Killed
        original(*arguments)

    monkeypatch.setattr(evidence, step, killing)
    killed = True
    try:
        seal(root, RECORD, "run1", FILES)
        killed = False
    except Killed:
        pass
    bundle = root / RECORD / "run1"
    if bundle.exists():
        assert sorted(path.name for path in bundle.iterdir()) == [
            "manifest.json",
            "plan.json",
            "snapshot.json",
        ]
    else:
        assert killed
    monkeypatch.undo()
    revision = seal(root, RECORD, "run1", FILES)
    assert revision == digest((bundle / "manifest.json").read_bytes())
    assert [path.name for path in (root / RECORD).iterdir() if path.name.startswith(".sealing")] == []


def test_a_chain_is_not_continued_from_an_altered_manifest(root: Path) -> None:
    seal(root, RECORD, "run1", FILES)
    manifest = root / RECORD / "run1" / "manifest.json"
    manifest.write_bytes(b"{}")
    with pytest.raises(ObservationError) as raised:
        seal(root, RECORD, "run2", FILES)
    assert raised.value.code == "evidence-chain-broken"
    assert "run1/manifest.json" in raised.value.message
    assert not (root / RECORD / "run2").exists()


def test_runs_that_seal_at_once_make_one_chain(root: Path) -> None:
    threads = [threading.Thread(target=seal, args=(root, RECORD, f"run{n}", FILES)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [parse_manifest(path.read_bytes()) for path in root.glob(f"{RECORD}/*/manifest.json")]
    assert sorted(manifest.number for manifest in found if manifest) == [0, 1, 2, 3, 4, 5]


def test_sealing_announces_itself(root: Path) -> None:
    class Recording:
        sites: list[str] = []  # noqa: RUF012

        def reached(self, site: str) -> None:
            self.sites.append(site)

    with callsites.watched_by(Recording()):
        seal(root, RECORD, "run1", FILES)
    assert Recording.sites == [f"evidence seal {RECORD}", f"evidence seal {RECORD} answered"]
