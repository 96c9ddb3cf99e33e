# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files of the fleet repository as they were read: content, kind and revision, nothing interpreted."""

from __future__ import annotations

import base64
from typing import Literal

from .strict_model import StrictModel

Mode = Literal["100644", "100755", "120000", "160000"]


class FleetFile(StrictModel):
    """One entry of a commit's tree.

    Attributes:
        path: relative to the repository's root, with "/".
        mode: Git's mode; 120000 is a symbolic link, 160000 a submodule.
        text: the content where it is UTF-8 (a byte order mark stays in it), else None.
        base64: the content where it is not.
    """

    path: str
    mode: Mode = "100644"
    text: str | None = None
    base64: str | None = None

    @classmethod
    def of(cls, path: str, content: bytes, mode: Mode = "100644") -> FleetFile:
        """A file from its bytes."""
        try:
            return cls(path=path, mode=mode, text=content.decode("utf-8"))
        except UnicodeDecodeError:
            return cls(path=path, mode=mode, base64=base64.b64encode(content).decode("ascii"))

    @property
    def content(self) -> bytes:
        """The bytes as they stand in the repository."""
        if self.text is not None:
            return self.text.encode("utf-8")
        return base64.b64decode(self.base64 or "")


class FleetTree(StrictModel):
    """What was read of one branch at one commit.

    Attributes:
        branch: the branch's name.
        revision: the commit, 40 hexadecimal digits; empty where the branch does not exist.
        files: the files below the folders that were asked for, sorted by path.
    """

    branch: str
    revision: str = ""
    files: tuple[FleetFile, ...] = ()

    def file(self, path: str) -> FleetFile | None:
        """The file at exactly this path, or None."""
        return next((file for file in self.files if file.path == path), None)

    def below(self, folder: str) -> tuple[FleetFile, ...]:
        """The files below a folder, at any depth."""
        prefix = folder.rstrip("/") + "/"
        return tuple(file for file in self.files if file.path.startswith(prefix))
