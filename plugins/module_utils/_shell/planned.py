# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""A plan as gpu_plan_info answers it: phases, refusals, equation, and what hooks are told of a failure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .._core.checks import bounded, stopping, told
from .._core.plan import Plan
from .._core.proof import Proof
from .._core.report import report_result
from .observation import Observation


@dataclass(frozen=True)
class Planned:
    """A plan with the observation that it rests on.

    Attributes:
        action: assign, release or cancel.
        ticket: in its normal form.
        seen: the observation.
        plan: the plan.
        proof: the equation; None where none was made.
        headline: one line that says what the plan is about.
        go_on: what the operator does next when nothing refuses.
        event: what hooks are told when a later phase fails.
        facts: further result keys of the action.
        report_lines: lines of the proof for the screen; None for the whole report.
    """

    action: str
    ticket: str
    seen: Observation
    plan: Plan
    proof: Proof | None
    headline: str
    go_on: str
    event: Mapping[str, Any]
    facts: Mapping[str, Any] = field(default_factory=dict)
    report_lines: tuple[str, ...] | None = None

    @property
    def msg(self) -> str:
        """One sentence; where refused, why, and the next step."""
        if self.plan.allowed:
            return f"{self.headline}: {self.go_on}"
        stops = stopping(self.plan.checks)
        said = told(f"{check.message} [{check.id}]" for check in stops)
        return f"{self.headline} is refused: {said} Next: {self.next_action}"

    @property
    def next_action(self) -> str:
        """What the operator does next."""
        if self.plan.allowed:
            return self.go_on
        return told(check.next_action for check in stopping(self.plan.checks))

    def result(self) -> dict[str, Any]:
        """The result keys."""
        report = report_result(self.proof) if self.proof else {}
        equation = report.get("equation", {})
        return {
            "phases": [phase.result() for phase in self.plan.phases],
            "allowed": self.plan.allowed,
            "to_do": dict(self.plan.steps),
            "next_action": self.next_action,
            "equation_before": equation,
            "equation_after": report.get("equation_after", equation),
            "organizations": report.get("organizations", []),
            "nodes": report.get("nodes", []),
            "remedies": report.get("remedies", []),
            "failure_event": dict(self.event),
            "summary": self.lines(self._shown(report.get("summary", []))),
            **self.facts,
        }

    def _shown(self, summary: list[str]) -> list[str]:
        return summary if self.report_lines is None else list(self.report_lines)

    def lines(self, report: list[str]) -> list[str]:
        """Lines for the screen: the headline, the phases, the equation, and what refuses."""
        phases = [phase.line() for phase in self.plan.phases]
        refusals = [f"  NO    {check.id}: {check.message}" for check in stopping(self.plan.checks)]
        shown = bounded(refusals, prefix="  NO    ")
        return [self.headline, *phases, *report, *shown, f"Next: {self.next_action}"]
