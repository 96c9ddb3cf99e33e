# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A Reservation from a module's options: what is created, and what is changed of one that is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .errors import InputError
from .reservation_objects import GROUP_VERSION

FIELDS: Final[Mapping[str, str]] = {
    "tenant": "tenant",
    "node_selector": "nodeSelector",
    "reserved_nodes": "reservedNodes",
    "apply_taint": "applyTaint",
    "taint_effect": "taintEffect",
    "evict_on_release": "evictOnRelease",
}
"""Option of the module, and field of the spec."""

_IMMUTABLE: Final = ("tenant", "applyTaint", "taintEffect")


def wanted_spec(params: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a spec that options give; those left out are left as they are."""
    return {field: params[option] for option, field in FIELDS.items() if params.get(option) is not None}


def new_reservation(name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    """The document of a Reservation that does not exist yet.

    Raises:
        InputError: ``option-missing``: no tenant, or no nodes.
    """
    if not spec.get("tenant"):
        raise InputError(
            "option-missing",
            f"tenant: Reservation {name} does not exist, and a new one needs its tenant",
            next_action="set tenant",
        )
    if not spec.get("reservedNodes") and not spec.get("nodeSelector"):
        raise InputError(
            "option-missing",
            f"reserved_nodes: Reservation {name} does not exist, and a new one needs its nodes",
            next_action="set reserved_nodes, node_selector, or both; nothing ever means every node",
        )
    return {
        "apiVersion": GROUP_VERSION,
        "kind": "Reservation",
        "metadata": {"name": name, "labels": {"app.kubernetes.io/managed-by": "gpuops.reservations"}},
        "spec": dict(spec),
    }


def spec_changes(name: str, stored: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that have to change; empty where the Reservation is as wanted.

    Raises:
        InputError: ``field-immutable``.
    """
    changes = {field: value for field, value in spec.items() if not _same(field, stored.get(field), value)}
    for field in _IMMUTABLE:
        if field in changes:
            raise InputError(
                "field-immutable",
                f"spec.{field} of Reservation {name} is {stored.get(field)!r}, "
                f"and cannot become {changes[field]!r}",
                next_action=f"make another Reservation, or leave {field} as it is",
            )
    return changes


def _same(field: str, stored: Any, wanted: Any) -> bool:
    if field == "reservedNodes" and stored is not None:
        return sorted(stored) == sorted(wanted)
    return bool(stored == wanted)
