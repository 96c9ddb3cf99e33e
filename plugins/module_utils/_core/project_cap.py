# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A project's device cap: what it has to be for a project-specific reservation, and what it was before.

Runbook headings: 4. Create the hold and entitlement, step 3; Release and cancellation, step 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from .amount import QuantityError, device_count
from .cluster_objects import Quota
from .errors import ObservationError, PolicyBlocked
from .record import Record

QUOTA_NAME: Final = "project-quota"


@dataclass(frozen=True)
class CapChange:
    """A change of the device key in a project's cap; other keys stay.

    Attributes:
        namespace: the project's backing namespace.
        key: ``requests.<resource>``.
        before: devices before; None where there is no cap on devices.
        after: devices afterwards; None to take the cap on devices away.
        hard: the cap's whole set of keys afterwards; empty where none is left.
    """

    namespace: str
    key: str
    before: int | None
    after: int | None
    hard: Mapping[str, Any]

    @property
    def changed(self) -> bool:
        """Whether the number differs."""
        return self.before != self.after


def cap_of(quotas: Iterable[Quota], namespace: str) -> Quota | None:
    """The project's own cap, where it has one."""
    return next(
        (
            quota
            for quota in quotas
            if quota.metadata.namespace == namespace and quota.metadata.name == QUOTA_NAME
        ),
        None,
    )


def capped_devices(quota: Quota | None, namespace: str, key: str) -> int | None:
    """Devices that a cap allows; None where it says nothing of them.

    Raises:
        ObservationError: ``project-cap-unreadable``.
    """
    if quota is None or key not in quota.spec.hard:
        return None
    try:
        return device_count(quota.spec.hard[key])
    except QuantityError as error:
        raise ObservationError(
            "project-cap-unreadable",
            f"resourcequota/{namespace}/{QUOTA_NAME}: spec.hard[{key}]: {error}",
            next_action="have the cap corrected through the product, then run again",
        ) from error


def wanted_cap(record: Record, records: Iterable[Record]) -> int:
    """Devices that the project's cap has to allow with a reservation: no more than the reserved count.

    Args:
        record: the ticket's record, with a project.
        records: all records of the cluster.
    """
    return _reserved(record, records) + record.spec.devices


def cap_afterwards(
    record: Record, records: Iterable[Record], notes: Mapping[str, int | None], present: int | None
) -> int | None:
    """Devices that the cap has to allow once the record's own count no more; None for no cap on devices.

    The sum of the project's other reservations; without any, what was there before. A cap that nobody
    noted was never changed for this record, so it stays.

    Args:
        record: the ticket's record, with a project.
        records: all records of the cluster.
        notes: the lock document's, by ticket: what was there before.
        present: the cap as it is.
    """
    everybody = tuple(records)
    reserved = _reserved(record, everybody)
    if reserved:
        return reserved
    return notes.get(record.ticket, present)


def cap_before(
    record: Record, records: Iterable[Record], notes: Mapping[str, int | None], present: int | None
) -> int | None:
    """The project's cap before any reservation: what an earlier one of it noted, else the present.

    Args:
        record: the ticket's record, with a project.
        records: all records of the cluster.
        notes: the lock document's, by ticket.
        present: the cap as it is.
    """
    noted = [other.ticket for other in _beside(record, records) if other.holds and other.ticket in notes]
    return notes[sorted(noted)[0]] if noted else present


def _beside(record: Record, records: Iterable[Record]) -> tuple[Record, ...]:
    """The other records of the same project and profile."""

    def place(other: Record) -> tuple[str, str, str]:
        return (other.spec.organization, other.spec.project, other.spec.profile_id)

    return tuple(other for other in records if other.id != record.id and place(other) == place(record))


def _reserved(record: Record, records: Iterable[Record]) -> int:
    counted = ("active", "releasing")
    return sum(other.spec.devices for other in _beside(record, records) if other.state in counted)


def cap_change(quota: Quota | None, namespace: str, key: str, wanted: int | None) -> CapChange:
    """The change that brings a cap's device key to the wanted number."""
    before = capped_devices(quota, namespace, key)
    hard = dict(quota.spec.hard) if quota else {}
    if wanted is None:
        hard.pop(key, None)
    elif before != wanted:
        hard[key] = str(wanted)
    return CapChange(namespace, key, before, wanted, hard)


def why_below_use(change: CapChange, used: int | None, project: str) -> str:
    """Why a cap may not be set: the project uses more, or how much cannot be told; empty where it may.

    Args:
        change: the cap's change.
        used: devices that the project uses; None where that cannot be told.
        project: its name.
    """
    if change.after is None:
        return ""
    if used is None:
        return f"how many devices project {project} uses cannot be told, so its cap stays"
    if used > change.after:
        return f"project {project} uses {used} devices, and a cap of {change.after} would lie below that"
    return ""


def require_not_below_use(change: CapChange, used: int | None, project: str) -> None:
    """A cap is never set below what the project uses.

    Raises:
        PolicyBlocked: ``project-cap-below-use``, or ``project-use-unknown``.
    """
    why = why_below_use(change, used, project)
    if why and used is None:
        raise PolicyBlocked(
            "project-use-unknown",
            why,
            next_action="see which Pod of the project has a quantity that is no whole number of devices",
        )
    if why:
        raise PolicyBlocked(
            "project-cap-below-use",
            why,
            next_action="ask the owner to stop VMs of the project until the cap fits, then run again",
        )
