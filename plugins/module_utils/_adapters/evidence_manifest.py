# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The manifest of an evidence bundle: digests of its files and of the manifest before it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Final, Literal

from .._core.strict_model import StrictModel, ValidationError

MANIFEST: Final = "manifest.json"
FORMAT: Final = "gpuops.reservations/evidence/v1"


class PreviousBundle(StrictModel):
    """The bundle of the same record that was sealed before."""

    run: str
    manifest: str


class Manifest(StrictModel):
    """What a bundle holds.

    Attributes:
        format: always FORMAT.
        record: the record's id.
        run: the run that sealed it, which names the bundle's folder.
        number: how many bundles of this record were sealed before.
        previous: the latest of them, by the digest of its manifest.
        files: SHA-256 by file name.
    """

    format: Literal["gpuops.reservations/evidence/v1"]
    record: str
    run: str
    number: int
    previous: PreviousBundle | None
    files: dict[str, str]

    def to_bytes(self) -> bytes:
        """The manifest's one spelling, which its digest is of."""
        return (json.dumps(self.model_dump(), indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()


def digest(content: bytes) -> str:
    """``sha256:`` and 64 hexadecimal digits."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def digests(files: Mapping[str, bytes]) -> dict[str, str]:
    """The digest of each file."""
    return {name: digest(content) for name, content in sorted(files.items())}


def parse_manifest(content: bytes) -> Manifest | None:
    """The manifest, or None where these bytes are none."""
    try:
        return Manifest.model_validate_json(content)
    except ValidationError:
        return None
