# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The capacity ledger of a cluster: read as a whole, or not at all, with every problem that it has."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .document import DUPLICATE, Problem, Reading, invalid, problem, read
from .fleet_files import FleetFile, FleetTree
from .freeze import Freeze
from .ledger_layout import LedgerFiles, claimed_id, ledger_files
from .order import Order, resolve_order
from .policy import Policy
from .record import Record, record_path
from .record_change import change_problems


@dataclass(frozen=True)
class Ledger:
    """A valid ledger.

    Attributes:
        cluster: the folder below clusters/.
        revision: the fleet branch's commit that it was read from.
        policy: the policy.
        records: by id, in any state, sorted.
        freezes: by profile, ended ones among them.
        orders: the files, by ticket; read when asked for.
    """

    cluster: str
    revision: str
    policy: Policy
    records: Mapping[str, Record]
    freezes: Mapping[str, Freeze]
    orders: Mapping[str, FleetFile]

    def frozen(self, profile: str) -> bool:
        """Whether a pool's sales are frozen: a freeze is there, and nobody thawed it."""
        freeze = self.freezes.get(profile)
        return freeze is not None and freeze.frozen

    @property
    def any_frozen(self) -> bool:
        """Whether the sales of any pool are frozen."""
        return any(freeze.frozen for freeze in self.freezes.values())

    def of_pool(self, profile: str) -> tuple[Record, ...]:
        """The records of a pool, in any state."""
        return tuple(record for record in self.records.values() if record.spec.profile_id == profile)

    def of_organization(self, organization: str) -> tuple[Record, ...]:
        """The records of an organization, in any state."""
        return tuple(record for record in self.records.values() if record.spec.organization == organization)

    def order(self, ticket: str, survey: Mapping[str, Any] | None = None) -> Order:
        """The order of a ticket, from its file, survey variables, or both where they agree.

        Raises:
            InputError: see :func:`resolve_order`.
            ObservationError: code ``ledger-invalid``: the file is invalid.
        """
        return resolve_order(ticket, self.orders, survey or {})


@dataclass(frozen=True)
class LedgerReading:
    """What a reading found.

    Attributes:
        ledger: None as soon as there is any problem.
        problems: all problems of all files, sorted by file and place.
        policy: None where it is missing or invalid.
        records: None where a record, or a file beside the records, is invalid.
        freezes: None where a freeze, or a file beside the freezes, is invalid.
    """

    ledger: Ledger | None
    problems: tuple[Problem, ...]
    policy: Policy | None
    records: Mapping[str, Record] | None
    freezes: Mapping[str, Freeze] | None


def read_ledger(tree: FleetTree, cluster: str) -> LedgerReading:
    """The ledger of a cluster, or everything that is wrong with it.

    Args:
        tree: the fleet branch, with everything below gpu-reservations/ (other clusters' records are
            looked at for duplicate ids; their other faults are their own).
        cluster: the folder below clusters/.

    Raises:
        InputError: not a cluster's name.
    """
    files = ledger_files(tree, cluster)
    policy, policy_problems = _policy(files, cluster)
    records, record_problems = _records(files)
    freezes, freeze_problems = _freezes(files)
    found = (*files.problems, *policy_problems, *record_problems, *freeze_problems)
    problems = tuple(sorted(found, key=lambda one: (one.file, one.line, one.column, one.field)))
    ledger = None
    if policy is not None and not problems:
        ledger = Ledger(cluster, tree.revision, policy, records, freezes, files.orders)
    stray_free = not files.problems
    return LedgerReading(
        ledger,
        problems,
        policy,
        records if stray_free and not record_problems else None,
        freezes if stray_free and not freeze_problems else None,
    )


def load_ledger(tree: FleetTree, cluster: str) -> Ledger:
    """The ledger of a cluster.

    Raises:
        ObservationError: ``ledger-invalid``, or ``duplicate-reservation-id`` where that is all that is
            wrong; the details list every problem: file, field, line, column, message, id.
        InputError: not a cluster's name.
    """
    reading = read_ledger(tree, cluster)
    if reading.ledger is None:
        raise invalid(reading.problems)
    return reading.ledger


