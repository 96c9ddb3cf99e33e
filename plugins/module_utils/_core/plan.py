# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A ticket's plan: the phases of its runbook in order, and what the world shows of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .checks import Check, stopping

PhaseStatus = Literal["done", "next", "later"]


@dataclass(frozen=True)
class Phase:
    """One phase of a runbook.

    Attributes:
        id: stable identifier.
        status: done; next, to be carried out now; later, once an earlier phase has run.
        reasons: what shows that, and what the phase will do.
    """

    id: str
    status: PhaseStatus
    reasons: tuple[str, ...] = ()

    def result(self) -> dict[str, Any]:
        """The phase as a module returns it."""
        return {"id": self.id, "status": self.status, "reasons": list(self.reasons)}

    def line(self) -> str:
        """The phase as a line for the screen."""
        return f"  {self.status:<5} {self.id:<10} {'; '.join(self.reasons)}"


@dataclass(frozen=True)
class Plan:
    """What a run of a ticket has to do.

    Attributes:
        phases: in order.
        checks: every answer that the plan rests on; one that stops refuses the plan.
        steps: which steps the run carries out, by the name that the role asks for.
    """

    phases: tuple[Phase, ...]
    checks: tuple[Check, ...]
    steps: Mapping[str, bool] = field(default_factory=dict)

    @property
    def allowed(self) -> bool:
        """Whether nothing stands against it."""
        return not stopping(self.checks)

    @property
    def to_do(self) -> tuple[Phase, ...]:
        """The phases that are not done."""
        return tuple(phase for phase in self.phases if phase.status != "done")

    @property
    def changes(self) -> tuple[str, ...]:
        """The ordered changes, one sentence each."""
        return tuple(f"{phase.id}: {reason}" for phase in self.to_do for reason in phase.reasons)


def in_order(done: Mapping[str, bool], reasons: Mapping[str, tuple[str, ...]]) -> tuple[Phase, ...]:
    """Phases with their status: the first that is not done is next, those after it come later.

    Args:
        done: by phase, in order, whether the world shows it done.
        reasons: by phase, what shows that or what it will do.
    """
    phases = []
    begun = False
    for name, finished in done.items():
        status: PhaseStatus = "done" if finished else ("later" if begun else "next")
        begun = begun or not finished
        phases.append(Phase(name, status, reasons.get(name, ())))
    return tuple(phases)
