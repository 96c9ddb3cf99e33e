# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Failure modes before a node is looked at: policies, permission, namespace, binding, selector, age.

Runbook: Reservations and ReservationBindings, Common failure modes.
"""

from __future__ import annotations

from .admission_installed import INSTALL, definition_checks, policy_checks
from .binding_status import judge_binding
from .checks import stopping
from .placement_injection import has_affinity
from .placement_objects import PlacementPod
from .placement_world import Finding, PlacementWorld
from .reservation_claims import OVERLAP
from .reservation_objects import TENANT_LABEL
from .taints import tolerates_tenant

RECONCILE = "run playbooks/reservations.yml"


def policies_missing(world: PlacementWorld) -> Finding | None:
    """Definitions or policies are not there, not bound, or narrowed."""
    installation = world.installation
    absent = [check for check in definition_checks(installation) if check.status != "pass"]
    stops = (*absent, *stopping(policy_checks(installation)))
    if not stops:
        return None
    return Finding(
        "policies-missing",
        "the admission policies are missing or not bound, so that nothing is injected or refused",
        tuple(check.message for check in stops),
        INSTALL,
    )


def permission_missing(world: PlacementWorld) -> Finding | None:
    """The identity that reconciles lacks a permission; one that may write nothing at all only reads."""
    missing = [check for check in world.permissions if check.status != "pass"]
    reader = len(missing) == len(world.permissions)
    if not missing or (reader and not _unreconciled(world)):
        return None
    return Finding(
        "permission-missing",
        "this identity lacks permissions that the reconcile needs, so that nodes and bindings are not kept",
        tuple(check.message for check in missing),
        "run playbooks/install.yml as an administrator, or bind a role that allows: "
        + ", ".join(check.object for check in missing),
    )


def _unreconciled(world: PlacementWorld) -> bool:
    named = {one.spec.reservation_name for one in world.bindings}
    return any(
        claim.reservation.status.observed_generation != claim.reservation.metadata.generation
        for name, claim in world.claims.items()
        if name in named
    )


def namespace_without_tenant(world: PlacementWorld) -> Finding | None:
    """Nobody has said whose the namespace is."""
    if world.tenant or not (world.bindings or world.claims):
        return None
    facts = [f"namespace {world.namespace} has no label {TENANT_LABEL}"]
    facts += [f"ReservationBinding {one.shown} does nothing there" for one in world.bindings]
    return Finding(
        "namespace-without-tenant",
        f"namespace {world.namespace} is no tenant's, so its Pods cannot use reserved nodes",
        tuple(facts),
        f"an administrator (verb bind on reservations) runs: kubectl label namespace {world.namespace} "
        f"{TENANT_LABEL}=<tenant>; or names it in platform_tenants and runs playbooks/install.yml",
    )


def no_binding(world: PlacementWorld) -> Finding | None:
    """The tenant's namespace has no binding at all."""
    if not world.tenant or world.bindings:
        return None
    own = sorted(n for n, c in world.claims.items() if c.reservation.spec.tenant == world.tenant)
    facts = [f"namespace {world.namespace} is of tenant {world.tenant} and has no ReservationBinding"]
    facts.append(f"Reservations of this tenant: {', '.join(own) or 'none'}")
    return Finding(
        "no-binding",
        f"there is no ReservationBinding in namespace {world.namespace}, so nothing is injected",
        tuple(facts),
        f"create a ReservationBinding in {world.namespace} that names one of the tenant's Reservations and "
        "selects the Pod",
    )


def binding_not_accepted(world: PlacementWorld) -> Finding | None:
    """No binding that selects the Pod is accepted, or its Reservation's claim was rejected."""
    bindings = world.selecting or world.bindings
    if not world.tenant or not bindings:
        return None
    overlap = _overlap(world)
    if overlap is not None:
        return overlap
    judged = {one.shown: judge_binding(world.reservations, world.claims, one) for one in bindings}
    if any(accepted for accepted, _, _ in judged.values()):
        return _rejected_generation(world)
    return Finding(
        "binding-not-accepted",
        f"no ReservationBinding in namespace {world.namespace} is accepted",
        tuple(f"ReservationBinding {name}: {reason}: {text}" for name, (_, reason, text) in judged.items()),
        "; ".join(dict.fromkeys(text.rpartition("; ")[2] for _, _, text in judged.values())),
    )


def _named_claims(world: PlacementWorld) -> list[str]:
    names = dict.fromkeys(one.spec.reservation_name for one in world.selecting or world.bindings)
    return [name for name in names if name in world.claims and not world.claims[name].accepted]


