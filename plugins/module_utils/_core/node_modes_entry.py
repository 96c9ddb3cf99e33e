# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A node's entry in GPU_NODE_MODES of cluster-config.env, read and moved in place.

The installer writes node rules from that list, so it has to say what the node's rule says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

KEY: Final = "GPU_NODE_MODES"
# Read as cluster_config reads settings: a byte order mark and "export" may stand before the key.
_LINE: Final = re.compile(rf"\ufeff?[ \t]*(?:export[ \t]+)?{KEY}[ \t]*=(?P<value>[^\r]*)")
_COMMENT: Final = re.compile(r"[ \t]#.*")
_MODE: Final = re.compile(r"[A-Za-z0-9-]+")
_NAME_CHARACTERS: Final = r"[A-Za-z0-9.-]"


class EntryUnclear(ValueError):
    """The list does not say one thing about the node."""


@dataclass(frozen=True)
class ModeEntry:
    """What the list says about a node.

    Attributes:
        mode: the mode.
        start: index of the mode's first character in the file.
        end: index after its last.
    """

    mode: str
    start: int
    end: int


def node_entry(text: str, node: str) -> ModeEntry | None:
    """The node's entry in the last GPU_NODE_MODES line, which is the one that counts.

    Args:
        text: cluster-config.env.
        node: the node's name.

    Returns:
        The entry, None where the node has none.

    Raises:
        EntryUnclear: several entries for the node, one without a readable mode, or a list that names the
            node in another way than ``node=mode,…`` does.
    """
    value, offset, start = "", 0, 0
    for line in text.split("\n"):
        match = _LINE.match(line)
        if match:
            value, offset = _COMMENT.sub("", match["value"]), start + match.start("value")
        start += len(line) + 1
    found = _entries(value, offset, node)
    named = len(re.findall(rf"(?<!{_NAME_CHARACTERS}){re.escape(node)}(?!{_NAME_CHARACTERS})", value))
    if len(found) > 1:
        raise EntryUnclear(f"{KEY} names {node} {len(found)} times")
    if named > len(found):
        raise EntryUnclear(f"{KEY} names {node} otherwise than as node=mode, with commas between entries")
    return found[0] if found else None


def _entries(value: str, offset: int, node: str) -> list[ModeEntry]:
    found: list[ModeEntry] = []
    for part in value.split(","):
        name, separator, mode = part.partition("=")
        if name.strip(" \t\r\n\"'") == node:
            word = _MODE.search(mode)
            around = mode.strip(" \t\r\n\"'")
            if not separator or word is None or word.group() != around:
                raise EntryUnclear(f"{KEY} has no readable mode for {node}: {part.strip()[:80]!r}")
            at = offset + len(name) + len(separator)
            found.append(ModeEntry(word.group(), at + word.start(), at + word.end()))
        offset += len(part) + 1
    return found


def moved_entry(text: str, node: str, to_mode: str) -> str:
    """The file's text with the node's entry moved; the same text where the node has none.

    Raises:
        EntryUnclear: as :func:`node_entry`.
    """
    entry = node_entry(text, node)
    if entry is None:
        return text
    return text[: entry.start] + to_mode + text[entry.end :]
