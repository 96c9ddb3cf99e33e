# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The six outcomes that a case can name, each with all that its word implies."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ansible_collections.gpuops.reservations.tests.node_mode_cases.what_happened import WhatHappened

Problems = list[str]


def refused(happened: WhatHappened) -> Problems:
    """The module fails; no write to the node or the remote."""
    return [*_fails(happened), *_nothing_written(happened), *_says_unchanged(happened)]


def unchanged(happened: WhatHappened) -> Problems:
    """The module succeeds with changed=false; no write anywhere."""
    return [*_succeeds(happened, changed=False), *_nothing_written(happened)]


def preview(happened: WhatHappened) -> Problems:
    """Check mode succeeds with changed=true and a plan; no write anywhere."""
    problems = [*_succeeds(happened, changed=True), *_nothing_written(happened)]
    if not happened.outcome.result.get("plan"):
        problems.append("the result has no plan")
    if not happened.outcome.arguments["_ansible_check_mode"]:
        problems.append("a preview is a run in check mode")
    return problems


def changed(happened: WhatHappened) -> Problems:
    """The module succeeds with changed=true; node schedulable, target owner alone, fleet at target."""
    target = happened.outcome.arguments["to_mode"]
    problems = _succeeds(happened, changed=True)
    if happened.cordoned:
        problems.append("the node is unschedulable at the end")
    if happened.mark is not None:
        problems.append(f"our annotation is still there: {happened.mark}")
    if not happened.target_alone(target):
        problems.append(f"plugin owners at the end: {sorted(happened.plugin_owners())}")
    rule = happened.rule(happened.world.node.name, happened.head)
    if rule is None or rule.get("active") != target:
        problems.append(f"the fleet's rule at the end: {rule}")
    ours = f"transition:{happened.world.node.name}"
    if ours in happened.lock_holders.values():
        problems.append(f"the lock was not let go: {happened.lock_holders}")
    return problems


def stopped_cordoned(happened: WhatHappened) -> Problems:
    """The module fails after the cordon; the node ends unschedulable; the message says so."""
    problems = _fails(happened)
    if not happened.cordoned:
        problems.append("the node is schedulable at the end")
    if "cordoned" not in happened.outcome.msg.lower():
        problems.append("the message does not say that the node is cordoned")
    for word in ("done", "remaining"):
        if word not in happened.outcome.result:
            problems.append(f"the result does not say what is {word}")
    if "resume_cordoned" not in happened.outcome.msg:
        problems.append("the message does not say how to go on")
    if any(request.status == 200 for request in happened.patches("uncordon")):
        problems.append("the node was uncordoned")
    if "revision" not in happened.outcome.result:
        problems.append("the result has no revision")
    pushed = happened.commits[-1] if happened.commits else ""
    if happened.outcome.result.get("revision") != pushed:
        problems.append(
            f"the result's revision is {happened.outcome.result.get('revision')!r}, pushed: {pushed!r}"
        )
    return problems


def failed(happened: WhatHappened) -> Problems:
    """The module fails on its first write; nothing later is attempted."""
    problems = _fails(happened)
    if not happened.writes:
        problems.append("no write was attempted")
    if len({request.operation for request in happened.writes}) > 1:
        problems.append(f"another write was attempted: {[request.operation for request in happened.writes]}")
    if any(request.status == 200 for request in happened.writes):
        problems.append("a write was accepted")
    if happened.commits:
        problems.append("a commit was pushed")
    if "cordoned" in happened.outcome.msg.lower().replace("resume_cordoned", ""):
        problems.append("the message says something about a cordoned node")
    if happened.lock_holders != _holders_before(happened):
        problems.append(f"the lock was not let go: {happened.lock_holders}")
    if all(request.status in range(400, 500) for request in happened.writes):
        problems += _says_unchanged(happened)
    return problems


OUTCOMES: Mapping[str, Callable[[WhatHappened], Problems]] = {
    "refused": refused,
    "unchanged": unchanged,
    "preview": preview,
    "changed": changed,
    "stopped_cordoned": stopped_cordoned,
    "failed": failed,
}


def _fails(happened: WhatHappened) -> Problems:
    return [] if happened.outcome.failed else [f"the module succeeded: {happened.outcome.msg}"]


def _says_unchanged(happened: WhatHappened) -> Problems:
    return ["the result says changed"] if happened.outcome.result.get("changed") else []


def _succeeds(happened: WhatHappened, *, changed: bool) -> Problems:
    if happened.outcome.failed:
        return [f"the module failed: {happened.outcome.msg}"]
    if happened.outcome.result.get("changed") is not changed:
        return [f"the result says changed={happened.outcome.result.get('changed')}"]
    return []


def _nothing_written(happened: WhatHappened) -> Problems:
    problems = []
    if happened.writes:
        problems.append(f"written: {[(r.method, r.path, r.body) for r in happened.writes]}")
    if happened.commits:
        problems.append(f"pushed: {happened.commits}")
    if happened.lock_holders != _holders_before(happened):
        problems.append(f"locks before {_holders_before(happened)}, now {happened.lock_holders}")
    return problems


def _holders_before(happened: WhatHappened) -> dict[str, str]:
    return {pool: lock["ticket"] for pool, lock in happened.world.ledger.locks.items()}
