# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What stands against a pool as a whole: documents, cluster, approval, profile, freeze, the equation."""

from __future__ import annotations

from typing import Final

from . import finding_ids as ids
from .document import DUPLICATE
from .equation import Equation
from .finding import Finding
from .ledger_view import LedgerView
from .policy import Policy
from .profile_fit import ProfileFit
from .world import World

CLUSTER_NAME: Final = "CLUSTER_NAME"
ORDER: Final = "the order"


def ledger_findings(ledger: LedgerView) -> tuple[Finding, ...]:
    """Everything that is invalid in the fleet repository's documents, each naming file and field."""
    return tuple(
        Finding(
            id=ids.DUPLICATE_RESERVATION_ID if problem.id == DUPLICATE else ids.LEDGER_INVALID,
            severity="error",
            object=f"file/{problem.file}",
            message=str(problem),
            expected="a valid document",
            observed=problem.message,
            next_action=f"correct {problem.file} by a reviewed change, then run again",
            unknown=True,
        )
        for problem in ledger.problems
    )


def cluster_findings(world: World) -> tuple[Finding, ...]:
    """The cluster has to be the one that the policy names, by UID and by name."""
    policy, observed, cluster = world.ledger.policy, world.snapshot.observed, world.snapshot.cluster
    if policy is None:
        return ()
    config = observed.cluster_config
    name = config.data.get(CLUSTER_NAME, "") if config else ""
    found = []
    for what, expected, seen in (
        ("UID of namespace kube-system", policy.spec.cluster_uid, observed.uid),
        ("CLUSTER_NAME in configmap/flux-system/cluster-config", cluster, name),
    ):
        if expected != seen:
            found.append(
                Finding(
                    id=ids.CLUSTER_MISMATCH,
                    severity="error",
                    object=f"cluster/{cluster}",
                    message=f"this is not cluster {cluster}: {what} is {seen or 'absent'}, not {expected}",
                    expected=expected,
                    observed=seen or "absent",
                    next_action="connect to the cluster that the policy names, or name the right cluster",
                )
            )
    return tuple(found)


def not_approved(profile_id: str, policy: Policy | None) -> tuple[Finding, ...]:
    """A pool that the policy does not name: nobody has approved it."""
    if policy is None or profile_id in policy.pools:
        return ()
    return (
        Finding(
            id=ids.POOL_NOT_APPROVED,
            severity="error",
            object=f"pool/{profile_id}",
            message=f"the policy has no pool {profile_id}: nobody has approved selling it",
            expected=f"spec.pools.{profile_id} in policy.yaml",
            observed="no entry",
            next_action=f"add {profile_id} with its nodes to policy.yaml by a reviewed change",
        ),
    )


def fit_findings(profile_id: str, fit: ProfileFit, ledger: LedgerView) -> tuple[Finding, ...]:
    """Unfit always stops; it is a mismatch where somebody holds devices of the profile."""
    live = any(record.holds for record in ledger.of_pool(profile_id) or ())
    return tuple(
        Finding(
            id=ids.PROFILE_MODE_MISMATCH if live else ids.PROFILE_UNFIT,
            severity="error" if live else "warning",
            object=f"profile/{profile_id}",
            message=f"profile {profile_id} does not qualify for holds: {problem}",
            expected="catalogue, KubeVirt and policy agree on a whole-device VM profile",
            observed=problem,
            next_action="correct the object that is named, then run again",
            unknown=not fit.resource,
        )
        for problem in fit.problems
    )


def frozen_findings(profile_id: str, ledger: LedgerView) -> tuple[Finding, ...]:
    """A frozen pool: nothing new is assigned from it."""
    if not ledger.frozen(profile_id) or ledger.freezes is None:
        return ()
    return (
        Finding(
            id=ids.POOL_FROZEN,
            severity="error",
            object=f"pool/{profile_id}",
            message=f"sales of pool {profile_id} are frozen since {ledger.freezes[profile_id].since}",
            expected="no freeze, or a thawed one",
            observed="frozen",
            next_action="resolve the audit's findings, then thaw it (playbooks/creation_gate.yml)",
        ),
    )


def _failing(finding_id: str, subject: str, profile_id: str, equation: Equation, missing: int) -> Finding:
    demand = f"{equation.reserved} reserved + {equation.non_reserved} non-reserved + {equation.spare} spare"
    return Finding(
        id=finding_id,
        severity="error",
        object=f"pool/{profile_id}",
        message=f"{subject} lacks {missing} devices: {equation.healthy} healthy schedulable < {demand}",
        expected=f"at least {(equation.healthy or 0) + missing} healthy schedulable devices",
        observed=str(equation.healthy),
        next_action=f"add {missing} healthy devices, or have non-reserved entitlement reduced by {missing} "
        "holder-safely (see remedies)",
    )


def equation_findings(
    profile_id: str, equation: Equation, projected: Equation | None, what: str
) -> tuple[Finding, ...]:
    """The equation's own failure, as it stands and with the order or change.

    Args:
        profile_id: the pool's profile.
        equation: as it stands.
        projected: with the order or change; None where there is neither.
        what: what is projected, for the message (``the order``).
    """
    found = []
    headroom = equation.headroom
    if headroom is not None and headroom < 0:
        found.append(
            _failing(ids.HARD_QUOTA_ABOVE_EQUATION, f"pool {profile_id}", profile_id, equation, -headroom)
        )
    after = projected.headroom if projected else None
    if projected is not None and after is not None and after < 0:
        finding_id = ids.ORDER_EXCEEDS_CAPACITY if what == ORDER else ids.CHANGE_EXCEEDS_CAPACITY
        found.append(_failing(finding_id, f"with {what}, pool {profile_id}", profile_id, projected, -after))
    return tuple(found)
