# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a node of a Reservation carries, and the one patch that makes it so.

Label, annotation, taint and cordon go in one request with the version that was read. Everybody else's
taints are written back as they came. Each function answers None where the node is already right, so that
after a conflict it is asked again about the node as it is then.

Runbook: Reservations and ReservationBindings, Operator's reconcile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from .cluster_objects import Node
from .cordon_mark import CORDON_ANNOTATION, KEEP_ANNOTATION, CordonMark, cordon_mark
from .reservation_objects import RESERVED_BY, TAINT_KEY, TENANT_LABEL, ReservableNode, Reservation
from .taints import reserved_taints, same_taint, taint_text

Patch = dict[str, Any]
NO_EXECUTE: Final = "NoExecute"


@dataclass(frozen=True)
class Title:
    """Who has a node: what its marks say.

    Attributes:
        reservation: name of the Reservation.
        tenant: its tenant; empty where a mark is left of a Reservation that is gone and had no label.
        taint: the taint that the nodes carry; None without one.
        known: whether the Reservation exists.
    """

    reservation: str
    tenant: str
    taint: Mapping[str, str] | None
    known: bool = True


def title_of(reservation: Reservation) -> Title:
    """What a Reservation's nodes carry."""
    return Title(reservation.name, reservation.spec.tenant, reservation.taint)


def orphan_title(node: ReservableNode) -> Title:
    """What a node carries whose annotation names a Reservation that does not exist."""
    return Title(node.reserved_by, node.tenant, None, known=False)


def reservation_cordon(node: ReservableNode) -> CordonMark | None:
    """Our mark of a cordon that a release made; None where a person or a transition cordoned."""
    mark = cordon_mark(Node(metadata=node.metadata))
    return mark if mark is not None and mark.by == "reservation" else None


def other_cordon(node: ReservableNode) -> bool:
    """Whether another kind of run of ours marked the node as cordoned by it."""
    return CORDON_ANNOTATION in node.metadata.annotations and reservation_cordon(node) is None


def kept_cordoned(node: ReservableNode) -> bool:
    """Whether a person asked that the node stays cordoned."""
    return KEEP_ANNOTATION in node.metadata.annotations


def drift(node: ReservableNode, title: Title) -> tuple[str, ...]:
    """What a node of a Reservation lacks or has changed, in words; empty where it carries all of it."""
    found = []
    if title.known and node.tenant != title.tenant:
        found.append(f"label {TENANT_LABEL} is {node.tenant or 'gone'}")
    if title.known and node.reserved_by != title.reservation:
        found.append(f"annotation {RESERVED_BY} is {node.reserved_by or 'gone'}")
    if title.taint is not None and not any(same_taint(one, title.taint) for one in node.spec.taints):
        found.append(f"taint {taint_text(title.taint)} is gone")
    return tuple(found)


def strange_taints(node: ReservableNode, title: Title) -> tuple[str, ...]:
    """Taints with our key on a held node that defeat its Reservation and are not ours to take away."""
    return tuple(
        taint_text(one)
        for one in reserved_taints(node.spec.taints)
        if title.taint is None or one.get("effect") != title.taint["effect"]
    )


def hold_patch(node: ReservableNode, title: Title) -> Patch | None:
    """Makes a node carry its Reservation's marks, with a release's cordon off."""
    patch: Patch = _marks(node, title)
    if reservation_cordon(node) is not None:
        _set(patch, "metadata", "annotations", {CORDON_ANNOTATION: None})
        if not kept_cordoned(node):
            patch.setdefault("spec", {})["unschedulable"] = None
    return patch or None


