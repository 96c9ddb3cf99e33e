# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which file below gpu-reservations/ is what, and which ones lie where no file may lie.

An overlooked record is an uncounted hold: what is not recognised in a folder of records stops everything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from .document import Problem, problem
from .fleet_files import FleetFile, FleetTree
from .names import (
    FREEZES,
    LEDGER_FOLDERS,
    LEDGER_ROOT,
    ORDERS,
    RECORD_PREFIX,
    RECORDS,
    label_problem,
    record_id_problem,
    require_cluster,
)
from .strict_yaml import YamlError, load

_SUFFIX: Final = ".yaml"
_ID_LINE: Final = re.compile(r"""^[ ]*id: ["']?([a-z0-9-]+)["']?[ ]*\r?$""", re.MULTILINE)


@dataclass(frozen=True)
class LedgerFiles:
    """The files of one cluster's ledger.

    Attributes:
        policy_path: where the policy lies.
        policy: the policy's file, None where there is none.
        records: record files, by their names' ids.
        freezes: freeze files, by profile.
        orders: order files, by ticket; not looked into.
        other_records: files in the records folders of other clusters.
        problems: files that lie where they may not.
    """

    policy_path: str
    policy: FleetFile | None
    records: Mapping[str, FleetFile]
    freezes: Mapping[str, FleetFile]
    orders: Mapping[str, FleetFile]
    other_records: tuple[FleetFile, ...]
    problems: tuple[Problem, ...]


def ledger_files(tree: FleetTree, cluster: str) -> LedgerFiles:
    """The files of a cluster's ledger, told apart by their paths.

    Args:
        tree: the fleet branch, with everything below gpu-reservations/.
        cluster: the folder below clusters/.

    Raises:
        InputError: not a cluster's name.
    """
    root = f"{LEDGER_ROOT}/{require_cluster(cluster)}/"
    policy_path = f"{root}policy{_SUFFIX}"
    policy: FleetFile | None = None
    inside: dict[str, dict[str, FleetFile]] = {folder: {} for folder in LEDGER_FOLDERS}
    others: list[FleetFile] = []
    problems: list[Problem] = []
    for file in tree.files:
        if not file.path.startswith(root):
            if _other_records(file.path):
                others.append(file)
            continue
        folder, slash, name = file.path[len(root) :].partition("/")
        if file.path == policy_path:
            policy = file
        elif slash and folder in LEDGER_FOLDERS:
            problems.extend(_sort_in(file, folder, name, inside[folder]))
        elif _other_records(file.path):
            others.append(file)
        else:
            problems.extend(_misplaced(file, folder))
    return LedgerFiles(
        policy_path, policy, inside[RECORDS], inside[FREEZES], inside[ORDERS], tuple(others), tuple(problems)
    )


def _sort_in(file: FleetFile, folder: str, name: str, found: dict[str, FleetFile]) -> list[Problem]:
    """A file of records/, freezes/ or orders/: among its like, ignored (dot files), or a problem."""
    if "/" not in name and name.startswith("."):
        return []
    stem = name.removesuffix(_SUFFIX)
    if name.endswith(_SUFFIX) and not _STEM_PROBLEM[folder](stem):
        found[stem] = file
        return []
    if folder == ORDERS:  # read by name only: nothing can be overlooked there
        return []
    what = "a reservation's record, <id>.yaml," if folder == RECORDS else "a pool's freeze, <profileId>.yaml,"
    return [problem(file.path, f"is not {what} and nothing else may lie here: move it away or rename it")]


def _any_name(_stem: str) -> str:
    return ""


_STEM_PROBLEM: Final[Mapping[str, Callable[[str], str]]] = {
    RECORDS: record_id_problem,
    FREEZES: label_problem,
    ORDERS: _any_name,
}


def _misplaced(file: FleetFile, entry: str) -> list[Problem]:
    if entry in LEDGER_FOLDERS:
        return [problem(file.path, "is no folder: a link or a file would hide what belongs in the folder")]
    if file.path.rpartition("/")[2].startswith(RECORD_PREFIX):
        return [
            problem(file.path, f"looks like a record, and lies outside {RECORDS}/: move it there or away")
        ]
    return []


def _other_records(path: str) -> bool:
    """Whether a path is ``gpu-reservations/<cluster>/records/<file>``, for a cluster of one or two levels."""
    parts = path.split("/")
    return (
        len(parts) in (4, 5)
        and parts[0] == LEDGER_ROOT
        and parts[-2] == RECORDS
        and RECORDS not in parts[1:-2]
    )


def claimed_id(file: FleetFile) -> str:
    """The id that a record's file claims: the one inside, or its name's where none can be read."""
    stem = file.path.rpartition("/")[2].removesuffix(_SUFFIX)
    if file.text is None or _ID_LINE.findall(file.text) == [stem]:
        return stem
    try:
        value = load(file.text).value
    except YamlError:
        return stem
    metadata = value.get("metadata") if isinstance(value, dict) else None
    identifier = metadata.get("id") if isinstance(metadata, dict) else None
    return identifier if isinstance(identifier, str) else stem
