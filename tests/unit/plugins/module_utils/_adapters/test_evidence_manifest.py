# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Manifests have one spelling and refuse what is none."""

from __future__ import annotations

import hashlib

import pytest

from ansible_collections.gpuops.reservations.plugins.module_utils._adapters.evidence_manifest import (
    FORMAT,
    Manifest,
    PreviousBundle,
    digest,
    digests,
    parse_manifest,
)

MANIFEST = Manifest(
    format=FORMAT,
    record="gpu-res-lab-1",
    run="run1",
    number=1,
    previous=PreviousBundle(run="run0", manifest=digest(b"x")),
    files={"a": digest(b"a")},
)


def test_digests_name_their_algorithm() -> None:
    assert digest(b"a") == "sha256:" + hashlib.sha256(b"a").hexdigest()
    assert list(digests({"b": b"1", "a": b"2"})) == ["a", "b"]


def test_a_manifest_reads_back_to_the_same_bytes() -> None:
    parsed = parse_manifest(MANIFEST.to_bytes())
    assert parsed == MANIFEST
    assert parsed is not None
    assert parsed.to_bytes() == MANIFEST.to_bytes()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        MANIFEST.to_bytes()[:-5],
        MANIFEST.to_bytes().replace(b"evidence/v1", b"evidence/v2"),
        MANIFEST.to_bytes().replace(b'"number": 1', b'"number": "1"'),
        MANIFEST.to_bytes().replace(b'"number": 1', b'"number": 1, "more": 1'),
    ],
)
def test_what_is_no_manifest(content: bytes) -> None:
    assert parse_manifest(content) is None
