# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The five steps of a transition, each of which reads before it writes; nothing is ever undone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from .._adapters.api_resource import NODES
from .._adapters.fleet import BranchChange
from .._adapters.outcome_unknown import OutcomeUnknown
from .._core.checks import passed, stopping
from .._core.cluster_objects import Node
from .._core.cordon_mark import CORDON_ANNOTATION, CordonMark, cordon_mark, kept_by_a_person
from .._core.errors import ConflictError, GpuopsError
from .._core.node_mode import Action, CordonWrite, Verdict, judge, refusal
from .._core.node_mode_arrival import arrival_checks, guarded_checks
from .._core.node_mode_edit import ModeEdit
from .node_mode_course import CORDON_UNKNOWN, Course
from .node_mode_world import look, observe

ATTEMPTS: Final = 5
"""How often a write is tried again after somebody else changed the object; each time all is read anew."""


def cordon(course: Course, node: Node, write: CordonWrite) -> GpuopsError | None:
    """Step 1: cordon and annotation in one request, upon the version that was read.

    Returns:
        None where the node now carries this run's mark; why not, where nothing was written and it may be
        tried again upon a new look.

    Raises:
        GpuopsError: the API server refused, or did not say whether it was done.
    """
    mark = CordonMark("transition", course.run, course.world.kube.server_time)
    body: dict[str, Any] = {"metadata": {"annotations": {CORDON_ANNOTATION: mark.to_text()}}}
    if write is CordonWrite.CORDON:
        body["spec"] = {"unschedulable": True}
    try:
        _patch(course, node, body)
    except ConflictError as error:
        return error
    except OutcomeUnknown as error:
        course.state = look(course.world, course.request.node)
        found = course.state.node
        if not isinstance(found, Node):
            raise course.stopped(
                CORDON_UNKNOWN,
                error.message,
                error.next_action,
            ) from error
        now = cordon_mark(found)
        if now is None or now.id != course.run:
            return error
    course.mark = mark.to_text()
    return None


def recheck(course: Course) -> None:
    """Step 2: the node is unschedulable and has no holders, or nothing is committed.

    Raises:
        PartialChange: it is not so, or cannot be read.
    """
    course.state = look(course.world, course.request.node)
    course.checks = guarded_checks(course.request.node, course.state)
    if not passed(course.checks):
        stops = stopping(course.checks)
        raise course.stopped(
            stops[0].id,
            "; ".join(check.message for check in stops),
            "; ".join(dict.fromkeys(check.next_action for check in stops)),
        )
    if isinstance(course.state.node, Node):
        _require_ours(course, course.state.node)
    course.advance()


def commit(course: Course, edit: ModeEdit) -> None:
    """Step 3: the change of the fleet's files, pushed fast-forward upon what was read.

    Where the branch moved meanwhile everything is read and proved anew. With a lock, the push moves both
    branches or none: a run that lost its lock cannot commit.

    Raises:
        PartialChange: the push was refused, the lock is lost, or the new proof says no.
    """
    branch = course.world.fleet.branch
    planned = len(edit.files) + 2
    for attempt in range(ATTEMPTS):
        try:
            changes = {branch: BranchChange(edit.base, edit.changes()), **course.locks.step_change("wait")}
            course.revision = course.world.fleet.commit_together(changes, edit.message)[branch]
        except ConflictError as error:
            if error.code == "lock-lost" or attempt + 1 == ATTEMPTS:
                raise course.stopped_by(error) from error
            again = _proved_again(course)
            if again is None:
                break
            edit = again
        except GpuopsError as error:
            raise course.stopped_by(error) from error
        else:
            break
    course.advance(planned)


def _proved_again(course: Course) -> ModeEdit | None:
    """The change upon the branch as it is now; None where it says the target already."""
    consenting = replace(course.request, resume_cordoned=True)
    try:
        facts = observe(course.world, consenting)
        verdict = judge(consenting, facts)
        if verdict.action is Action.REFUSED:
            raise refusal(consenting, verdict, cordoned=facts.state.cordoned)
    except GpuopsError as error:
        raise course.stopped_by(error) from error
    course.state, course.checks = facts.state, verdict.checks
    return verdict.edit


def arrive(course: Course, deadline: float) -> Node:
    """Step 4: looks at once and then again and again, until everything holds in one look.

    Args:
        course: the run.
        deadline: time of the run's clock after which the next look is the last.

    Raises:
        PartialChange: the time is up; whatever was pushed stays.
    """
    clock, node = course.world.clock, course.request.node
    while True:
        course.state = look(course.world, node)
        course.checks = arrival_checks(node, course.request.to_mode, course.state)
        if isinstance(course.state.node, Node) and passed(course.checks):
            return course.state.node
        left = deadline - clock.now()
        if left <= 0:
            stops = stopping(course.checks)
            facts = "; ".join(check.message for check in course.checks)
            raise course.stopped(
                "arrival-timeout",
                f"{course.request.to_mode} was not reached in {course.timeout:g} s: {facts}",
                "; ".join(dict.fromkeys(check.next_action for check in stops)),
            )
        clock.pause(min(course.poll, left))


def uncordon(course: Course) -> None:
    """Steps 4 and 5: waits, then uncordons upon the very version that was found to be ready.

    Raises:
        PartialChange: it never got ready, the lock is lost, the cordon is somebody else's by now, or the
            API server refused.
    """
    deadline = course.world.clock.now() + course.timeout
    body = {"spec": {"unschedulable": False}, "metadata": {"annotations": {CORDON_ANNOTATION: None}}}
    for attempt in range(ATTEMPTS):
        node = arrive(course, deadline)
        _require_ours(course, node)
        try:
            course.locks.require()
            _patch(course, node, body)
        except ConflictError as error:
            if error.code == "lock-lost" or attempt + 1 == ATTEMPTS:
                raise course.stopped_by(error) from error
            continue
        except OutcomeUnknown as error:
            course.state = look(course.world, course.request.node)
            if course.state.cordoned is not False:
                raise course.stopped_by(error) from error
        except GpuopsError as error:
            raise course.stopped_by(error) from error
        break
    course.advance(2)
    course.state = look(course.world, course.request.node)


def _require_ours(course: Course, node: Node) -> None:
    """Only a cordon that this transition made or adopted is taken away, and none that a person wants kept."""
    if kept_by_a_person(node):
        raise course.stopped(
            "kept-cordoned",
            "a person asked that it stays cordoned",
            "ask that person, take the annotation off",
        )
    says = node.metadata.annotations.get(CORDON_ANNOTATION, "")
    if says != course.mark:
        raise course.stopped(
            "cordon-not-ours",
            f"its annotation {CORDON_ANNOTATION} is {says or 'gone'!r}, and was {course.mark or 'absent'!r}: "
            "somebody else has taken the cordon over",
            "find out who cordons it now, and whether it may be uncordoned",
        )


def begun(verdict: Verdict) -> bool:
    """Whether there is something to do."""
    return verdict.action in (Action.BEGIN, Action.RESUME)


def _patch(course: Course, node: Node, body: dict[str, Any]) -> None:
    path = NODES.path(name=course.request.node)
    course.world.kube.patch(path, body, resource_version=node.metadata.resource_version)
