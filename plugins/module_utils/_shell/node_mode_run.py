# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs one node-mode transition: look, judge, lock, look again, and the five steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._adapters.identity import new_run_id
from .._core.checks import stopping
from .._core.cluster_objects import Node
from .._core.cordon_mark import CORDON_ANNOTATION
from .._core.errors import GpuopsError, PartialChange
from .._core.modes import VM_PASSTHROUGH
from .._core.node_mode import Action, CordonWrite, Verdict, judge, refusal
from .._core.node_mode_checks import entry_checks
from .._core.node_mode_facts import ModeFacts, ModeRequest, validate_timing
from .._core.node_mode_plan import planned_steps
from .._core.node_mode_smoke import smoke_place
from .._core.unread import Unread
from .node_mode_course import Course
from .node_mode_lock import PoolLocks
from .node_mode_steps import ATTEMPTS, begun, commit, cordon, recheck, uncordon
from .node_mode_world import NodeModeWorld, connected, observe
from .outcome import Diff, Outcome
from .run import Invocation
from .sources import Reach


def change_node_mode(invocation: Invocation) -> Outcome:
    """The work of module gpu_node_mode.

    Raises:
        GpuopsError: nothing was changed; PartialChange where the node is left cordoned.
    """
    params = invocation.params
    reach = Reach(params)
    request = ModeRequest(
        cluster=reach.cluster,
        node=str(params["node"]),
        from_mode=str(params["from_mode"]),
        to_mode=str(params["to_mode"]),
        resume_cordoned=bool(params["resume_cordoned"]),
        gates_closed_first=bool(params["gates_closed_first"]) and invocation.check_mode,
        smoke=_smoke_of(params),
    )
    timeout, poll = float(params["timeout"]), float(params["poll"])
    request.validate()
    validate_timing(timeout, poll)
    return transition(connected(reach), request, timeout, poll, check_mode=invocation.check_mode)


def _smoke_of(params: Mapping[str, Any]) -> tuple[str, str] | None:
    """Organization and project of the smoke cycle; only whole-device VMs have one."""
    organization, project = params.get("smoke_organization"), params.get("smoke_project")
    if not organization or not project or params["to_mode"] != VM_PASSTHROUGH:
        return None
    return str(organization), str(project)


def transition(
    world: NodeModeWorld, request: ModeRequest, timeout: float, poll: float, *, check_mode: bool
) -> Outcome:
    """One transition, or in check mode its plan after the same reads."""
    facts = observe(world, request)
    verdict = judge(request, facts)
    run = new_run_id()
    locks = PoolLocks(world, request, run, verdict.pools)
    course = Course(world, request, locks, timeout, poll, run, state=facts.state, checks=verdict.checks)
    if facts.smoke is not None and not isinstance(facts.smoke, Unread):
        course.smoke = smoke_place(facts.smoke, verdict.pools)
    if verdict.action is Action.UNCHANGED:
        return _unchanged(course, facts, check_mode=check_mode)
    if not begun(verdict):
        raise refusal(request, verdict, cordoned=facts.state.cordoned)
    course.plan = planned_steps(request, verdict, branch=world.fleet.branch, timeout=timeout, poll=poll)
    if check_mode:
        return _preview(course, verdict)
    return _carried_out(course, facts)


def _carried_out(course: Course, seen: ModeFacts) -> Outcome:
    taken_over = course.locks.acquire(seen)
    verdict = _cordoned(course, taken_over=taken_over)
    if verdict.action is Action.UNCHANGED:
        return _finished(
            course, verdict, f"node {course.request.node} reached {course.request.to_mode} meanwhile"
        )
    if verdict.edit is not None:
        recheck(course)
        commit(course, verdict.edit)
    uncordon(course)
    request = course.request
    pushed = f", commit {course.revision[:12]}" if course.revision else ""
    return _finished(
        course,
        verdict,
        f"node {request.node} moved from {request.from_mode} to {request.to_mode}{pushed}, and is uncordoned",
    )


