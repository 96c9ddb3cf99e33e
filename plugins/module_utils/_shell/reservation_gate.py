# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Proves, before anything is written, that this identity may do what it has to, and that admission works."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass

from .._adapters.api_resource import PODS
from .._adapters.kube import KubeClient
from .._adapters.observe import confirm_cluster, in_parallel
from .._core.admission_canary import canary_pod, judge_failure, judge_injection, judge_thief, thieves
from .._core.checks import Check, stopping
from .._core.errors import GpuopsError, PolicyBlocked
from .._core.ledger import Ledger, load_ledger
from .._core.lock import LOCK_FILE, LockDocument, read_lock
from .._core.names import LEDGER_ROOT
from .._core.reservation_access import Permission, judge_permission
from .._core.reservation_objects import CANARY
from .sources import Reach


@dataclass(frozen=True)
class Confirmed:
    """What the fleet said of the cluster that was found to be the right one.

    Attributes:
        ledger: policy, records and the rest.
        lock: who holds which pool.
    """

    ledger: Ledger
    lock: LockDocument


def confirm(reach: Reach) -> Confirmed:
    """Make sure that this is the cluster that the fleet's policy means; what the fleet says of it.

    Raises:
        InputError: an option is missing.
        ObservationError: wrong-cluster-uid, wrong-cluster-name, ledger-invalid, what reading raises.
    """
    branch = reach.fleet.branch
    trees = reach.fleet.read_all({branch: (LEDGER_ROOT,), reach.lock_branch: (LOCK_FILE,)})
    if not trees[branch].revision:
        raise reach.fleet.branch_missing()
    ledger = load_ledger(trees[branch], reach.cluster)
    confirm_cluster(reach.client, ledger.policy.spec.cluster_uid, reach.cluster)
    return Confirmed(ledger, read_lock(trees[reach.lock_branch]))


def access_checks(
    client: KubeClient, needed: Iterable[Permission], later: Iterable[Permission] = ()
) -> tuple[Check, ...]:
    """One access review for each permission; ``later`` are those that check mode does without."""
    wanted = dict.fromkeys(needed, True) | dict.fromkeys(later, False)

    def ask(permission: Permission) -> bool:
        return client.access_review(
            permission.verb,
            permission.resource,
            group=permission.group,
            subresource=permission.subresource,
            namespace=permission.namespace,
        )

    answers = in_parallel({one.text: functools.partial(ask, one) for one in wanted})
    return tuple(
        judge_permission(one, allowed=answers[one.text], needed=needed) for one, needed in wanted.items()
    )


def canary_checks(client: KubeClient) -> tuple[Check, ...]:
    """An ordinary Pod has to come back injected, thieves have to be refused; by the server's dry run."""
    path = PODS.path(CANARY)
    try:
        checks = [judge_injection(client.create(path, canary_pod(), dry_run=True))]
    except GpuopsError as error:
        return (judge_failure(error.message),)
    may_place = client.access_review("place", "reservations", group="scheduling.coreweave.cloud")
    for what, pod in thieves().items():
        refusal = ""
        try:
            client.create(path, pod, dry_run=True)
        except GpuopsError as error:
            refusal = error.message
        checks.append(judge_thief(what, refusal, may_place=may_place))
    return tuple(checks)


def require(checks: tuple[Check, ...]) -> None:
    """Stop at the first answer that is no, or not known.

    Raises:
        PolicyBlocked: ``permission-missing`` or ``admission-not-working``, naming each.
    """
    stops = stopping(checks)
    if not stops:
        return
    code = "permission-missing" if stops[0].id == "permission" else "admission-not-working"
    raise PolicyBlocked(
        code,
        "; ".join(check.message for check in stops),
        next_action="; ".join(dict.fromkeys(check.next_action for check in stops if check.next_action)),
        report={"checks": [check.result() for check in checks]},
    )
