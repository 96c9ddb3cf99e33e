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


def wanted_cap(
    record: Record, records: Iterable[Record], *, restore: bool, remembered: int | None
) -> int | None:
    """Devices that the project's cap has to allow; None for no cap on devices.

    With a reservation it is the sum of the project's reservations: no greater than the reserved count.
    Restoring puts back what was there before, or the sum of the others where there are any.

    Args:
        record: the ticket's record, with a project.
        records: all records of the cluster.
        restore: the record's own devices count no more.
        remembered: the cap that was there before the reservation.
    """
    spec = record.spec
    others = [
        other.spec.devices
        for other in records
        if other.id != record.id
        and other.state in ("active", "releasing")
        and (other.spec.organization, other.spec.project, other.spec.profile_id)
        == (spec.organization, spec.project, spec.profile_id)
    ]
    if not restore:
        return sum(others) + spec.devices
    return sum(others) if others else remembered


def cap_change(quota: Quota | None, namespace: str, key: str, wanted: int | None) -> CapChange:
    """The change that brings a cap's device key to the wanted number."""
    before = capped_devices(quota, namespace, key)
    hard = dict(quota.spec.hard) if quota else {}
    if wanted is None:
        hard.pop(key, None)
    elif before != wanted:
        hard[key] = str(wanted)
    return CapChange(namespace, key, before, wanted, hard)


def require_not_below_use(change: CapChange, used: int | None, project: str) -> None:
    """A cap is never set below what the project uses.

    Raises:
        PolicyBlocked: ``project-cap-below-use``, or ``project-use-unknown``.
    """
    if change.after is None:
        return
    if used is None:
        raise PolicyBlocked(
            "project-use-unknown",
            f"how many devices project {project} uses cannot be told, so its cap stays",
            next_action="see which Pod of the project has a quantity that is no whole number of devices",
        )
    if used > change.after:
        raise PolicyBlocked(
            "project-cap-below-use",
            f"project {project} uses {used} devices, and a cap of {change.after} would lie below that",
            next_action="ask the owner to stop VMs of the project until the cap fits, then run again",
        )
