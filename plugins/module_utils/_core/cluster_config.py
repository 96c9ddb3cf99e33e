# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""cluster-config.env of a fleet: settings read as text, and one of them set with every other byte kept."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .errors import ObservationError
from .fleet_files import FleetFile
from .names import require_cluster

_LINE: Final = re.compile(
    rb"(?P<head>[ \t]*(?:export[ \t]+)?(?P<key>[^=\s#][^=\s]*))(?P<gap>[ \t]*)=(?P<value>[^\n]*?)\r?\Z"
)
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_QUOTES: Final = (b'"', b"'")


def config_path(cluster: str) -> str:
    """Where a cluster's settings lie in the fleet repository.

    Raises:
        InputError: not a cluster's name.
    """
    return f"clusters/{require_cluster(cluster)}/cluster-config.env"


@dataclass(frozen=True)
class _Setting:
    """One line that sets a key: where the gap after the key begins, and where the value ends."""

    key: str
    value: bytes
    start: int
    end: int


def setting(file: FleetFile, key: str) -> str | None:
    """A setting's text; the last of several lines counts, one pair of matching quotes is taken off.

    Nothing else is interpreted: spaces around a value and what follows a number sign belong to it.

    Args:
        file: cluster-config.env.
        key: the setting.

    Returns:
        None where no line sets it.

    Raises:
        ObservationError: ``cluster-config-unreadable``: not UTF-8 text, or a link.
    """
    _require_readable(file)
    values = [line.value for line in _settings(file.content) if line.key == key]
    return unquoted(values[-1].decode("utf-8")) if values else None


def with_setting(file: FleetFile, key: str, value: str) -> FleetFile:
    """The file with a setting changed: every line that sets it, in its quotes; all other bytes stay.

    Where no line sets it, one is added at the end.

    Args:
        file: cluster-config.env.
        key: the setting.
        value: plain text, without quotes, spaces or line ends.

    Raises:
        ObservationError: ``cluster-config-unreadable``: not UTF-8 text, or a link.
    """
    _require_readable(file)
    content = file.content
    lines = [line for line in _settings(content) if line.key == key]
    for line in reversed(lines):
        if line.value == _requoted(line.value, value):
            continue
        content = content[: line.start] + b"=" + _requoted(line.value, value) + content[line.end :]
    if not lines:
        line_end = b"\r\n" if b"\r\n" in content else b"\n"
        between = b"" if not content or content.endswith(b"\n") else line_end
        content += between + f"{key}={value}".encode() + line_end
    return FleetFile.of(file.path, content, file.mode)


def unquoted(value: str) -> str:
    """A value without one pair of matching quotes."""
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value


def _requoted(before: bytes, value: str) -> bytes:
    quote = before[:1]
    quoted = len(before) > 1 and quote in _QUOTES and before.endswith(quote)
    return quote + value.encode() + quote if quoted else value.encode()


def _require_readable(file: FleetFile) -> None:
    why = ""
    if file.mode not in ("100644", "100755"):
        why = "is a link, not a file"
    elif file.text is None:
        why = "is not UTF-8 text"
    if why:
        raise ObservationError(
            "cluster-config-unreadable",
            f"{file.path} {why}",
            next_action="restore the file in the fleet repository, then run again",
        )


def _settings(content: bytes) -> list[_Setting]:
    found = []
    offset = len(_BYTE_ORDER_MARK) if content.startswith(_BYTE_ORDER_MARK) else 0
    for line in content[offset:].split(b"\n"):
        match = _LINE.match(line)
        if match:
            # A space before the equals sign sets nothing that a reader can rely on: it stays in the value.
            value = match["gap"] + match["value"]
            start, end = offset + match.end("head"), offset + match.end("value")
            found.append(_Setting(match["key"].decode("utf-8"), value, start, end))
        offset += len(line) + 1
    return found
