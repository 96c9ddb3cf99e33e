# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the built control plane depends on, as one word."""

from __future__ import annotations

import hashlib
import platform
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from .errors import LabError


def build_key(sources: Path, settings: Sequence[str]) -> str:
    """A hash of go.mod, go.sum, the Go sources beside them, the settings and the kind of machine."""
    digest = hashlib.sha256()
    for word in (*settings, sys.platform, platform.machine()):
        digest.update(word.encode() + b"\0")
    for path in sorted([*sources.glob("*.go"), sources / "go.mod", sources / "go.sum"]):
        content = path.read_bytes()
        digest.update(f"{path.name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:20]


def kubernetes_version(sources: Path) -> str:
    """The release that go.mod requires, such as v1.36.3."""
    found = re.search(r"^\s*k8s\.io/kubernetes (v\S+)$", (sources / "go.mod").read_text(), re.MULTILINE)
    if found is None:
        raise LabError(
            f"{sources / 'go.mod'} requires no k8s.io/kubernetes", "take the file from a release again"
        )
    return found[1]
