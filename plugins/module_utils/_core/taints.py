# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Taints and tolerations, judged as the scheduler does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from .cluster_objects import Toleration
from .reservation_objects import TAINT_KEY

REPELLING: Final = ("NoSchedule", "NoExecute")
"""Effects that keep a Pod off a node; the third is a preference."""


def taint_text(taint: Mapping[str, Any]) -> str:
    """A taint as kubectl writes it: ``reserved=tenant-foo:NoSchedule``."""
    return f"{taint.get('key', '')}={taint.get('value', '') or ''}:{taint.get('effect', '')}"


def same_taint(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two taints have key, value and effect in common."""
    return taint_text(one) == taint_text(other)


def tolerates(toleration: Toleration, taint: Mapping[str, Any]) -> bool:
    """Whether a toleration covers a taint. Operators that are not known cover nothing."""
    if toleration.effect and toleration.effect != taint.get("effect"):
        return False
    if toleration.key and toleration.key != taint.get("key"):
        return False
    if toleration.operator == "Exists":
        return True
    return (
        toleration.operator in ("", "Equal")
        and bool(toleration.key)
        and toleration.value == (taint.get("value") or "")
    )


def tolerated(tolerations: Iterable[Toleration], taint: Mapping[str, Any]) -> bool:
    """Whether one of several tolerations covers a taint."""
    return any(tolerates(one, taint) for one in tolerations)


def untolerated(
    tolerations: Sequence[Toleration], taints: Iterable[Mapping[str, Any]]
) -> tuple[Mapping[str, Any], ...]:
    """The taints that keep a Pod with these tolerations off a node."""
    return tuple(
        taint for taint in taints if taint.get("effect") in REPELLING and not tolerated(tolerations, taint)
    )


def tolerates_tenant(tolerations: Iterable[Toleration], tenant: str) -> bool:
    """Whether a Pod tolerates a tenant's taint by its value."""
    return any(
        one.key == TAINT_KEY and one.operator in ("", "Equal") and one.value == tenant for one in tolerations
    )


def reserved_taints(taints: Iterable[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """The taints whose key is ours, whoever set them."""
    return tuple(taint for taint in taints if taint.get("key") == TAINT_KEY)
