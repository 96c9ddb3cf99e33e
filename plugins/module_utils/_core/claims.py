# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What each organization can claim of a pool, term by term ("Claims")."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .amount import UNLIMITED, Amount, Unlimited
from .entitlement import Entitlement, entitlement_of, total
from .holders import devices_or_unknown
from .ledger_view import LedgerView
from .pod_devices import counts_for_quota, names_resource
from .policy import Pool
from .quota_reading import QuotaReading, read_quota
from .record import Record
from .tenant_status import StatusReading, read_status
from .world import World


def shown(value: Amount | None) -> int | str:
    """A term as results show it: a number, ``unlimited``, or ``unknown``."""
    if value is None:
        return "unknown"
    return value if isinstance(value, int) else str(value)


@dataclass(frozen=True)
class OrganizationTerms:
    """One organization's terms; counts in devices, None where a term cannot be told.

    Attributes:
        organization: its name.
        present: whether the Organization exists.
        entitlement: what annotations and catalogue grant.
        quota: what its quota objects say.
        status: what its own status says.
        recounted: devices that its Pods use, by quota's own rule.
        records: its live records of the pool.
        moving: the one of them whose ticket holds the pool's lock, while it is pending or releasing.
    """

    organization: str
    present: bool
    entitlement: Entitlement = field(default_factory=Entitlement)
    quota: QuotaReading = field(default_factory=lambda: QuotaReading(0, measured=False))
    status: StatusReading = field(default_factory=lambda: StatusReading(present=False))
    recounted: int | None = 0
    records: tuple[Record, ...] | None = ()
    moving: Record | None = None

    def in_state(self, *states: str) -> int | None:
        """Devices of its records in the given states; None where the ledger cannot be read."""
        if self.records is None:
            return None
        return sum(record.spec.devices for record in self.records if record.state in states)

    @property
    def reserved(self) -> int | None:
        """Devices of pending, active and releasing records."""
        return self.in_state("pending", "active", "releasing")

    @property
    def covered(self) -> int | None:
        """The least of what reservation add-ons grant and what records hold.

        The record of the ticket that holds the lock counts as granted: while it is given back or canceled its
        add-on goes first and quota follows, and the devices must not be counted twice in between.
        """
        granted, reserved = self.entitlement.granted_total, self.reserved
        if reserved is None or (granted is None and reserved):
            return None
        moving = self.moving.spec.devices if self.moving else 0
        return min((granted or 0) + moving, reserved)

    @property
    def non_reserved(self) -> Amount | None:
        """What it can claim beside its records: max(ordinary, hard - covered, 0)."""
        hard, ordinary, covered = self.quota.hard, self.entitlement.ordinary, self.covered
        if isinstance(hard, Unlimited):
            return UNLIMITED
        if hard is None or ordinary is None or covered is None:
            return None
        return max(ordinary, hard - covered, 0)

    @property
    def claim(self) -> Amount | None:
        """All that it can claim."""
        reserved, rest = self.reserved, self.non_reserved
        if isinstance(rest, Unlimited):
            return UNLIMITED
        return None if reserved is None or rest is None else reserved + rest

    @property
    def matters(self) -> bool:
        """Whether it has anything of the pool, or something about it cannot be told."""
        values = (self.claim, self.quota.hard, self.entitlement.granted_total, self.recounted)
        return not self.present or any(value != 0 for value in values)

    def result(self) -> dict[str, Any]:
        """The organization as a module returns it."""
        return {
            "organization": self.organization,
            "present": self.present,
            "hard": shown(self.quota.hard),
            "used": shown(self.recounted),
            "ordinary": shown(self.entitlement.ordinary),
            "granted": shown(self.entitlement.granted_total),
            "reserved": shown(self.reserved),
            "covered": shown(self.covered),
            "non_reserved": shown(self.non_reserved),
            "claim": shown(self.claim),
            "source": self.quota.source or self.quota.unlimited_because or "unreadable",
            "subscription": self.entitlement.subscription,
        }


def usage_by_namespace(resource: str, world: World) -> dict[str, int | None]:
    """Devices that Pods use, by namespace, by quota's own rule; None where one cannot be read."""
    used: dict[str, int | None] = {}
    if world.now is None:
        return {pod.metadata.namespace: None for pod in world.pods}
    for pod in world.pods:
        if not counts_for_quota(pod, world.now) or not names_resource(pod, resource):
            continue
        namespace = pod.metadata.namespace
        used[namespace] = total((used.get(namespace, 0), devices_or_unknown(pod, resource)))
    return used


def _records_by_organization(records: Iterable[Record]) -> dict[str, tuple[Record, ...]]:
    found: dict[str, tuple[Record, ...]] = {}
    for record in records:
        if record.holds:
            name = record.spec.organization
            found[name] = (*found.get(name, ()), record)
    return found


def _moving(records: tuple[Record, ...], ticket: str) -> Record | None:
    """The pending or releasing record of the ticket that holds the pool's lock."""
    return next(
        (item for item in records if item.ticket == ticket and item.state in ("pending", "releasing")), None
    )


def _terms(
    name: str,
    profile_id: str,
    resource: str,
    world: World,
    *,
    reservation: frozenset[str],
    used: Mapping[str, int | None],
) -> OrganizationTerms:
    organization = world.tenancy.organizations[name]
    namespaces = {name, *world.tenancy.namespaces(name)}
    return OrganizationTerms(
        organization=name,
        present=True,
        entitlement=entitlement_of(organization, profile_id, world.catalogue, reservation),
        quota=read_quota(name, resource, world) if resource else QuotaReading(None),
        status=read_status(organization.status, profile_id),
        recounted=total(used.get(namespace, 0) for namespace in namespaces) if resource else None,
    )


def claims_of(
    profile_id: str, resource: str, pool: Pool, world: World, ledger: LedgerView
) -> tuple[OrganizationTerms, ...]:
    """The terms of every Organization, and of those that only a record names any more.

    Args:
        profile_id: the pool's profile.
        resource: its extended resource; empty where it cannot be told, and then quota is unknown.
        pool: the policy's pool, for its reservation add-ons.
        world: the observation.
        ledger: for the pool's records.
    """
    pool_records = ledger.of_pool(profile_id)
    by_organization = None if pool_records is None else _records_by_organization(pool_records)
    reservation = frozenset(pool.reservation_addons)
    used = usage_by_namespace(resource, world) if resource else {}
    ticket = ledger.lock_ticket(profile_id)
    found = []
    for name in sorted({*world.tenancy.organizations, *(by_organization or ())}):
        records = None if by_organization is None else by_organization.get(name, ())
        if name in world.tenancy.organizations:
            terms = _terms(name, profile_id, resource, world, reservation=reservation, used=used)
        else:
            terms = OrganizationTerms(name, present=False)
        found.append(replace(terms, records=records, moving=_moving(records or (), ticket)))
    return tuple(found)