def load_policy(tree: FleetTree, cluster: str) -> Policy:
    """A cluster's policy alone, which says what cluster is meant; the rest of the ledger is not judged.

    Raises:
        ObservationError: as :func:`load_ledger`, with every problem of the ledger, where the policy has one.
        InputError: not a cluster's name.
    """
    policy, problems = _policy(ledger_files(tree, cluster), cluster)
    if policy is None or problems:
        raise invalid(read_ledger(tree, cluster).problems)
    return policy


def history_problems(
    cluster: str, before: Mapping[str, Record], after: Mapping[str, Record]
) -> tuple[Problem, ...]:
    """What is wrong with the way from one version of the ledger to a later one: records go on, and stay.

    Args:
        cluster: the folder below clusters/.
        before: the earlier records, by id.
        after: the later ones.
    """
    found: list[Problem] = []
    for identifier, record in before.items():
        path = record_path(cluster, identifier)
        later = after.get(identifier)
        if later is None:
            found.append(problem(path, "was deleted: a record is never deleted, restore it"))
        else:
            found.extend(change_problems(path, record, later))
    return tuple(found)


def _policy(files: LedgerFiles, cluster: str) -> tuple[Policy | None, tuple[Problem, ...]]:
    if files.policy is None:
        return None, (problem(files.policy_path, "is missing: a cluster's policy has to be reviewed first"),)
    reading = read(Policy, files.policy)
    policy = reading.document
    if policy is not None and policy.cluster != cluster:
        message = f"is {policy.cluster!r}, but the file lies in the folder of {cluster!r}: let them agree"
        return None, (problem(files.policy_path, message, field="metadata.cluster"),)
    return policy, reading.problems


def _freezes(files: LedgerFiles) -> tuple[dict[str, Freeze], tuple[Problem, ...]]:
    freezes: dict[str, Freeze] = {}
    problems: list[Problem] = []
    for profile, file in sorted(files.freezes.items()):
        reading = read(Freeze, file)
        problems.extend(reading.problems)
        if reading.document is not None:
            freezes[profile] = reading.document
    return freezes, tuple(problems)


def _records(files: LedgerFiles) -> tuple[dict[str, Record], tuple[Problem, ...]]:
    records: dict[str, Record] = {}
    problems: list[Problem] = []
    claims: dict[str, list[str]] = {}
    misnamed: list[tuple[str, FleetFile]] = []
    for stem, file in sorted(files.records.items()):
        reading = _record(file)
        problems.extend(reading.problems)
        identifier = reading.document.id if reading.document is not None else claimed_id(file)
        claims.setdefault(identifier, []).append(file.path)
        if identifier != stem:
            misnamed.append((identifier, file))
        elif reading.document is not None:
            records[stem] = reading.document
    duplicates = _duplicates(claims, files.other_records)
    problems.extend(duplicates.values())
    for identifier, file in misnamed:
        if identifier not in duplicates:
            message = f"is {identifier!r}, which is not the file's name: let them agree"
            problems.append(problem(file.path, message, field="metadata.id"))
    return records, tuple(problems)


@functools.lru_cache(maxsize=1 << 15)
def _record(file: FleetFile) -> Reading[Record]:
    """One record. A run that waits reads the same thousands of files again and again; they parse once."""
    return read(Record, file)


def _duplicates(claims: Mapping[str, list[str]], others: Iterable[FleetFile]) -> dict[str, Problem]:
    """Ids of this cluster that stand in several files, over all clusters: the runbook's ticket is one."""
    places = {identifier: list(paths) for identifier, paths in claims.items()}
    for file in others:
        identifier = claimed_id(file)
        if identifier in places:
            places[identifier].append(file.path)
    return {
        identifier: problem(
            claims[identifier][0],
            f"the id {identifier} stands in {' and '.join(paths)}: a ticket has one record",
            field="metadata.id",
            id=DUPLICATE,
        )
        for identifier, paths in places.items()
        if len(paths) > 1
    }
