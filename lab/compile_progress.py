# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a long compilation prints while it runs."""

from __future__ import annotations


def minutes(seconds: float) -> str:
    """Seconds as words: ``45 s``, ``3 min 05 s``."""
    whole, rest = divmod(int(seconds), 60)
    return f"{whole} min {rest:02} s" if whole else f"{rest} s"


class Compilation:
    """Counts what ``go build -v`` says, line by line; keeps what is no package for a failure's text."""

    def __init__(self, packages: int) -> None:
        self._packages = packages
        self._compiled = 0
        self._downloaded = 0
        self._other: list[str] = []

    def line(self, text: str) -> None:
        """Take one line of the compiler's standard error."""
        text = text.rstrip()
        if text.startswith("go: downloading "):
            self._downloaded += 1
        elif text and " " not in text and not text.startswith("#"):
            self._compiled += 1
        elif text:
            self._other.append(text)

    def summary(self, seconds: float) -> str:
        """Where the compilation stands after so many seconds."""
        if not self._compiled:
            return f"{minutes(seconds)}: {self._downloaded} modules downloaded"
        return f"{minutes(seconds)}: {self._compiled} of at most {self._packages} packages compiled"

    def complaints(self) -> str:
        """The end of what is neither package nor download."""
        return "\n".join(self._other[-40:])
