# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What admission would make of a Pod that its owner has not managed to create yet."""

from __future__ import annotations

from .cluster_objects import Toleration
from .label_selector import LabelRequirement
from .placement_objects import (
    Affinity,
    NodeAffinity,
    NodeSelectorTerm,
    PlacementPod,
    PlacementSpec,
    RequiredTerms,
)
from .reservation_objects import TAINT_KEY, TENANT_LABEL, ReservationBinding


def has_affinity(spec: PlacementSpec, tenant: str) -> bool:
    """Whether every required term has the tenant's requirement."""
    terms = spec.required_terms
    return bool(tenant and terms) and all(
        any(
            one.key == TENANT_LABEL and one.operator == "In" and one.values == (tenant,)
            for one in term.match_expressions
        )
        for term in terms
    )


def as_admitted(pod: PlacementPod, tenant: str, bindings: tuple[ReservationBinding, ...]) -> PlacementPod:
    """The Pod with what the bindings that select it inject.

    Args:
        pod: made of an owner's template.
        tenant: of its namespace; nothing is injected without one.
        bindings: those that select it.
    """
    update: dict[str, object] = {}
    if tenant and any(one.spec.inject_affinity for one in bindings):
        requirement = LabelRequirement(key=TENANT_LABEL, operator="In", values=(tenant,))
        terms = tuple(
            term.model_copy(update={"match_expressions": (*term.match_expressions, requirement)})
            for term in pod.spec.required_terms or (NodeSelectorTerm(),)
        )
        update["affinity"] = Affinity(node_affinity=NodeAffinity(required=RequiredTerms(terms=terms)))
    if tenant and any(one.spec.inject_toleration for one in bindings):
        update["tolerations"] = (*pod.spec.tolerations, Toleration(key=TAINT_KEY, value=tenant))
    return pod.model_copy(update={"spec": pod.spec.model_copy(update=update)})