def _cordoned(course: Course, *, taken_over: bool) -> Verdict:
    """Step 1, which reads and judges again under the lock, and again where the node changed meanwhile."""
    try:
        failed = None
        course.locks.keep_fences()
        for _ in range(ATTEMPTS):
            verdict, node = _judged_again(course)
            if verdict.action is Action.UNCHANGED or verdict.cordon is CordonWrite.NOTHING:
                course.mark = node.metadata.annotations.get(CORDON_ANNOTATION, "")
                return verdict
            course.locks.require()
            failed = cordon(course, node, verdict.cordon)
            if failed is None:
                course.advance()
                return verdict
        raise failed or AssertionError("there is at least one attempt")
    except PartialChange:
        raise
    except GpuopsError as error:
        raise _nothing_written(course, error, taken_over=taken_over) from error


def _judged_again(course: Course) -> tuple[Verdict, Node]:
    """A whole new look, which may say no where the first one said yes."""
    request = course.request
    facts = observe(course.world, request)
    verdict = judge(request, facts)
    course.state, course.checks = facts.state, verdict.checks
    node = facts.state.node
    if verdict.action is Action.REFUSED or not isinstance(node, Node):
        raise refusal(request, verdict, cordoned=facts.state.cordoned)
    branch = course.world.fleet.branch
    course.plan = planned_steps(request, verdict, branch=branch, timeout=course.timeout, poll=course.poll)
    course.position = len(verdict.pools)
    return verdict, node


def _nothing_written(course: Course, error: GpuopsError, *, taken_over: bool) -> GpuopsError:
    """The error of a run that wrote nothing to the node; its lock goes, unless a stopped run needs it."""
    state = course.state
    if not (taken_over and (state is None or state.cordoned is not False)):
        try:
            course.locks.let_go()
        except GpuopsError as left:
            error.message += f"; besides, the lock could not be let go: {left.message}"
    error.message = f"the cordon of node {course.request.node} was not written: {error.message}"
    return error


def _unchanged(course: Course, facts: ModeFacts, *, check_mode: bool) -> Outcome:
    request = course.request
    released: tuple[str, ...] = ()
    # A node that has arrived is left alone; what would stop its next transition is told all the same.
    warnings = tuple(check.message for check in stopping(entry_checks(request, facts)))
    if not check_mode:
        try:
            released = course.locks.let_go_of_earlier(facts)
        except GpuopsError as error:
            warnings += (f"an earlier run's lock was left as it is: {error.message}",)
    message = f"node {request.node} is in {request.to_mode} already, Ready and not cordoned"
    if released:
        message += f"; let go of the lock of {', '.join(released)} that an earlier run left"
    return Outcome(
        changed=bool(released),
        msg=message,
        checks=course.checks,
        plan=(),
        result={**course.report(), "to_do": False},
        warnings=warnings,
    )


def _preview(course: Course, verdict: Verdict) -> Outcome:
    request = course.request
    return Outcome(
        changed=True,
        msg=f"node {request.node} would move from {request.from_mode} to {request.to_mode}",
        checks=verdict.checks,
        plan=course.plan,
        result={**course.report(), "to_do": True},
        diffs=_diffs(verdict),
    )


def _finished(course: Course, verdict: Verdict, message: str) -> Outcome:
    try:
        course.locks.let_go()
    except GpuopsError as error:
        done, remaining = course.plan[: course.position], course.plan[course.position :]
        raise PartialChange(
            "lock-not-let-go",
            f"{message}; the lock of {', '.join(course.locks.pools)} could not be let go: {error.message}",
            next_action="run again: a node that has arrived is left as it is, and the lock is let go",
            done=done,
            remaining=remaining,
            report=course.report(),
        ) from error
    return Outcome(
        changed=verdict.action is not Action.UNCHANGED,
        msg=message,
        checks=course.checks,
        plan=course.plan,
        result={**course.report(), "to_do": True},
        diffs=_diffs(verdict),
    )


def _diffs(verdict: Verdict) -> tuple[Diff, ...]:
    if verdict.edit is None:
        return ()
    return tuple(
        Diff(after.path, before.text or "", after.text or "") for before, after in verdict.edit.files
    )
