# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Progress of the long compilation."""

from __future__ import annotations

import pytest

from lab.compile_progress import Compilation, minutes


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0 s"), (59.9, "59 s"), (60, "1 min 00 s"), (785, "13 min 05 s")]
)
def test_minutes(seconds: float, words: str) -> None:
    assert minutes(seconds) == words


def test_downloads_are_said_before_packages() -> None:
    progress = Compilation(2000)
    progress.line("go: downloading k8s.io/kubernetes v1.36.3\n")
    assert progress.summary(15) == "15 s: 1 modules downloaded"
    progress.line("k8s.io/api/core/v1\n")
    progress.line("internal/abi\n")
    assert progress.summary(75) == "1 min 15 s: 2 of at most 2000 packages compiled"


def test_errors_are_kept_and_packages_are_not() -> None:
    progress = Compilation(10)
    for line in ("k8s.io/api/core/v1", "# gpuops/lab/controlplane", "./main.go:3:1: syntax error", ""):
        progress.line(line + "\n")
    assert progress.complaints() == "# gpuops/lab/controlplane\n./main.go:3:1: syntax error"
