# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The status of a ReservationBinding: whether it binds, to whom, and which tolerations its Pods need.

Admission trusts none of it: the tenant is what the Namespace's label says. Only which effects the injected
toleration needs is taken from here, for the namespace's own tenant.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .reservation_claims import ACCEPTED as IS_ACCEPTED
from .reservation_claims import Claim
from .reservation_objects import CANARY, ReservationBinding
from .reservation_status import condition, same_conditions
from .reservation_world import ACCEPTED, ReservationWorld

NO_TENANT: Final = "NamespaceWithoutTenant"
NOT_FOUND: Final = "ReservationNotFound"
OTHER_TENANT: Final = "TenantMismatch"
NOT_ACCEPTED: Final = "ReservationNotAccepted"


def judge_binding(
    world: ReservationWorld, claims: Mapping[str, Claim], binding: ReservationBinding
) -> tuple[bool, str, str]:
    """Whether a binding is accepted, the reason constant, and the facts with what to do."""
    namespace, name = binding.metadata.namespace, binding.spec.reservation_name
    tenant = world.tenancies.by_namespace.get(namespace, "")
    claim = claims.get(name)
    if not tenant:
        return (
            False,
            NO_TENANT,
            (f"namespace {namespace} has no label reserved.tenant; an administrator sets it to the tenant"),
        )
    if claim is None:
        return False, NOT_FOUND, f"there is no Reservation {name}; correct reservationName, or create it"
    if claim.reservation.spec.tenant != tenant:
        return (
            False,
            OTHER_TENANT,
            (
                f"Reservation {name} is of tenant {claim.reservation.spec.tenant}, and namespace {namespace} "
                f"of {tenant}; name a Reservation of {tenant}"
            ),
        )
    if not claim.accepted and not claim.hold and not claim.frozen:
        return False, NOT_ACCEPTED, f"Reservation {name} is not accepted: {claim.message}"
    return True, IS_ACCEPTED, f"Pods that it selects go to the nodes of tenant {tenant}"


def binding_status(
    world: ReservationWorld, claims: Mapping[str, Claim], binding: ReservationBinding, now: str
) -> dict[str, Any] | None:
    """The status to store; None where it is stored already, and for the canary, which has no Reservation.

    Args:
        world: the observation.
        claims: how every Reservation was judged.
        binding: whose status.
        now: RFC 3339 time.
    """
    if binding.metadata.namespace == CANARY:
        return None
    accepted, reason, message = judge_binding(world, claims, binding)
    tenant = world.tenancies.by_namespace.get(binding.metadata.namespace, "")
    before, generation = binding.status, binding.metadata.generation
    effects = toleration_effects(claims.get(binding.spec.reservation_name)) if accepted else None
    conditions = [
        condition(
            before.conditions,
            ACCEPTED,
            status=accepted,
            reason=reason,
            message=message,
            generation=generation,
            now=now,
        )
    ]
    same = (
        before.observed_generation == generation
        and before.tenant == tenant
        and before.toleration_effects == effects
        and same_conditions(conditions, before.conditions)
    )
    if same:
        return None
    return {
        "observedGeneration": generation,
        "tenant": tenant or None,
        "tolerationEffects": None if effects is None else list(effects),
        "conditions": conditions,
    }


def toleration_effects(claim: Claim | None) -> tuple[str, ...] | None:
    """Effects that the injected toleration needs: none without a taint, both with NoExecute."""
    if claim is None:
        return None
    taint = claim.reservation.taint
    if taint is None:
        return ()
    return ("NoSchedule", "NoExecute") if taint["effect"] == "NoExecute" else ("NoSchedule",)
