# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keeps the fences' ConfigMap in step with locks and freezes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from .._adapters.api_resource import CONFIGMAPS
from .._adapters.fleet import FleetRepository
from .._adapters.kube import KubeClient
from .._adapters.observe import confirm_cluster, read_confirmed
from .._core.catalogue import read_catalogue
from .._core.cluster_objects import ConfigMap
from .._core.document import invalid
from .._core.errors import ConflictError, PolicyBlocked
from .._core.fence import CREATION, ENTITLEMENT, is_fenced, parameter_patch, wanted_parameters
from .._core.ledger import read_ledger
from .._core.ledger_view import LedgerView, view_of
from .._core.lock import LOCK_FILE
from .._core.names import LEDGER_ROOT, lock_branch
from .._core.profile_fit import profile_fit
from .observation import Observation

PARTS = ("capacity_fence", "billing_plans", "gpu_profiles", "kubevirts")
FENCE = CONFIGMAPS.path("gpuops-system", "capacity-fence")
ATTEMPTS = 8


class FencedWorld(Protocol):
    """Where the fences are, and what they follow."""

    @property
    def cluster(self) -> str:
        """The folder below clusters/."""

    @property
    def fleet(self) -> FleetRepository:
        """The fleet repository."""

    @property
    def client(self) -> KubeClient:
        """The API server."""


@dataclass(frozen=True)
class FencePlace:
    """A fenced world of its parts."""

    cluster: str
    fleet: FleetRepository
    client: KubeClient


@dataclass(frozen=True)
class _Look:
    """One look at the fences; ``resources`` has the device resource of each pool that has one."""

    ledger: LedgerView
    config: ConfigMap
    resources: Mapping[str, str]


def keep_fences(
    world: FencedWorld, smoke: Mapping[str, str] | None = None, *, installed: bool = True
) -> dict[str, str | None]:
    """Bring the fences to what locks and freezes ask for; nothing to do where the policy uses none.

    Looks again after each write until nothing is left to do, so that a lock that was taken between look
    and write is never left without its fence.

    Args:
        world: fleet and API server.
        smoke: the namespace in which a ticket's smoke VM may start, by ticket.
        installed: whether fences that are not installed are an error; else there is nothing to do.

    Returns:
        What was changed: key to new value, None for a key that was taken away.

    Raises:
        PolicyBlocked: ``fence-missing``: the policy uses fences, and they are not installed.
        ObservationError: the ledger or the lock document is invalid; what reading raises.
        ConflictError: ``object-changed`` after bounded attempts.
    """
    made: dict[str, str | None] = {}
    for attempt in range(ATTEMPTS):
        ledger = _ledger(world)
        if ledger.problems:
            raise invalid(ledger.problems)
        look = _look(world, ledger, installed=installed)
        if look is None:
            return made
        data = look.config.data
        wanted = wanted_parameters(ledger, ledger.lock, look.resources, data, smoke or {})
        patch = parameter_patch(data, wanted)
        if not patch:
            return made
        if _write(world, look.config, patch, last=attempt == ATTEMPTS - 1):
            made.update(patch)
    return made


def raise_fences(world: FencedWorld, pools: tuple[str, ...], *, check_mode: bool) -> dict[str, str]:
    """Raise both fences of pools that are about to be frozen; no fence is lowered.

    Works with an invalid ledger too, as long as its policy is valid: closing never waits for a
    correction.

    Returns:
        What was changed, or would be in check mode.

    Raises:
        PolicyBlocked: ``fence-missing``, or ``fence-impossible``: a pool's device is not known. What
            could be raised has been raised then.
    """
    made: dict[str, str] = {}
    for attempt in range(ATTEMPTS):
        ledger = _ledger(world)
        look = _look(world, ledger)
        if look is None:
            return made
        data = look.config.data
        wanted = wanted_parameters(ledger, ledger.lock, look.resources, data, {}, frozen=frozenset(pools))
        keys = {kind + pool for kind in (CREATION, ENTITLEMENT) for pool in pools}
        ours = {key: value for key, value in sorted(wanted.items()) if key in keys and data.get(key) != value}
        if check_mode or not ours or _write(world, look.config, ours, last=attempt == ATTEMPTS - 1):
            made.update(ours)
            _require_possible(pools, wanted)
            return made
    raise AssertionError("unreachable: the last attempt returns or raises")


def _ledger(world: FencedWorld) -> LedgerView:
    lock = lock_branch(world.cluster)
    trees = world.fleet.read_all({world.fleet.branch: (LEDGER_ROOT,), lock: (LOCK_FILE,)})
    tree = trees[world.fleet.branch]
    if not tree.revision:
        raise world.fleet.branch_missing()
    reading = read_ledger(tree, world.cluster)
    if reading.policy is None:
        raise invalid(reading.problems)
    return view_of(reading, trees[lock])


def _look(world: FencedWorld, ledger: LedgerView, *, installed: bool = True) -> _Look | None:
    """None where the policy uses no fences, or they are not installed and need not be."""
    policy = ledger.policy
    if policy is None or policy.spec.creation_control == "gate":
        return None
    confirm_cluster(world.client, policy.spec.cluster_uid, world.cluster)
    observed = read_confirmed(world.client, policy.spec.cluster_uid, PARTS if installed else PARTS[:1])
    config = observed.capacity_fence
    if config is None:
        if installed:
            raise fence_missing()
        return None
    if not installed:
        observed = read_confirmed(world.client, policy.spec.cluster_uid, PARTS[1:])
    catalogue = read_catalogue(observed.billing_plans, observed.gpu_profiles)
    found = {
        profile: profile_fit(profile, catalogue, observed.kubevirts).resource for profile in policy.pools
    }
    return _Look(ledger, config, {profile: resource for profile, resource in found.items() if resource})


def _write(world: FencedWorld, config: ConfigMap, patch: Mapping[str, str | None], *, last: bool) -> bool:
    """Whether it was written; not where somebody else wrote meanwhile, and there is time to look again."""
    version = config.metadata.resource_version
    try:
        world.client.patch(FENCE, {"data": dict(patch)}, resource_version=version)
    except ConflictError:
        if last:
            raise
        return False
    return True


def _require_possible(pools: tuple[str, ...], wanted: Mapping[str, str]) -> None:
    missing = [pool for pool in pools if not is_fenced(wanted, pool)]
    if missing:
        raise PolicyBlocked(
            "fence-impossible",
            f"the creation fence of {', '.join(missing)} cannot be raised: the policy has no such pool, or "
            "the catalogue no device for its profile",
            next_action="correct the catalogue's profile, or the policy's pools, then audit again",
        )


def fence_missing() -> PolicyBlocked:
    """The error for a policy that uses fences which are not installed."""
    return PolicyBlocked(
        "fence-missing",
        "creationControl uses fences, and configmap/gpuops-system/capacity-fence does not exist",
        next_action="run playbooks/install.yml as an administrator, or set creationControl: gate by a "
        "reviewed change",
    )


def require_fenced(seen: Observation, profile_id: str) -> None:
    """Both fences of a pool are up.

    Raises:
        PolicyBlocked: ``fence-missing``, or ``fence-down``.
    """
    config = seen.snapshot.observed.capacity_fence
    if config is None:
        raise fence_missing()
    if not is_fenced(config.data, profile_id):
        raise PolicyBlocked(
            "fence-down",
            f"pool {profile_id} is not fenced in configmap/gpuops-system/capacity-fence",
            next_action="run the playbook from its beginning, which takes the lock and raises the fences",
        )
