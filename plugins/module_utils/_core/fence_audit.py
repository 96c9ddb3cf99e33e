# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the fences stand as locks and freezes want them ("Locks and gates")."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Final

from . import finding_ids as ids
from .fence import CREATION, ENTITLEMENT, parameter_patch, wanted_parameters
from .fence_objects import CREATION_FENCE, ENTITLEMENT_FENCE, PARAMETERS
from .finding import Finding
from .instants import instant
from .profile_fit import profile_fit
from .reservation_pools import HOLDER
from .world import World

FOLLOWS_WITHIN: Final = timedelta(minutes=1)
"""How long after a lock's step began its fences may still be on their way: they are one write."""

_POLICIES: Final = {CREATION: CREATION_FENCE, ENTITLEMENT: ENTITLEMENT_FENCE}
_INSTALL: Final = "run playbooks/install.yml as an administrator"


def fence_findings(world: World, pools: Iterable[str]) -> tuple[Finding, ...]:
    """Fences that are down while a pool is locked or frozen, and fences that stand for nobody.

    Nothing is said where the policy uses no fences, or where policy, lock or freezes cannot be read:
    whether a fence is needed is not known then, and the document that is invalid is a finding of its own.

    Args:
        world: the observation.
        pools: the pools that are audited.
    """
    ledger = world.ledger
    if ledger.policy is None or ledger.lock is None or ledger.freezes is None:
        return ()
    if ledger.policy.spec.creation_control == "gate":
        return ()
    config = world.snapshot.observed.capacity_fence
    data = config.data if config is not None else {}
    wanted = wanted_parameters(ledger, ledger.lock, _resources(world), data, {})
    named = sorted(set(pools) & set(ledger.policy.pools))
    fenced = [pool for pool in named if ENTITLEMENT + pool in wanted]
    needed = [pool for pool in fenced if ledger.frozen(pool) or not _takes_nodes(pool, world)]
    found = [finding for pool in needed for finding in _of_pool(pool, data, wanted, world)]
    found += [_standing(pool) for pool in named if pool not in fenced and _stands(pool, data)]
    broken = _not_installed(world) if not needed else ""
    return (*found, _missing(broken)) if broken else tuple(found)


def _takes_nodes(pool: str, world: World) -> bool:
    """Whether a node reservation has the pool: it takes nodes away for seconds, and raises no fence."""
    return world.ledger.lock_ticket(pool).startswith(HOLDER)


def _resources(world: World) -> dict[str, str]:
    """The device resource of each pool that has one."""
    policy, kubevirts = world.ledger.policy, world.snapshot.observed.kubevirts
    names = policy.pools if policy else ()
    found = {name: profile_fit(name, world.catalogue, kubevirts).resource for name in names}
    return {name: resource for name, resource in found.items() if resource}


def _of_pool(
    pool: str, data: Mapping[str, str], wanted: Mapping[str, str], world: World
) -> Iterable[Finding]:
    """What of a pool's two fences does not refuse what it should."""
    faults = {}
    differing = parameter_patch(data, wanted)
    for kind, policy in _POLICIES.items():
        key = kind + pool
        fault = world.snapshot.observed.fences.problem(policy)
        if world.snapshot.observed.capacity_fence is None:
            fault = f"configmap/{PARAMETERS} does not exist"
        elif key not in wanted:
            fault = "the catalogue has no device for its profile, so it cannot be raised"
        elif key in differing:
            stands = data.get(key)
            fault = f"{key} is not in configmap/{PARAMETERS}" if stands is None else f"{key} is {stands!r}"
        if fault:
            faults[policy.removeprefix("gpuops-").replace("-", " ")] = fault
    if faults:
        yield _down(pool, faults, {key: wanted.get(key, "a device") for key in _keys(pool)}, world)


def _down(pool: str, faults: Mapping[str, str], expected: Mapping[str, str], world: World) -> Finding:
    holder, following = _holder(pool, world)
    told = "; ".join(f"{fence}: {fault}" for fence, fault in faults.items())
    need = f"the lock of {holder}" if holder else "its freeze"
    return Finding(
        id=ids.FENCE_CONVERGING if following else ids.FENCE_DOWN,
        severity="warning" if following else "error",
        object=f"fence/{pool}",
        message=f"pool {pool} has to be fenced for {need}, and is not ({told})",
        expected="; ".join(f"{key}: {value}" for key, value in expected.items()),
        observed=told,
        values=dict(faults),
        next_action="wait until the run that took the lock has raised it"
        if following
        else _next(told, holder),
        transient=True,
        stops=not following,
        unknown="unknown" in told,
        profile=pool,
    )


def _next(told: str, holder: str) -> str:
    if "admission policy" in told or "binding" in told or "does not exist" in told:
        return f"{_INSTALL}, then audit again"
    if holder:
        return f"run {holder} again from its beginning, which raises it"
    return "run playbooks/audit.yml with enforce=true, which raises it"


def _holder(pool: str, world: World) -> tuple[str, bool]:
    """Who needs the pool fenced, nobody where it is frozen; and whether the lock was taken a moment ago."""
    ledger, now = world.ledger, world.now
    held = ledger.lock.pools.get(pool) if ledger.lock else None
    if ledger.frozen(pool) or held is None:
        return "", False
    since = instant(held.since)
    return held.ticket, now is not None and since is not None and abs(now - since) <= FOLLOWS_WITHIN


def _keys(pool: str) -> tuple[str, str]:
    return CREATION + pool, ENTITLEMENT + pool


def _stands(pool: str, data: Mapping[str, str]) -> bool:
    return any(key in data for key in _keys(pool))


def _standing(pool: str) -> Finding:
    return Finding(
        id=ids.FENCE_NOT_LOWERED,
        severity="warning",
        object=f"fence/{pool}",
        message=f"pool {pool} is fenced, and neither locked nor frozen: its VMs are refused for nobody",
        expected="no fence",
        observed=f"its keys stand in configmap/{PARAMETERS}",
        next_action="run the ticket again that held the lock last; if that has nothing left to do, remove "
        f"{' and '.join(_keys(pool))} from configmap/{PARAMETERS}",
        stops=False,
        profile=pool,
    )


def _not_installed(world: World) -> str:
    if world.snapshot.observed.capacity_fence is None:
        return f"configmap/{PARAMETERS} does not exist"
    problems = (world.snapshot.observed.fences.problem(name) for name in _POLICIES.values())
    return "; ".join(problem for problem in problems if problem)


def _missing(fault: str) -> Finding:
    return Finding(
        id=ids.FENCE_MISSING,
        severity="warning",
        object="fence",
        message=f"the policy uses fences, and they could not be raised now: {fault}",
        expected="both fences as playbooks/install.yml installs them",
        observed=fault,
        next_action=f"{_INSTALL}, or set creationControl: gate by a reviewed change",
        stops=False,
    )