def _overlap(world: PlacementWorld) -> Finding | None:
    for name in _named_claims(world):
        claim = world.claims[name]
        if claim.reason == OVERLAP and claim.reservation.spec.tenant == world.tenant:
            return Finding(
                "overlap",
                f"Reservation {name} claims nodes that another one holds",
                (f"Reservation {name}: {claim.message}",),
                claim.next_action,
            )
    return None


def _rejected_generation(world: PlacementWorld) -> Finding | None:
    """It keeps what it had, and what was changed since is not accepted."""
    for name in _named_claims(world):
        claim = world.claims[name]
        return Finding(
            "binding-not-accepted",
            f"Reservation {name} is not accepted as it is now",
            (f"Reservation {name}: {claim.reason}: {claim.message}",),
            claim.next_action,
        )
    return None


def selector_mismatch(world: PlacementWorld) -> Finding | None:
    """No binding selects the Pod; which label it is."""
    if world.pod is None or not world.tenant or not world.bindings or world.selecting:
        return None
    labels = world.pod.metadata.labels
    facts = tuple(
        f"ReservationBinding {one.shown} selects {'; '.join(one.spec.pod_selector.mismatches(labels))}"
        for one in world.bindings
    )
    return Finding(
        "selector-mismatch",
        f"no ReservationBinding selects {world.target}: its labels do not match podSelector",
        facts,
        "give the Pod's template the labels that the binding selects and create the Pod again, or change the "
        "binding's podSelector",
    )


def not_injected(world: PlacementWorld) -> Finding | None:
    """A binding selects the Pod, and what it injects is not there."""
    pod, selecting = world.pod, world.selecting
    if pod is None or not world.tenant or not selecting:
        return None
    if world.is_daemonset:
        return _template_not_injected(world)
    if not world.created:
        return None  # its Pods are injected when they are created
    lacking = _lacking(world, pod)
    if not lacking:
        return None
    fact = f"{world.target} lacks the {' and the '.join(lacking)} for tenant {world.tenant}"
    oldest = min(one.metadata.creation_timestamp for one in selecting)
    created = pod.metadata.creation_timestamp
    if not any(one.spec.inject_affinity for one in selecting):
        return _switched_off(world, fact)
    if created <= oldest:
        return Finding(
            "pod-older-than-binding",
            f"{world.target} is older than its ReservationBinding, and Pods are injected at creation only",
            (fact, f"the Pod is of {created}, the binding of {oldest}"),
            "create the Pod again: delete it where an owner makes a new one",
        )
    return Finding(
        "labels-changed-later",
        f"{world.target} came to be selected after its creation, and Pods are injected at creation only",
        (fact, f"the Pod is of {created}; its labels, or the binding's podSelector, were changed since"),
        "create the Pod again",
    )


def _switched_off(world: PlacementWorld, fact: str) -> Finding:
    switched = ", ".join(one.shown for one in world.selecting)
    return Finding(
        "injection-switched-off",
        "the bindings that select the Pod do not inject node affinity",
        (fact, f"injectAffinity is false: {switched}"),
        "set injectAffinity: true, and create the Pod again",
    )


def _template_not_injected(world: PlacementWorld) -> Finding | None:
    """A DaemonSet's controller judges nodes by the template: injected Pods alone get none."""
    owner = world.owner
    template = owner.spec.template if owner else None
    if owner is None or template is None or has_affinity(template.spec, world.tenant):
        return None
    name = owner.metadata.name
    fact = f"the template of DaemonSet {name} lacks the node affinity for tenant {world.tenant}"
    if not any(one.spec.inject_affinity for one in world.selecting):
        return _switched_off(world, fact)
    oldest = min(one.metadata.creation_timestamp for one in world.selecting)
    return Finding(
        "daemonset-template-not-injected",
        f"DaemonSet {name} was last written before its binding, and its controller goes by the template",
        (fact, f"the oldest binding that selects it is of {oldest}"),
        f"write it once: kubectl -n {world.namespace} rollout restart daemonset/{name}",
    )


def _lacking(world: PlacementWorld, pod: PlacementPod) -> list[str]:
    lacking = [] if has_affinity(pod.spec, world.tenant) else ["node affinity"]
    tainted = [
        one
        for one in world.selecting
        if one.spec.reservation_name in world.claims
        and world.claims[one.spec.reservation_name].reservation.taint is not None
        and one.spec.inject_toleration
    ]
    if tainted and not tolerates_tenant(pod.spec.tolerations, world.tenant):
        lacking.append("toleration")
    return lacking