def drain_patch(node: ReservableNode, title: Title, now: str) -> Patch | None:
    """Makes a node carry its marks until the tenant's Pods are gone, and cordons it.

    Who cordoned before us keeps the cordon: then nothing is stamped. A transition's mark is left to it.
    """
    patch = _marks(node, title)
    if not node.spec.unschedulable and not other_cordon(node):
        patch.setdefault("spec", {})["unschedulable"] = True
        if reservation_cordon(node) is None:
            mark = CordonMark("reservation", title.reservation, now)
            _set(patch, "metadata", "annotations", {CORDON_ANNOTATION: mark.to_text()})
    return patch or None


def free_patch(node: ReservableNode, title: Title) -> Patch | None:
    """Takes label, annotation and taint away, and the cordon where it is ours and nobody keeps it."""
    patch: Patch = {}
    if TENANT_LABEL in node.metadata.labels and node.tenant == title.tenant:
        _set(patch, "metadata", "labels", {TENANT_LABEL: None})
    if RESERVED_BY in node.metadata.annotations:
        _set(patch, "metadata", "annotations", {RESERVED_BY: None})
    kept = [dict(one) for one in node.spec.taints if not _is_own(one, title)]
    if len(kept) != len(node.spec.taints):
        patch.setdefault("spec", {})["taints"] = kept
    if reservation_cordon(node) is not None:
        _set(patch, "metadata", "annotations", {CORDON_ANNOTATION: None})
        if not kept_cordoned(node):
            patch.setdefault("spec", {})["unschedulable"] = None
    return patch or None


def sets_no_execute(node: ReservableNode, patch: Patch | None) -> bool:
    """Whether a patch puts a NoExecute taint on a node that it did not have: it evicts at once."""
    after = (patch or {}).get("spec", {}).get("taints", ())
    return any(
        one.get("effect") == NO_EXECUTE and not any(same_taint(one, before) for before in node.spec.taints)
        for one in after
    )


def shown(node: ReservableNode, patch: Patch | None = None) -> str:
    """What a node carries of all this, one line, as it is or as a patch makes it; for a diff."""
    change = patch or {}
    labels = {**node.metadata.labels, **change.get("metadata", {}).get("labels", {})}
    marks = {**node.metadata.annotations, **change.get("metadata", {}).get("annotations", {})}
    spec = change.get("spec", {})
    cordoned = spec.get("unschedulable", node.spec.unschedulable)
    taints = ", ".join(taint_text(one) for one in spec.get("taints", node.spec.taints))
    return (
        f"{node.name}: {TENANT_LABEL}={labels.get(TENANT_LABEL) or '-'} by={marks.get(RESERVED_BY) or '-'} "
        f"taints=[{taints}] {'cordoned' if cordoned else 'schedulable'}"
    )


def _is_own(taint: Mapping[str, Any], title: Title) -> bool:
    if title.taint is not None:
        return same_taint(taint, title.taint)
    # Of a Reservation that is gone the effect is not known; its tenant is.
    return (
        not title.known
        and taint.get("key") == TAINT_KEY
        and bool(title.tenant)
        and taint.get("value") == title.tenant
    )


def _marks(node: ReservableNode, title: Title) -> Patch:
    patch: Patch = {}
    if not title.known:
        return patch
    if node.tenant != title.tenant:
        _set(patch, "metadata", "labels", {TENANT_LABEL: title.tenant})
    if node.reserved_by != title.reservation:
        _set(patch, "metadata", "annotations", {RESERVED_BY: title.reservation})
    if title.taint is not None and not any(same_taint(one, title.taint) for one in node.spec.taints):
        kept = [dict(one) for one in node.spec.taints if not _same_place(one, title.taint)]
        patch.setdefault("spec", {})["taints"] = [*kept, dict(title.taint)]
    return patch


def _same_place(one: Mapping[str, Any], other: Mapping[str, str]) -> bool:
    """Two taints with one key and effect cannot coexist: on a held node, another value is drift of ours."""
    return one.get("key") == other["key"] and one.get("effect") == other["effect"]


def _set(patch: Patch, part: str, field: str, values: Mapping[str, Any]) -> None:
    patch.setdefault(part, {}).setdefault(field, {}).update(values)
