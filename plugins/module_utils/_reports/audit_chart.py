# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The bars of a pool: what is there, and what stands against it, on one scale."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

WIDTH: Final = 1000
"""Width of a chart in its own units; the page scales it."""

_DEMAND: Final = (
    ("active", "active reserved"),
    ("pending", "pending reserved"),
    ("releasing", "releasing reserved"),
    ("non_reserved", "non-reserved"),
    ("spare", "spare"),
)


@dataclass(frozen=True)
class Segment:
    """One part of a bar.

    Attributes:
        kind: its style: healthy, active, pending, releasing, non_reserved or spare.
        label: its name in words.
        devices: how many devices it stands for.
        x: where it begins, in chart units.
        width: how wide it is, in chart units.
    """

    kind: str
    label: str
    devices: int
    x: float
    width: float


@dataclass(frozen=True)
class PoolChart:
    """Both bars of one pool.

    Attributes:
        healthy: the upper bar; None where the term is unknown.
        demand: the lower bar, without empty parts.
        unknown: names of the terms that are unknown or without limit, and are not drawn.
    """

    healthy: Segment | None
    demand: tuple[Segment, ...]
    unknown: tuple[str, ...]


def _terms(equation: Mapping[str, Any]) -> dict[str, Any]:
    return {**equation["reserved"], "non_reserved": equation["non_reserved"], "spare": equation["spare"]}


def pool_chart(equation: Mapping[str, Any]) -> PoolChart:
    """The bars of an equation as the audit bundle has it.

    Args:
        equation: healthy, reserved, non_reserved, spare; numbers, or a word where a term is none.
    """
    terms = _terms(equation)
    healthy = equation["healthy"]
    known = {kind: terms[kind] for kind, _label in _DEMAND if isinstance(terms[kind], int)}
    scale = WIDTH / max(sum(known.values()), healthy if isinstance(healthy, int) else 0, 1)
    segments: list[Segment] = []
    x = 0.0
    for kind, label in _DEMAND:
        devices = known.get(kind, 0)
        if devices:
            segments.append(Segment(kind, label, devices, round(x, 2), round(devices * scale, 2)))
            x += devices * scale
    unknown = [f"{label}: {terms[kind]}" for kind, label in _DEMAND if kind not in known]
    upper = None
    if isinstance(healthy, int):
        upper = Segment("healthy", "healthy schedulable", healthy, 0, round(healthy * scale, 2))
    else:
        unknown.insert(0, f"healthy schedulable: {healthy}")
    return PoolChart(upper, tuple(segments), tuple(unknown))
