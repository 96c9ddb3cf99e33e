# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Verification names the file that was altered, and blames no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.evidence import seal
from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.evidence_verification import (
    verify,
)
from ansible_collections.gpuops.reservations.plugins.module_utils._core.errors import InputError

RECORD = "gpu-res-lab-1"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "evidence"
    path.mkdir(mode=0o700)
    return path


@pytest.fixture
def revisions(root: Path) -> list[str]:
    """Three bundles, in an order of sealing that is not the order of their names."""
    return [seal(root, RECORD, run, {"a.json": run.encode(), "b": b"zz"}) for run in ("m", "z", "c")]


def file_of(root: Path, name: str) -> Path:
    return root / RECORD / name


def test_whole_evidence_is_verified_by_any_revision_of_the_chain(root: Path, revisions: list[str]) -> None:
    for revision in revisions:
        found = verify(RECORD, root, revision)
        assert found.verified
        assert found.altered == found.missing == found.extra == found.exposed == ()
    assert dict(verify(RECORD, root, revisions[0]).revisions)["z"] == revisions[1]


def flips(content: bytes) -> list[bytes]:
    return [content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :] for at in range(len(content))]


@pytest.mark.parametrize("name", ["m/a.json", "z/b", "c/a.json"])
def test_one_changed_byte_of_any_file_is_named(root: Path, revisions: list[str], name: str) -> None:
    path = file_of(root, name)
    for altered in flips(path.read_bytes()):
        path.write_bytes(altered)
        for revision in revisions:
            found = verify(RECORD, root, revision)
            assert not found.verified
            assert found.altered == (name,)


@pytest.mark.parametrize("position", [0, 1, 2])
def test_one_changed_byte_of_a_manifest_that_the_record_vouches_for_is_named(
    root: Path, revisions: list[str], position: int
) -> None:
    """The manifest of the expected bundle, or of one that was sealed before it."""
    run = ("m", "z", "c")[position]
    path = file_of(root, f"{run}/manifest.json")
    for altered in flips(path.read_bytes()):
        path.write_bytes(altered)
        for revision in revisions[position:]:
            found = verify(RECORD, root, revision)
            assert not found.verified
            assert found.altered == (f"{run}/manifest.json",), altered


@pytest.mark.parametrize("position", [1, 2])
def test_one_changed_byte_of_a_later_manifest_is_never_passed(
    root: Path, revisions: list[str], position: int
) -> None:
    path = file_of(root, f"{('m', 'z', 'c')[position]}/manifest.json")
    for altered in flips(path.read_bytes()):
        path.write_bytes(altered)
        assert not verify(RECORD, root, revisions[0]).verified


@pytest.mark.parametrize("name", ["m/a.json", "z/manifest.json"])
def test_a_file_that_is_gone(root: Path, revisions: list[str], name: str) -> None:
    file_of(root, name).unlink()
    found = verify(RECORD, root, revisions[2])
    assert not found.verified
    assert name in found.missing
    assert found.altered == ()


def test_a_bundle_that_is_gone(root: Path, revisions: list[str]) -> None:
    for path in file_of(root, "z").iterdir():
        path.unlink()
    file_of(root, "z").rmdir()
    for revision in revisions:
        found = verify(RECORD, root, revision)
        assert not found.verified
        assert "z" in " ".join(found.missing)


def test_the_expected_bundle_that_is_gone_blames_no_other(root: Path, revisions: list[str]) -> None:
    for path in file_of(root, "c").iterdir():
        path.unlink()
    file_of(root, "c").rmdir()
    found = verify(RECORD, root, revisions[2])
    assert not found.verified
    assert found.missing == (revisions[2],)
    assert found.altered == ()


@pytest.mark.parametrize("name", ["z/more", "more"])
def test_a_file_that_nobody_sealed(root: Path, revisions: list[str], name: str) -> None:
    file_of(root, name).write_bytes(b"")
    found = verify(RECORD, root, revisions[2])
    assert not found.verified
    assert found.extra == (name,)


def test_a_link_in_place_of_a_file(root: Path, revisions: list[str]) -> None:
    path = file_of(root, "z/b")
    path.rename(root / "elsewhere")
    path.symlink_to(root / "elsewhere")
    assert verify(RECORD, root, revisions[2]).altered == ("z/b",)


def test_what_others_can_read_is_listed(root: Path, revisions: list[str]) -> None:
    file_of(root, "z/b").chmod(0o640)
    assert verify(RECORD, root, revisions[2]).exposed == (f"{RECORD}/z/b",)


@pytest.mark.parametrize("expected", ["", "sha256:" + "0" * 64, "x"])
def test_another_revision_is_never_verified(root: Path, revisions: list[str], expected: str) -> None:
    assert not verify(RECORD, root, expected).verified


def test_a_record_without_evidence(root: Path) -> None:
    found = verify(RECORD, root, "sha256:x")
    assert not found.verified
    assert found.missing == (RECORD,)


def test_leftovers_of_a_killed_run_are_no_evidence(root: Path, revisions: list[str]) -> None:
    (root / RECORD / ".sealing-x").mkdir(mode=0o700)
    assert verify(RECORD, root, revisions[2]).verified


def test_a_name_that_leads_elsewhere(root: Path) -> None:
    with pytest.raises(InputError):
        verify("../x", root, "sha256:x")
