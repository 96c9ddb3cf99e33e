# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""What gpu_reservation answers: its result, or the error that carries it."""

from __future__ import annotations

from typing import Any

from .._core.checks import Check
from .._core.errors import PartialChange, PolicyBlocked
from .._core.reservation_marks import drain_patch, free_patch, hold_patch, shown
from .._core.reservation_steps import NodeStep
from .outcome import Diff, Outcome, plan_digest
from .reservation_records import nodes_after
from .reservation_state import PassState

TOLD = ("release",)
"""Notices that go to a tenant; the others are warnings for the operator."""


def draining_nodes(state: PassState) -> list[str]:
    """The nodes that are not released yet, of the Reservations that the pass is about."""
    return sorted(node.name for nodes in state.nodes.values() for node in nodes if node.phase == "Draining")


def answer(
    state: PassState, checks: tuple[Check, ...], plan: tuple[str, ...], done: list[str], *, timed_out: bool
) -> Outcome:
    """The outcome of the last pass, with everything that was done before it.

    Raises:
        PolicyBlocked: ``reservation-rejected``, ``drain-timeout`` or the code of what could not be written,
            where nothing was changed; it carries the whole result.
        PartialChange: the same, where something was.
    """
    checks += _acceptance(state)
    result = {
        "reservations": [_shown(state, name) for name in sorted(state.chosen)],
        "notices": [notice.result() for notice in state.notices],
        "releases": [notice.result() for notice in state.notices if notice.kind in TOLD],
        "release_ids": [notice.id for notice in state.notices if notice.kind in TOLD],
    }
    problem = _problem(state, timed_out=timed_out)
    if problem is None:
        return Outcome(
            changed=bool(done),
            msg=_summary(state, done),
            checks=checks,
            plan=plan,
            result=result,
            diffs=_diffs(state),
            warnings=tuple(notice.message for notice in state.notices if notice.kind not in TOLD),
        )
    code, message, next_action = problem
    report: dict[str, Any] = {
        **result,
        "checks": [check.result() for check in checks],
        "plan": list(plan),
        "plan_digest": plan_digest(plan),
    }
    if done and not state.options.check_mode:
        remaining = tuple(dict.fromkeys(what for what, _ in state.failures))
        raise PartialChange(
            code, message, next_action=next_action, done=tuple(done), remaining=remaining, report=report
        )
    raise PolicyBlocked(code, message, next_action=next_action, report=report)


def _acceptance(state: PassState) -> tuple[Check, ...]:
    return tuple(
        Check(
            id="reservation-accepted",
            status="pass" if claim.accepted else "fail",
            message=f"Reservation {name}: {claim.message}",
            next_action=claim.next_action,
            object=f"reservation/{name}",
        )
        for name, claim in sorted(state.chosen.items())
    )


def _shown(state: PassState, name: str) -> dict[str, Any]:
    claim = state.chosen[name]
    return {
        "name": name,
        "tenant": claim.reservation.spec.tenant,
        "accepted": claim.accepted,
        "reason": claim.reason,
        "message": claim.message,
        "deleted": name in state.gone,
        "nodes": [
            {"name": node.name, "phase": node.phase, "tenantPods": node.tenant_pods}
            for node in nodes_after(state, name)
        ],
    }


def _problem(state: PassState, *, timed_out: bool) -> tuple[str, str, str] | None:
    """Code, message and next step of what stands against success; None where nothing does."""
    rejected = [claim for _, claim in sorted(state.chosen.items()) if not claim.accepted]
    texts = [
        f"Reservation {one.reservation.name} is rejected ({one.reason}): {one.message}" for one in rejected
    ]
    steps = [one.next_action for one in rejected]
    texts += [f"{what}: {error.message}" for what, error in state.failures]
    steps += [error.next_action for _, error in state.failures]
    if timed_out:
        texts.append(f"the time to wait is over, and nodes still drain: {', '.join(draining_nodes(state))}")
        steps.append("run again later; the nodes stay cordoned, labelled and tainted until the Pods are gone")
    if not texts:
        return None
    code = "reservation-rejected" if rejected else "drain-timeout"
    if state.failures and not rejected:
        code = state.failures[0][1].code
    return code, "; ".join(texts), "; ".join(dict.fromkeys(steps))


def _summary(state: PassState, done: list[str]) -> str:
    reserved = sum(node.phase == "Reserved" for nodes in state.nodes.values() for node in nodes)
    draining = draining_nodes(state)
    verb = "would change" if state.options.check_mode else "changed"
    text = f"{len(state.chosen)} Reservation(s), {reserved} node(s) reserved; {len(done)} thing(s) {verb}"
    return text + (f"; draining: {', '.join(draining)}" if draining else "")


def _diffs(state: PassState) -> tuple[Diff, ...]:
    changed = [(step, patch) for step in state.steps if (patch := _patch(state, step)) is not None]
    if not changed:
        return ()
    before = "".join(f"{shown(step.node)}\n" for step, _ in changed)
    after = "".join(f"{shown(step.node, patch)}\n" for step, patch in changed)
    return (Diff("nodes", before, after),)


def _patch(state: PassState, step: NodeStep) -> dict[str, Any] | None:
    if step.kind == "hold":
        return hold_patch(step.node, step.title)
    if step.kind == "freeze":
        return None
    if step.node.name not in draining_nodes(state):
        return free_patch(step.node, step.title)
    return drain_patch(step.node, step.title, state.options.now)
