# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""An organization's hard quota and use of one resource, as its quota objects say ("Claims")."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .amount import UNLIMITED, Amount, QuantityError, device_count
from .cluster_objects import Quota
from .world import World


@dataclass(frozen=True)
class QuotaReading:
    """What the quota objects say; counts in devices.

    Attributes:
        hard: the limit; None where a quantity cannot be read.
        in_force: the limit that the status reports, where it reports one.
        used: what the status counts; None where it reports nothing.
        source: which objects, for messages.
        problems: what cannot be read, each naming object and field.
        unlimited_because: why there is no limit, where there is none.
        measured: whether any object counts use.
    """

    hard: Amount | None
    in_force: int | None = None
    used: int | None = None
    source: str = ""
    problems: tuple[str, ...] = ()
    unlimited_because: str = ""
    measured: bool = True


@dataclass(frozen=True)
class _Limit:
    """The least limit over some quota objects that name the key."""

    name: str
    hard: int | None
    in_force: int | None
    used: int | None
    problems: tuple[str, ...]


def _name(quota: Quota) -> str:
    return f"{quota.metadata.namespace}/{quota.metadata.name}"


def _count(value: object, where: str, problems: list[str]) -> int | None:
    try:
        return device_count(value)
    except QuantityError as error:
        problems.append(f"{where}: {error}")
        return None


def _limit(quotas: Iterable[Quota], key: str) -> _Limit | None:
    """The object with the least limit for the key; None where no object names it."""
    problems: list[str] = []
    readings: list[tuple[int, Quota]] = []
    for quota in quotas:
        if key not in quota.spec.hard:
            continue
        hard = _count(quota.spec.hard[key], f"{_name(quota)} spec.hard[{key}]", problems)
        if hard is not None:
            readings.append((hard, quota))
    if problems:
        return _Limit("", None, None, None, tuple(problems))
    if not readings:
        return None
    hard, quota = min(readings, key=lambda item: item[0])
    status = quota.status
    in_force = used = None
    if status.hard is not None and key in status.hard:
        in_force = _count(status.hard[key], f"{_name(quota)} status.hard[{key}]", problems)
    if status.used is not None and key in status.used:
        used = _count(status.used[key], f"{_name(quota)} status.used[{key}]", problems)
    return _Limit(_name(quota), hard, in_force, used, tuple(problems))


def _from_projects(organization: str, key: str, world: World) -> QuotaReading:
    """No HRQ limits it: the sum of its projects' quotas, where every one of them has the key."""
    limits = []
    for namespace in world.tenancy.namespaces(organization):
        if not namespace:
            return QuotaReading(
                UNLIMITED, unlimited_because="a project of it has no namespace yet", measured=False
            )
        limit = _limit(world.quotas.get(namespace, ()), key)
        if limit is None:
            because = f"no HRQ in {organization} and no ResourceQuota in {namespace} has the key {key}"
            return QuotaReading(UNLIMITED, unlimited_because=because, measured=False)
        limits.append(limit)
    problems = tuple(problem for limit in limits for problem in limit.problems)
    if any(limit.hard is None for limit in limits):
        return QuotaReading(None, problems=problems)
    hard = sum(limit.hard or 0 for limit in limits)
    differs = any(limit.in_force is not None and limit.in_force != limit.hard for limit in limits)
    in_force = sum((limit.in_force if limit.in_force is not None else limit.hard) or 0 for limit in limits)
    used = None if any(limit.used is None for limit in limits) else sum(limit.used or 0 for limit in limits)
    return QuotaReading(
        hard=hard,
        in_force=in_force if differs else None,
        used=used,
        source="project quotas" if limits else "no HRQ, no projects",
        problems=problems,
        measured=bool(limits),
    )


def read_quota(organization: str, resource: str, world: World) -> QuotaReading:
    """Hard quota and use of one organization.

    The least limit over the HRQs of its own namespace. Without an HRQ or the key there is no limit,
    unless every project namespace has a ResourceQuota with the key.

    Args:
        organization: its name, which is its namespace.
        resource: the pool's extended resource.
        world: the observation.
    """
    key = f"requests.{resource}"
    limit = _limit(world.hrqs.get(organization, ()), key)
    if limit is None:
        return _from_projects(organization, key, world)
    return QuotaReading(limit.hard, limit.in_force, limit.used, f"HRQ {limit.name}", limit.problems)
